// Buttons, lists and fields above the graph: each holds one value of the state.
import { el, fill } from "./dom.js";
import { cut, visible } from "./format.js";
import { reset } from "./state.js";

// A row of buttons, one of which is pressed. `options`: value => text.
export const choice = (name, label, options, state, text = "") => {
  const buttons = Object.entries(options).map(([value, title]) =>
    el(
      "button",
      {
        type: "button",
        "data-name": name,
        "data-value": value,
        onclick: () => state.set({ [name]: value, ...reset(name) }),
      },
      title,
    ),
  );
  const group = el("span", { className: "choice", role: "group", "aria-label": label }, ...buttons);
  return {
    element: el("span", { className: "control" }, text ? el("span", { className: "name" }, text) : null, group),
    show() {
      for (const button of buttons) button.setAttribute("aria-pressed", button.dataset.value === state.get(name));
    },
  };
};

const OPTION = 120; // characters

// A list to choose from. `options`: [value, text]; `wanted` returns whether it is
// shown now.
export const list = (name, label, options, state, wanted = () => true) => {
  const select = el(
    "select",
    { "data-name": name, "aria-label": label, onchange: () => state.set({ [name]: select.value, ...reset(name) }) },
    ...options.map(([value, text]) => el("option", { value }, cut(visible(text), OPTION))),
  );
  const element = el("label", { className: "control" }, el("span", { className: "name" }, label), select);
  return {
    element,
    show() {
      element.hidden = !wanted();
      select.value = state.get(name);
    },
  };
};

let serial = 0;

// A field; what it holds counts while it is typed. `suggestions`: texts.
export const field = (name, label, { placeholder = "", short = false, suggestions = null, pattern = null }, state) => {
  const input = el("input", {
    type: "search",
    "data-name": name,
    placeholder,
    spellcheck: false,
    autocomplete: "off",
    className: short ? "short" : "",
    "aria-label": label,
    oninput: () => {
      const text = input.value.trim();
      const good = !pattern || text === "" || pattern.test(text);
      input.setAttribute("aria-invalid", !good);
      if (good) state.set({ [name]: text });
    },
  });
  let known = null;
  if (suggestions) {
    known = el("datalist", { id: `known${serial++}` });
    fill(known, ...suggestions.map((text) => el("option", { value: text })));
    input.setAttribute("list", known.id);
  }
  return {
    input,
    element: el("label", { className: "control" }, el("span", { className: "name" }, label), input, known),
    show() {
      if (document.activeElement !== input || input.value.trim() !== state.get(name)) input.value = state.get(name);
    },
  };
};
