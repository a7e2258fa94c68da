// Elements with text in them. Names from a profile get into the page here and
// nowhere else, and only as text.

export const el = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

export const fill = (element, ...children) => element.replaceChildren(...children.filter((child) => child !== null));
