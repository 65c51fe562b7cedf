// Explanations of all kinds of models in one form: paths of turns, and what supports each.
//
// A path is { title, turns: [turn], expert }. A turn is { to, p, note, support }, where support is a
// list of [feature, amount]: above 0 it speaks for the turn. An expert is what refines a tree's answer.

import { count, percent, plural } from "./numbers.js";

const name = (feature) => (typeof feature === "number" ? `feature ${feature}` : feature);

function support({ contributions, other, bias }, sign = 1) {
  const listed = contributions.map((each) => [name(each.feature), sign * each.contribution]);
  return [...listed, ["other features", sign * other], ["intercept", sign * bias]].filter(([, amount]) => Math.abs(amount) >= 0.005);
}

function turn(step) {
  if ("child" in step) return { to: `child ${step.child}`, p: step.p_node, note: "", support: support(step) };
  const right = step.direction === "right";
  const supports = support(step, right ? 1 : -1);
  if (!("p_node" in step)) {
    const note = `${percent(step.p_label)} if it ended here, ${plural(Math.round(step.n_examples), "example")}`;
    return { to: step.direction, p: null, note, support: supports };
  }
  const [here, there] = right ? [step.n_right, step.n_left] : [step.n_left, step.n_right];
  const note = here === 1 ? "to the label itself" : `to ${count(here)} of ${count(here + there)} labels`;
  return { to: step.direction, p: right ? step.p_node : 1 - step.p_node, note, support: supports };
}

function expert(refinement) {
  if (!refinement) return null;
  const { n_trees: n, p_trees: p, is_candidate: isAsked } = refinement;
  const who = n === 1 ? "The tree says" : `The ${count(n)} trees say`;
  const said = `${who} ${percent(p)}`;
  if (!isAsked) return { said: `${said}; the label’s own expert was not asked.`, support: [] };
  return { said: `${said}; then the label’s own expert speaks.`, support: support(refinement) };
}

export function paths(reason) {
  if (!Array.isArray(reason.trees)) {
    return [{ title: "", turns: (reason.steps ?? []).map(turn), expert: expert(reason.refinement) }];
  }
  return reason.trees.map((tree, i) => ({
    title: `Tree ${i + 1}`,
    turns: (Array.isArray(tree) ? tree : tree.steps).map(turn),
    expert: null,
  }));
}

// What each feature adds over the whole path, strongest first.
export function overall(turns, most = 8) {
  const sums = new Map();
  for (const { support: own } of turns) {
    for (const [feature, amount] of own) sums.set(feature, (sums.get(feature) ?? 0) + amount);
  }
  const real = [...sums].filter(([feature]) => feature !== "other features" && feature !== "intercept");
  return real.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, most);
}
