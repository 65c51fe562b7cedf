// Why a label has its probability: the words that spoke for and against it, and its path.

import * as api from "./api.js";
import { asked } from "./ask.js";
import { byId, make } from "./dom.js";
import { percent, signed } from "./numbers.js";
import { overall, paths } from "./reasons.js";
import { answers, modelName, on, state, tell } from "./state.js";

const N_FEATURES = 12;
let shown = null; // the label that is explained; it is explained again when the answer changes
let latest = null;

async function explain(label, { focus = false } = {}) {
  latest?.abort();
  latest = new AbortController();
  shown = label;
  try {
    const { reason } = await api.explain(modelName(), { ...asked.row, label, n_features: N_FEATURES }, latest.signal);
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
  const parts = [make("p", { class: "said" }, `The model gives “${reason.label}” ${percent(reason.p_label)}.`)];
  if (reason.p_trees !== undefined && !Array.isArray(reason.p_trees)) parts.push(make("p", { class: "hint" }, `The trees say ${percent(reason.p_trees)}; the rest is calibration.`));
  if (reason.novelty_mass > 0) parts.push(make("p", { class: "hint" }, `${percent(reason.novelty_mass)} is kept for labels not seen yet.`));
  parts.push(make("p", { class: "hint" }, "Numbers beside features: above 0 they speak for it, or for the turn on its path; below 0 against it."));
  for (const path of paths(reason)) parts.push(...drawPath(path));
  if (answers("tree")) {
    parts.push(make("button", { type: "button", class: "link", onclick: () => tell("show-label", reason.label) }, "Show it in the tree"));
  }
  byId("why-content").replaceChildren(...parts);
}

function drawPath({ title, turns, expert }) {
  const parts = [];
  const head = (text) => make("h3", {}, title ? `${title}: ${text.toLowerCase()}` : text);
  if (expert) {
    parts.push(make("p", {}, expert.said));
    if (expert.support.length) parts.push(head("What its expert weighs"), words(expert.support));
  }
  const sums = overall(turns);
  if (sums.length) parts.push(head("What leads there, over the whole path"), words(sums));
  if (turns.length) parts.push(head("The path, from the root"), make("ol", { class: "path" }, ...turns.map(drawTurn)));
  else if (!expert) parts.push(make("p", { class: "hint" }, "There is no turn to take: it knows one label only, or the tree has no binary path."));
  return parts;
}

function drawTurn({ to, p, note, support }) {
  const arrow = { left: "←", right: "→" }[to] ?? "↓";
  const line = [
    make("span", { class: "turn", title: to }, make("span", { "aria-hidden": "true" }, arrow), make("span", { class: "unseen" }, to)),
    p === null ? null : make("span", { class: "meter", "aria-hidden": "true" }, make("span", { width: `${100 * p}%` })),
    p === null ? null : make("span", { class: "p" }, percent(p)),
    make("span", { class: "hint" }, note),
  ];
  const look = p === null ? "step plain" : "step";
  if (support.length === 0) return make("li", {}, make("div", { class: look }, ...line));
  return make("li", {}, make("details", {}, make("summary", { class: look }, ...line), words(support)));
}

// Features with bars to the right (for) or to the left (against).
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
  on("taught", (label) => answers("explain") && explain(label));
  on("answered", () => {
    if (!answers("explain")) return;
    if (shown !== null && asked.labels.includes(shown)) explain(shown);
    else if (asked.labels.length) explain(asked.labels[0]);
    else clear("There is nothing to explain yet.");
  });
  on("model", () => {
    shown = null;
    clear(answers("explain") ? "Choose “why” beside a label." : `This model (${state.about.kind}) does not tell why: it has no path with features on it.`);
  });
}
