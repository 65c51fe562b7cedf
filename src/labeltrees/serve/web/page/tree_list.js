// A list of nodes that open and close, following the ARIA pattern of trees.

import { make } from "./dom.js";
import { count, percent, plural } from "./numbers.js";

export function nameOf({ label, heaviest, labels }) {
  if (label !== null) return String(label);
  return labels === 1 ? String(heaviest) : `${heaviest} and ${count(labels - 1)} more`;
}

const unseen = (text) => make("span", { class: "unseen" }, text);

export class TreeList {
  constructor({ load, zoom }) {
    this.load = load;
    this.zoom = zoom;
    this.open = new Set();
    this.root = null;
    this.active = null; // the key of the focused node
    this.marked = null;
  }

  keyOf({ depth, heaviest, label }) {
    return `${depth}\t${heaviest ?? label}`;
  }

  // Shows a subtree; `path` leads from the root of the tree to a leaf to show.
  async show(root, path) {
    this.root = root;
    this.open.add(this.keyOf(root));
    this.marked = path ? this.keyOf(path.at(-1)) : null;
    this.active = this.marked ?? this.keyOf(root);
    for (const node of path?.slice(0, -1) ?? []) this.open.add(this.keyOf(node));
    await this.fill(root);
    this.draw();
    if (path) this.element.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  // Loads the children of open nodes.
  async fill(node) {
    if (!node.children || !this.open.has(this.keyOf(node))) return;
    node.below ??= await this.load(node);
    for (const child of node.below) await this.fill(child);
  }

  // Yields the visible nodes, each with the nodes between it and the root.
  *visible(node = this.root, between = []) {
    yield { node, between };
    if (!this.open.has(this.keyOf(node))) return;
    for (const child of node.below ?? []) yield* this.visible(child, [...between, child]);
  }

  draw() {
    if (!this.root) return;
    const hadFocus = this.element.contains(document.activeElement);
    const rows = [...this.visible()];
    if (!rows.some(({ node }) => this.keyOf(node) === this.active)) this.active = this.keyOf(this.root);
    this.element.replaceChildren(...rows.map((row) => this.row(row)));
    if (hadFocus) this.element.querySelector("[tabindex='0']")?.focus();
  }

  row({ node, between }) {
    const key = this.keyOf(node);
    const inner = node.children > 0;
    const isOpen = this.open.has(key);
    const siblings = between.length ? (between.at(-2) ?? this.root).below : [node];
    const accuracy = node.accuracy === null ? [unseen("no predictions yet"), "–"] : [percent(node.accuracy), unseen(" accuracy")];
    const element = make(
      "div",
      {
        class: inner ? "row" : "row leaf",
        role: "treeitem",
        tabIndex: key === this.active ? 0 : -1,
        "aria-level": between.length + 1,
        "aria-posinset": siblings.findIndex((each) => this.keyOf(each) === key) + 1,
        "aria-setsize": siblings.length,
        "aria-expanded": inner ? String(isOpen) : null,
        "aria-selected": String(key === this.marked),
      },
      make("span", { class: "twisty", "aria-hidden": "true" }, inner ? (isOpen ? "▾" : "▸") : ""),
      make("span", { class: "name", title: inner ? plural(node.labels, "label") : "" }, nameOf(node)),
      make("span", { class: "share", "aria-hidden": "true" }, make("span", { width: `${this.width(node)}%` })),
      make("span", { class: "p" }, percent(node.share), unseen(" of the examples,")),
      make("span", { class: "accuracy" }, make("span", { class: "swatch" }), ...accuracy),
    );
    element.style.setProperty("--level", between.length);
    paint(element.querySelector(".swatch"), node.accuracy);
    element.addEventListener("click", () => this.press(node));
    element.addEventListener("dblclick", () => this.zoom(between));
    element.dataset.key = key;
    return element;
  }

  // Returns the width of a bar in percent; the shown root has 100.
  width({ mass, labels }) {
    return this.root.mass > 0 ? (100 * mass) / this.root.mass : (100 * labels) / this.root.labels;
  }

  async press(node) {
    this.active = this.keyOf(node);
    await this.toggle(node, !this.open.has(this.active));
    this.element.querySelector("[tabindex='0']")?.focus();
  }

  async toggle(node, open) {
    if (!node.children) return this.draw();
    if (open) this.open.add(this.keyOf(node));
    else this.open.delete(this.keyOf(node));
    await this.fill(node);
    return this.draw();
  }

  async key(event) {
    const rows = [...this.visible()];
    const at = rows.findIndex(({ node }) => this.keyOf(node) === this.active);
    const { node, between } = rows[at];
    const isOpen = node.children > 0 && this.open.has(this.active);
    let next = -1;
    if (event.key === "ArrowDown") next = Math.min(at + 1, rows.length - 1);
    else if (event.key === "ArrowUp") next = Math.max(at - 1, 0);
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = rows.length - 1;
    else if (event.key === "ArrowRight" && isOpen) next = at + 1;
    else if (event.key === "ArrowLeft" && !isOpen && between.length) next = rows.findIndex((row) => row.node === (between.at(-2) ?? this.root));
    else if (!["ArrowRight", "ArrowLeft", "Enter", " "].includes(event.key)) return;
    event.preventDefault();
    if (next >= 0) {
      this.active = this.keyOf(rows[next].node);
      this.draw();
    } else if (event.key === "Enter") this.zoom(between);
    else if (event.key === " ") await this.toggle(node, !isOpen);
    else await this.toggle(node, event.key === "ArrowRight");
  }
}

// Colours an element by the accuracy for the labels below a node.
export function paint(element, accuracy) {
  if (accuracy === null) element.classList.add("unknown");
  else element.style.setProperty("--good", `${Math.round(100 * accuracy)}%`);
}

export function startTreeList(element, list) {
  list.element = element;
  element.addEventListener("keydown", (event) => list.key(event));
}
