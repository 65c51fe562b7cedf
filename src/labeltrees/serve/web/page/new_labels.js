// The list of new labels, newest first.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { count } from "./numbers.js";
import { can, emit, modelName, on } from "./state.js";

const MAX_SHOWN = 8;

async function show() {
  const name = modelName();
  let found;
  try {
    found = (await api.quality(name)).new_labels.slice(0, MAX_SHOWN);
  } catch {
    return; // polling shows the same error
  }
  if (name !== modelName()) return;
  byId("new-labels-none").hidden = found.length > 0;
  byId("new-labels").replaceChildren(...found.map(line));
}

function line({ label, seq }) {
  const text = String(label);
  const name = can("tree")
    ? make("button", { type: "button", class: "link", title: "Show this label in the tree", onclick: () => emit("show-label", label) }, text)
    : make("span", {}, text);
  return make("li", {}, name, make("span", { class: "hint" }, seq === 0 ? "before serving" : `example ${count(seq)}`));
}

export function startNewLabels() {
  on("model", show);
  on("learned", show);
}
