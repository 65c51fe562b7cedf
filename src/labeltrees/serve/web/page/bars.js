// The bars of a prediction: one for each label, which move after the model has learned.

import { byId, make, moves } from "./dom.js";
import { count, percent, signed } from "./numbers.js";

const CEILINGS = [0.05, 0.1, 0.25, 0.5, 1];
const TINY = 5e-4;

const rows = new Map(); // by label: the element of its bar
let before = null; // probabilities by label before the last update, as long as the input stays the same

// Marks the current bars, to show how far they move; `learned` has the old probabilities of labels.
export function noteBars({ labels, probabilities }, learned) {
  before = new Map([...labels.map((each, i) => [each, probabilities[i]]), ...learned]);
}

export function forgetBars() {
  before = null;
}

export function showBars({ labels, probabilities, beginning }, about, actions) {
  const list = byId("bars");
  const places = new Map([...rows].map(([label, row]) => [label, row.getBoundingClientRect().top]));
  const were = labels.map((label) => before?.get(label) ?? 0); // on the same scale, so that the change is visible
  const ceiling = CEILINGS.find((each) => each >= Math.max(0, ...probabilities, ...were)) ?? 1;
  const order = labels.map((label, i) => [label, probabilities[i]]).sort((a, b) => b[1] - a[1]);
  for (const [label, row] of rows) {
    if (labels.includes(label)) continue;
    row.remove();
    rows.delete(label);
  }
  for (const [label, p] of order) {
    if (!rows.has(label)) rows.set(label, makeRow(label, actions));
    fill(rows.get(label), label, p, ceiling);
  }
  arrange(list, order.map(([label]) => rows.get(label)));
  slide(places);
  byId("bars-note").textContent = note(order, beginning, about, ceiling);
}

// Moves elements only if the order changes, because a moved element loses the keyboard focus.
function arrange(list, ordered) {
  ordered.forEach((row, at) => {
    if (list.children[at] !== row) list.insertBefore(row, list.children[at] ?? null);
  });
}

function makeRow(label, { choose, explain, learn, several }) {
  const text = String(label);
  const name = choose
    ? make("button", { type: "button", class: "name choose", title: "Insert this identifier", onclick: () => choose(label) }, text)
    : make("span", { class: "name", title: text }, text);
  const button = (act, word, spoken) => make("button", { type: "button", class: "small", "aria-label": spoken, onclick: () => act(label) }, word);
  return make(
    "li",
    {},
    name,
    make("span", { class: "bar", "aria-hidden": "true" }, make("span", { class: "was" }), make("span", { class: "fill" })),
    make("span", { class: "p" }),
    make("span", { class: "moved" }),
    make("span", { class: "acts" }, explain && button(explain, "why", `Why ${text}?`), learn && button(learn, "correct", several ? `Add ${text} to the correct labels` : `${text} is correct: learn it`)),
  );
}

function fill(row, label, p, ceiling) {
  row.querySelector(".fill").style.width = `${(100 * p) / ceiling}%`;
  row.querySelector(".p").textContent = percent(p);
  const old = before?.get(label);
  const moved = old !== undefined && Math.abs(p - old) > TINY ? p - old : 0;
  const mark = row.querySelector(".was");
  mark.hidden = old === undefined;
  mark.style.width = `${(100 * Math.min(old ?? 0, ceiling)) / ceiling}%`;
  const change = row.querySelector(".moved");
  change.textContent = moved ? signed(100 * moved, 1) : "";
  change.className = `moved ${moved > 0 ? "up" : "down"}`;
}

function slide(places) {
  if (!moves()) return;
  for (const [label, row] of rows) {
    const from = places.get(label);
    if (from === undefined) continue;
    const distance = from - row.getBoundingClientRect().top;
    if (distance) row.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }], { duration: 350, easing: "ease" });
  }
}

function note(order, beginning, about, ceiling) {
  if (about.labels === 0) return "The model knows no label yet. Enter the first correct answer.";
  if (order.length === 0) return beginning ? `No label begins with “${beginning}”.` : "No label was found.";
  const parts = [`A full bar is ${percent(ceiling)}.`];
  const left = 1 - order.reduce((sum, [, p]) => sum + p, 0);
  const others = about.labels - order.length;
  if (beginning) parts.push(`Only labels that begin with “${beginning}”.`);
  else if (!about.several_labels && about.learns_row_by_row && others > 0 && left > 0) parts.push(`The other ${count(others)} labels share ${percent(left)}.`);
  if (before) parts.push("Marks show the bars before the last update.");
  return parts.join(" ");
}
