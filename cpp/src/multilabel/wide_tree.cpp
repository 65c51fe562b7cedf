#include "labeltrees/multilabel/wide_tree.hpp"

#include <algorithm>
#include <string>

#include "labeltrees/platform/room.hpp"

namespace labeltrees {
namespace {

// Labels that a node of this height can hold.
std::int64_t capacity(std::int32_t height) noexcept {
  std::int64_t n = 1;
  for (std::int32_t i = 0; i < height; ++i) n *= static_cast<std::int64_t>(WideTree::most_children);
  return n;
}

std::int64_t free_room(const WideTree::Node& node) noexcept {
  const auto n_free = static_cast<std::int64_t>(WideTree::most_children) - node.n_children;
  return n_free * capacity(node.height - 1);
}

}  // namespace

void WideTree::reserve(std::size_t n_nodes, LabelId label) {
  make_room(nodes_, n_nodes);
  if (index(label) >= leaf_of_.size()) {
    make_room_in_all(leaf_of_, index(label) + 1);
    leaf_of_.resize(index(label) + 1, none);
  }
}

NodeId WideTree::grow() noexcept {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node top;
  top.height = 1;
  if (!empty()) {
    Node& old = nodes_[index(root_)];
    old.parent = id;
    old.slot = 0;
    top.height = old.height + 1;
    top.n_children = 1;
    top.n_leaves = old.n_leaves;
    top.children[0] = root_;
    top.room = old.room;
  }
  top.room += free_room(top);
  nodes_.push_back(top);
  root_ = id;
  return id;
}

NodeId WideTree::add_child(NodeId parent, LabelId label) noexcept {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node& above = nodes_[index(parent)];
  Node node;
  node.parent = parent;
  node.label = label;
  node.slot = above.n_children;
  above.children[index(above.n_children++)] = id;
  if (label == none) {
    node.height = above.height - 1;
    node.room = capacity(node.height);
    nodes_.push_back(node);
    return id;
  }
  // A leaf high up takes the space of all leaves that could have been below it.
  const std::int64_t taken = capacity(above.height - 1);
  node.n_leaves = 1;
  nodes_.push_back(node);
  leaf_of_[index(label)] = id;
  ++n_labels_;
  for (NodeId each = parent; each != none; each = nodes_[index(each)].parent) {
    nodes_[index(each)].room -= taken;
    ++nodes_[index(each)].n_leaves;
  }
  return id;
}

std::vector<NodeId> WideTree::parents() const {
  std::vector<NodeId> values;
  for (const Node& node : nodes_) values.push_back(node.parent);
  return values;
}

std::vector<std::int32_t> WideTree::slots() const {
  std::vector<std::int32_t> values;
  for (const Node& node : nodes_) values.push_back(node.slot);
  return values;
}

std::vector<LabelId> WideTree::labels() const {
  std::vector<LabelId> values;
  for (const Node& node : nodes_) values.push_back(node.label);
  return values;
}

std::vector<NodeId> WideTree::breadth_first() const {
  std::vector<NodeId> order;
  if (root_ != none) order.push_back(root_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const NodeId child : children(order[i])) order.push_back(child);
  }
  return order;
}

LabelTree WideTree::plain() const {
  std::vector<NodeId> parent, place(n_nodes(), none);
  std::vector<LabelId> label;
  for (const NodeId node : breadth_first()) {
    place[index(node)] = static_cast<NodeId>(parent.size());
    parent.push_back(at(node).parent == none ? none : place[index(at(node).parent)]);
    label.push_back(at(node).label);
  }
  return LabelTree::restore(parent, label, leaf_of_.size());
}

WideTree WideTree::from(const LabelTree& tree) {
  std::vector<std::int32_t> slot(tree.n_nodes(), 0);
  for (NodeId node = 0; index(node) < tree.n_nodes(); ++node) {
    if (tree.parent(node) != none) slot[index(node)] = node - tree.first_child(tree.parent(node));
  }
  // A single label hangs below a separate root.
  if (tree.n_nodes() == 1) {
    const std::vector<NodeId> parent{none, 0};
    const std::vector<LabelId> label{none, tree.label(0)};
    return restore(parent, std::vector<std::int32_t>{0, 0}, label, tree.label_bound());
  }
  return restore(tree.parents(), slot, tree.labels(), tree.label_bound());
}

WideTree WideTree::restore(std::span<const NodeId> parent, std::span<const std::int32_t> slot,
                           std::span<const LabelId> label, std::size_t max_labels) {
  const std::size_t n = parent.size();
  if (slot.size() != n || label.size() != n) throw TreeError("arrays differ in length");
  if (n > static_cast<std::size_t>(INT32_MAX) / 2) throw TreeError("there are too many nodes");
  const auto fail = [](std::size_t node, const char* what) {
    throw TreeError("node " + std::to_string(node) + " " + what);
  };
  WideTree tree;
  tree.nodes_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    Node& node = tree.nodes_[i];
    node.parent = parent[i];
    node.label = label[i];
    node.slot = slot[i];
    node.children.fill(none);
    if (label[i] < none || (label[i] >= 0 && index(label[i]) >= max_labels)) {
      fail(i, "has a label that is out of range");
    }
    if (parent[i] < none || (parent[i] >= 0 && index(parent[i]) >= n)) {
      fail(i, "has a parent that is not there");
    }
    if (slot[i] < 0 || index(slot[i]) >= most_children) fail(i, "has a place that is not there");
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = tree.nodes_[i];
    if (node.parent == none) {
      if (tree.root_ != none || node.slot != 0 || node.label != none) fail(i, "cannot be the root");
      tree.root_ = static_cast<NodeId>(i);
      continue;
    }
    Node& above = tree.nodes_[index(node.parent)];
    NodeId& child = above.children[index(node.slot)];
    if (above.label != none || child != none) fail(i, "has a place that is taken");
    child = static_cast<NodeId>(i);
    ++above.n_children;
  }
  if (n > 0 && tree.root_ == none) throw TreeError("there is no root");
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = tree.nodes_[i];
    if (node.label == none && node.n_children == 0) fail(i, "has neither label nor child");
    for (std::int32_t s = 0; s < node.n_children; ++s) {
      if (node.children[index(s)] == none) fail(i, "has a gap among its children");
    }
    if (node.label == none) continue;
    if (index(node.label) >= tree.leaf_of_.size())
      tree.leaf_of_.resize(index(node.label) + 1, none);
    if (tree.leaf_of(node.label) != none) fail(i, "has a label that another has");
    tree.leaf_of_[index(node.label)] = static_cast<NodeId>(i);
    ++tree.n_labels_;
  }
  tree.measure();
  return tree;
}

// Heights, leaves and free space of every node; throws TreeError if some nodes are not connected to
// a root.
void WideTree::measure() {
  const std::vector<NodeId> order = breadth_first();
  if (order.size() != n_nodes()) throw TreeError("some nodes go round in a circle");
  for (std::size_t i = order.size(); i-- > 0;) {
    Node& node = nodes_[index(order[i])];
    node.n_leaves = node.is_leaf() ? 1 : 0;
    for (const NodeId child : children(order[i])) {
      node.n_leaves += at(child).n_leaves;
      node.height = std::max(node.height, at(child).height + 1);
      node.room += at(child).room;
    }
    if (node.height > most_height + 1) throw TreeError("the tree is too high");
    if (!node.is_leaf()) node.room += free_room(node);
  }
}

}  // namespace labeltrees
