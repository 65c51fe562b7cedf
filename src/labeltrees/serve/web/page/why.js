// The explanation of a label: the features for and against it, and its path.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { percent, signed } from "./numbers.js";
import { shown as prediction } from "./predict.js";
import { overall, paths } from "./reasons.js";
import { can, emit, modelName, on, state } from "./state.js";

const N_FEATURES = 12;
let shown = null; // the explained label; it is explained again after a new prediction
let latest = null;

async function explain(label, { focus = false } = {}) {
  latest?.abort();
  latest = new AbortController();
  shown = label;
  try {
    const { reason } = await api.explain(modelName(), { ...prediction.row, label, n_features: N_FEATURES }, latest.signal);
    draw(reason);
    if (focus) byId("why").scrollIntoView({ block: "nearest" });
  } catch (problem) {
    if (problem.name === "AbortError") return;
    shown = null;
    clear(problem.message);
  }
}

function clear(note) {
  byId("why-title").textContent = "Why";
  byId("why-note").textContent = note;
  byId("why-content").replaceChildren();
}

function draw(reason) {
  byId("why-title").textContent = `Why ${reason.label}?`;
  byId("why-note").textContent = "";
  const parts = [make("p", { class: "statement" }, `The model gives “${reason.label}” ${percent(reason.p_label)}.`)];
  if (reason.p_trees !== undefined && !Array.isArray(reason.p_trees)) parts.push(make("p", { class: "hint" }, `The trees predict ${percent(reason.p_trees)}; calibration changes it to the value above.`));
  if (reason.p_any !== undefined) parts.push(make("p", { class: "hint" }, `The row has at least one label with probability ${percent(reason.p_any)}. The path starts with this probability.`));
  if (reason.novelty_mass > 0) parts.push(make("p", { class: "hint" }, `${percent(reason.novelty_mass)} is reserved for new labels.`));
  parts.push(make("p", { class: "hint" }, "A number above 0 beside a feature supports the label, or the step on its path. A number below 0 opposes it."));
  for (const path of paths(reason)) parts.push(...drawPath(path));
  if (can("tree")) {
    parts.push(make("button", { type: "button", class: "link", onclick: () => emit("show-label", reason.label) }, "Show this label in the tree"));
  }
  byId("why-content").replaceChildren(...parts);
}

function drawPath({ title, steps, reranker }) {
  const parts = [];
  const head = (text) => make("h3", {}, title ? `${title}: ${text.toLowerCase()}` : text);
  if (reranker) {
    parts.push(make("p", {}, reranker.text));
    if (reranker.support.length) parts.push(head("Features in its reranker"), words(reranker.support));
  }
  const sums = overall(steps);
  if (sums.length) parts.push(head("Features over the whole path"), words(sums));
  if (steps.length) parts.push(head("The path, from the root"), make("ol", { class: "path" }, ...steps.map(drawStep)));
  else if (!reranker) parts.push(make("p", { class: "hint" }, "The path has no steps: the model knows only one label, or its tree is not binary."));
  return parts;
}

function drawStep({ to, p, note, support }) {
  const arrow = { left: "←", right: "→" }[to] ?? "↓";
  const line = [
    make("span", { class: "turn", title: to }, make("span", { "aria-hidden": "true" }, arrow), make("span", { class: "unseen" }, to)),
    p === null ? null : make("span", { class: "meter", "aria-hidden": "true" }, make("span", { width: `${100 * p}%` })),
    p === null ? null : make("span", { class: "p" }, percent(p)),
    make("span", { class: "hint" }, note),
  ];
  const style = p === null ? "step plain" : "step";
  if (support.length === 0) return make("li", {}, make("div", { class: style }, ...line));
  return make("li", {}, make("details", {}, make("summary", { class: style }, ...line), words(support)));
}

// Features with bars to the right (support) or to the left (opposition).
function words(support) {
  const most = Math.max(...support.map(([, amount]) => Math.abs(amount)));
  const line = ([feature, amount]) => {
    const bar = make("span", { class: amount > 0 ? "for" : "against", width: `${(50 * Math.abs(amount)) / most}%` });
    return make("li", {}, make("code", { title: feature }, feature), make("span", { class: "pull", "aria-hidden": "true" }, bar), make("span", { class: "p" }, signed(amount)));
  };
  return make("ul", { class: "words" }, ...support.map(line));
}

export function startWhy() {
  on("explain", (label) => explain(label, { focus: true }));
  on("learned-label", (label) => can("explain") && explain(label));
  on("predicted", () => {
    if (!can("explain")) return;
    if (shown !== null && prediction.labels.includes(shown)) explain(shown);
    else if (prediction.labels.length) explain(prediction.labels[0]);
    else clear("There is no prediction to explain yet.");
  });
  on("model", () => {
    shown = null;
    clear(can("explain") ? "Choose “why” beside a label." : `This model (${state.about.kind}) has no explanations.`);
  });
}
