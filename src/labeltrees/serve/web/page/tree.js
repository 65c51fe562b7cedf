// The tree explorer: search, zoom, and a list of nodes that open and close.
//
// The numbers of nodes change when a tree grows. A node is identified by its depth and its heaviest
// label, because no other node of that depth has this label.

import * as api from "./api.js";
import { byId, debounced, make } from "./dom.js";
import { drawIcicle } from "./icicle.js";
import { percent, plural } from "./numbers.js";
import { can, modelName, on, state } from "./state.js";
import { tabShown } from "./tabs.js";
import { nameOf, startTreeList, TreeList } from "./tree_list.js";

const LEVELS = 6;
const ABOVE_FOUND = 4;
const FOUND = 12;

let crumbs = []; // the nodes from the root to the shown node
let stale = true;
let request = 0;
const list = new TreeList({ load: children, zoom });

async function fetchNode(node) {
  return (await api.tree(modelName(), { node, levels: LEVELS })).tree;
}

// Returns the children of a node that the list opens, none if the tree has changed meanwhile.
async function children(node) {
  const found = await fetchNode(node.node);
  if (list.keyOf(found) === list.keyOf(node)) return found.below ?? [];
  await reload();
  return [];
}

async function show(path, marked = null) {
  const own = ++request;
  const found = await fetchNode(path.at(-1).node);
  if (own !== request) return;
  crumbs = [...path.slice(0, -1), found];
  stale = false;
  drawCrumbs();
  drawIcicle(byId("icicle"), found, LEVELS, marked, (below) => zoomAlong(below));
  await list.show(found, marked);
}

function drawCrumbs() {
  const item = (node, i) => {
    const last = i === crumbs.length - 1;
    const text = i === 0 ? `All ${plural(node.labels, "label")}` : nameOf(node);
    if (last) return make("li", { "aria-current": "location" }, text);
    return make("li", {}, make("button", { type: "button", class: "link", onclick: () => guard(show(crumbs.slice(0, i + 1))) }, text));
  };
  const items = crumbs.map(item);
  if (items.length > 8) items.splice(2, items.length - 6, make("li", {}, "…"));
  byId("crumbs").replaceChildren(...items);
}

// Zooms to a descendant of the shown node, given with the nodes between.
function zoomAlong(below) {
  guard(show([...crumbs, ...below]));
}

function zoom(between) {
  if (between.length && between.at(-1).children) zoomAlong(between);
}

async function showLabel(label) {
  stale = false;
  const { path } = await api.tree(modelName(), { label });
  const leaf = path.at(-1);
  await show(path.slice(0, Math.max(1, path.length - ABOVE_FOUND)), path);
  byId("found-note").textContent = `“${leaf.label}”: ${percent(leaf.share)} of the examples, at depth ${leaf.depth}, ${leaf.accuracy === null ? "no predictions yet" : `accuracy ${percent(leaf.accuracy)}`}.`;
}

async function search() {
  const text = byId("search-text").value.trim();
  byId("found").replaceChildren();
  if (!text) {
    byId("found-note").textContent = "";
    return;
  }
  const { labels } = await api.labels(modelName(), text, FOUND);
  if (byId("search-text").value.trim() !== text) return; // the text has changed meanwhile
  byId("found-note").textContent = labels.length ? "" : `No label contains “${text}”.`;
  const chip = ({ label, share }) =>
    make("li", {}, make("button", { type: "button", class: "chip", onclick: () => guard(showLabel(label)) }, String(label), make("small", {}, percent(share))));
  byId("found").replaceChildren(...labels.map(chip));
}

function guard(work) {
  work.catch((problem) => {
    byId("found-note").textContent = problem.message;
  });
}

// Reads the tree again and finds the shown node.
async function reload() {
  if (!can("tree") || state.about.labels === 0) return;
  const focus = crumbs.at(-1);
  let path = [{ node: 0 }];
  if (focus?.depth > 0) {
    const found = await api.tree(modelName(), { label: focus.heaviest });
    path = found.path.slice(0, focus.depth + 1);
  }
  await show(path);
}

function prepare() {
  const kind = state.about.kind;
  const none = !can("tree");
  const empty = state.about.labels === 0;
  byId("no-tree").hidden = !none && !empty;
  byId("tree-content").hidden = none || empty;
  byId("no-tree").textContent = none ? `This model (${kind}) has no single tree over its labels.` : "The tree is empty until the model has learned a label.";
  if (!none && !empty && stale && tabShown() === "tree") guard(reload());
}

export function startTree() {
  startTreeList(byId("tree"), list);
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    guard(search());
  });
  byId("search-text").addEventListener("input", debounced(200, () => guard(search())));
  let shown = null;
  on("model", () => {
    if (shown !== modelName()) {
      shown = modelName();
      crumbs = [];
      byId("search-text").value = "";
      byId("found").replaceChildren();
      byId("found-note").textContent = "";
      stale = true;
    }
    prepare();
  });
  on("learned", () => {
    stale = true;
    prepare();
  });
  on("show-label", (label) => guard(showLabel(label)));
  document.addEventListener("tabchange", (event) => event.detail === "tree" && state.about && prepare());
}
