// Scrolls as little as is needed to see an element.

// How far to scroll so that `inner` is within `outer`: its top rather than its bottom.
const distance = (inner, outer, context) => {
  const above = inner.top - context - outer.top;
  const below = inner.bottom + context - outer.bottom;
  if (above < 0) return above;
  return below > 0 ? Math.min(below, above) : 0;
};

// Within an element that scrolls; `head`: pixels at its top that stay.
export const within = (scroller, element, context = 0, head = 0) => {
  const { top, bottom } = scroller.getBoundingClientRect();
  scroller.scrollTop += distance(element.getBoundingClientRect(), { top: top + head, bottom }, context);
};

// Within the window.
export const inWindow = (element, context = 8) => {
  const outer = { top: 0, bottom: window.innerHeight };
  window.scrollBy(0, distance(element.getBoundingClientRect(), outer, context));
};
