// Explanations of all kinds of models in one form.
//
// A path is { title, steps: [step], reranker }. A step is { to, p, note, support }, where support is a
// list of [feature, amount], and a positive amount supports the step. A reranker is { text, support }:
// the part of a model that refines the probability of the tree.

import { count, percent, plural } from "./numbers.js";

const nameOf = (feature) => (typeof feature === "number" ? `feature ${feature}` : feature);

function support({ contributions, other, bias }, sign = 1) {
  const listed = contributions.map((each) => [nameOf(each.feature), sign * each.contribution]);
  return [...listed, ["other features", sign * other], ["intercept", sign * bias]].filter(([, amount]) => Math.abs(amount) >= 0.005);
}

function towards(nLabels) {
  return nLabels === 1 ? "to the label itself" : `to ${count(nLabels)} labels`;
}

function step(found) {
  if ("child" in found) return { to: `child ${found.child}`, p: found.p_node, note: "", support: support(found) };
  // Each node of a multi-label tree has a probability of its own, so there is no left or right.
  if (!("direction" in found)) return { to: "down", p: found.p_node, note: towards(found.n_labels), support: support(found) };
  const right = found.direction === "right";
  const supports = support(found, right ? 1 : -1);
  if (!("p_node" in found)) {
    const note = `${percent(found.p_label)} if the path ended here, ${plural(Math.round(found.n_examples), "example")}`;
    return { to: found.direction, p: null, note, support: supports };
  }
  const [here, there] = right ? [found.n_right, found.n_left] : [found.n_left, found.n_right];
  const note = here === 1 ? towards(1) : `${towards(here).replace(" labels", "")} of ${count(here + there)} labels`;
  return { to: found.direction, p: right ? found.p_node : 1 - found.p_node, note, support: supports };
}

function rerankerOf(p, nTrees, isUsed, found) {
  const who = nTrees === 1 ? "The tree predicts" : `The ${count(nTrees)} trees predict`;
  if (!isUsed) return { text: `${who} ${percent(p)}. The reranker of the label was not used.`, support: [] };
  return { text: `${who} ${percent(p)}. The reranker of the label changes it to the value above.`, support: support(found) };
}

// The reranker of a conditional tree, of a multi-label tree, or null.
function reranker(reason) {
  const { refinement } = reason;
  if (refinement) return rerankerOf(refinement.p_trees, refinement.n_trees, refinement.is_candidate, refinement);
  return "p_any" in reason ? rerankerOf(reason.p_tree, 1, reason.is_candidate, reason) : null;
}

export function paths(reason) {
  if (!Array.isArray(reason.trees)) {
    return [{ title: "", steps: (reason.steps ?? []).map(step), reranker: reranker(reason) }];
  }
  return reason.trees.map((tree, i) => ({
    title: `Tree ${i + 1}`,
    steps: (Array.isArray(tree) ? tree : tree.steps).map(step),
    reranker: null,
  }));
}

// Returns the sum of each feature over the whole path, strongest first.
export function overall(steps, most = 8) {
  const sums = new Map();
  for (const { support: own } of steps) {
    for (const [feature, amount] of own) sums.set(feature, (sums.get(feature) ?? 0) + amount);
  }
  const features = [...sums].filter(([feature]) => feature !== "other features" && feature !== "intercept");
  return features.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, most);
}
