// A picture of a subtree, with a row for each level and a box for each node, as wide as its share.
// The list below the picture has the same content for the keyboard and for screen readers.

import { make } from "./dom.js";
import { percent } from "./numbers.js";
import { nameOf, paint } from "./tree_list.js";

const NARROWEST = 0.002;
const NAMED = 0.035;

export function drawIcicle(element, root, levels, marked, zoom) {
  const boxes = [];
  const weight = root.mass > 0 ? (node) => node.mass : (node) => node.labels;
  const isMarked = new Set(marked?.map((node) => `${node.depth}/${node.node}`));
  const total = weight(root);

  function place(node, left, between) {
    const width = weight(node) / total;
    if (width < NARROWEST) return;
    boxes.push(box(node, left, width, between));
    let from = left;
    for (const child of node.below ?? []) {
      place(child, from, [...between, child]);
      from += weight(child) / total;
    }
  }

  function box(node, left, width, between) {
    const accuracy = node.accuracy === null ? "no predictions yet" : `accuracy ${percent(node.accuracy)}`;
    const text = width > NAMED ? String(node.label ?? node.heaviest) : "";
    const made = make("div", { class: node.children ? "box" : "box leaf", title: `${nameOf(node)}: ${percent(node.share)} of the examples, ${accuracy}` }, text);
    made.style.left = `${100 * left}%`;
    made.style.width = `${100 * width}%`;
    made.style.setProperty("--row", between.length);
    paint(made, node.accuracy);
    if (isMarked.has(`${node.depth}/${node.node}`)) made.classList.add("marked");
    if (between.length && node.children) made.addEventListener("click", () => zoom(between));
    return made;
  }

  place(root, 0, []);
  element.style.setProperty("--rows", levels + 1);
  element.replaceChildren(...boxes);
}
