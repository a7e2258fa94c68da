// Cuts places in front, "…/models/ticket.rb:12", where the column of a table has no room: the file and
// the line are what one looks for. A marked row has room for all of it.
import { cutFront } from "./format.js";

const GAP = 10;
const LEAST = 0.6; // of the room for a place that has a label next to it

export const fitPlaces = (element) => {
  const places = [...element.querySelectorAll("tr:not(.marked) td.name .place")];
  if (places.length === 0) return;
  const room = roomOf(places[0].parentNode);
  const inRow = getComputedStyle(places[0].parentNode).display === "flex";
  // All is measured before anything is written: each write would be a layout anew.
  const cuts = places.map((place) => {
    const label = inRow ? (place.nextSibling?.scrollWidth || -GAP) + GAP : 0;
    return [place.firstChild, place.scrollWidth, Math.max(room - label, label > 0 ? room * LEAST : room)];
  });
  for (const [text, width, most] of cuts) {
    const length = text.textContent.length;
    if (width > most) text.textContent = cutFront(text.textContent, Math.floor((length * most) / width));
  }
};

const roomOf = (button) => {
  const { paddingLeft, paddingRight } = getComputedStyle(button);
  return button.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
};
