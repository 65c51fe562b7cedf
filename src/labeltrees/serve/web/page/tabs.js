// Tabs show one view at a time; arrow keys, Home and End move between them.

import { byId } from "./dom.js";

const NAMES = ["predict", "tree", "quality"];
let shown = "predict";
let changed = () => {};

export const tabShown = () => shown;

export function showTab(name, { focus = false } = {}) {
  if (!NAMES.includes(name)) return;
  shown = name;
  for (const each of NAMES) {
    const tab = byId(`tab-${each}`);
    const here = each === name;
    tab.setAttribute("aria-selected", String(here));
    tab.tabIndex = here ? 0 : -1;
    byId(`panel-${each}`).hidden = !here;
    if (here && focus) tab.focus();
  }
  document.dispatchEvent(new CustomEvent("tabchange", { detail: name }));
  changed();
}

function place(key, at) {
  if (key === "ArrowRight") return (at + 1) % NAMES.length;
  if (key === "ArrowLeft") return (at + NAMES.length - 1) % NAMES.length;
  if (key === "Home") return 0;
  return key === "End" ? NAMES.length - 1 : -1;
}

export function startTabs(whenChanged) {
  changed = whenChanged;
  NAMES.forEach((name, at) => {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => showTab(name));
    tab.addEventListener("keydown", (event) => {
      const next = place(event.key, at);
      if (next < 0) return;
      event.preventDefault();
      showTab(NAMES[next], { focus: true });
    });
  });
}
