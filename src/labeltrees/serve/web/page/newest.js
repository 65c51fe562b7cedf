// The labels that were learned for the first time, newest first.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { count } from "./numbers.js";
import { answers, modelName, on, tell } from "./state.js";

const SHOWN = 8;

async function show() {
  const name = modelName();
  let found;
  try {
    found = (await api.quality(name)).new_labels.slice(0, SHOWN);
  } catch {
    return; // what is wrong is told where it was asked
  }
  if (name !== modelName()) return;
  byId("newest-none").hidden = found.length > 0;
  byId("newest").replaceChildren(...found.map(line));
}

function line({ label, seq }) {
  const text = String(label);
  const name = answers("tree")
    ? make("button", { type: "button", class: "link", title: "Show it in the tree", onclick: () => tell("show-label", label) }, text)
    : make("span", {}, text);
  return make("li", {}, name, make("span", { class: "hint" }, seq === 0 ? "before it was served" : `example ${count(seq)}`));
}

export function startNewest() {
  on("model", show);
  on("learned", show);
}
