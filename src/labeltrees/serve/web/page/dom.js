// Functions that find and create elements.

export const byId = (id) => document.getElementById(id);

// make("button", { class: "quiet", onclick: act, ariaLabel: "Close" }, "x") returns an element
// with properties and children. Strings become text, never HTML.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name === "width") element.style.width = value;
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function table(heads, rows) {
  const cells = (tag, values) => make("tr", {}, ...values.map((value) => make(tag, {}, value)));
  const head = cells("th", heads);
  for (const cell of head.children) cell.scope = "col";
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows.map((row) => cells("td", row))));
}

// Delays calls of act until none has come for a time; cancel returns whether one was waiting.
export function debounced(milliseconds, act) {
  let timer = null;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      act();
    }, milliseconds);
  };
  soon.cancel = () => {
    const waiting = timer !== null;
    clearTimeout(timer);
    timer = null;
    return waiting;
  };
  return soon;
}

export const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;
