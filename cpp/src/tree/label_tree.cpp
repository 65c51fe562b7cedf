#include "labeltrees/tree/label_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/room.hpp"

namespace labeltrees {
namespace {

constexpr std::size_t max_nodes = std::numeric_limits<NodeId>::max();

std::string number(std::int64_t i) { return std::to_string(i); }

// Children of every node in order of their ids, as offsets into one array.
struct ChildLists {
  std::vector<std::size_t> start;
  std::vector<NodeId> child;
};

ChildLists children_of(std::span<const NodeId> parent) {
  const std::size_t n = parent.size();
  ChildLists lists{std::vector<std::size_t>(n + 1, 0), std::vector<NodeId>(n)};
  for (const NodeId p : parent) {
    if (p != none) ++lists.start[index(p) + 1];
  }
  std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
  std::vector<std::size_t> next(lists.start.begin(), lists.start.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] != none) lists.child[next[index(parent[i])]++] = static_cast<NodeId>(i);
  }
  return lists;
}

void check_arity(std::int32_t arity) {
  if (arity < 2) throw TreeError("arity must be at least 2, got " + number(arity));
}

}  // namespace

// Reserves capacity for n more nodes, and for the label.
void LabelTree::make_room(std::size_t n_nodes, LabelId label) {
  if (parent_.size() + n_nodes > max_nodes) {
    throw TreeError("a tree holds at most 2^31 - 1 nodes");
  }
  for (auto* array : {&parent_, &first_child_, &n_children_, &n_leaves_, &label_}) {
    labeltrees::make_room(*array, n_nodes);
  }
  make_room_in_all(leaf_of_, index(label) + 1);
}

NodeId LabelTree::append(NodeId parent, LabelId label) noexcept {
  const auto node = static_cast<NodeId>(parent_.size());
  parent_.push_back(parent);
  first_child_.push_back(none);
  n_children_.push_back(0);
  n_leaves_.push_back(1);
  label_.push_back(label);
  return node;
}

void LabelTree::set_leaf(LabelId label, NodeId node) {
  if (index(label) >= leaf_of_.size()) leaf_of_.resize(index(label) + 1, none);
  leaf_of_[index(label)] = node;
}

NodeId LabelTree::add_root(LabelId label) {
  if (!empty()) throw TreeError("the tree has a root already");
  make_room(1, label);
  const NodeId root = append(none, label);
  set_leaf(label, root);
  n_labels_ = 1;
  return root;
}

NodeId LabelTree::split_leaf(NodeId leaf, LabelId new_label) {
  if (!is_leaf(leaf)) throw TreeError("node " + number(leaf) + " is not a leaf");
  if (leaf_of(new_label) != none) throw TreeError("label " + number(new_label) + " has a leaf");
  make_room(2, new_label);
  const LabelId old_label = label_[index(leaf)];
  const NodeId first = append(leaf, old_label);
  const NodeId second = append(leaf, new_label);
  first_child_[index(leaf)] = first;
  n_children_[index(leaf)] = 2;
  label_[index(leaf)] = none;
  set_leaf(old_label, first);
  set_leaf(new_label, second);
  ++n_labels_;
  for (NodeId node = leaf; node != none; node = parent_[index(node)]) ++n_leaves_[index(node)];
  return first;
}

void LabelTree::undo_split() noexcept {
  const NodeId leaf = parent_.back();
  const LabelId old_label = leaf == none ? none : label_[n_nodes() - 2];
  leaf_of_[index(label_.back())] = none;
  while (!leaf_of_.empty() && leaf_of_.back() == none) leaf_of_.pop_back();
  for (auto* array : {&parent_, &first_child_, &n_children_, &n_leaves_, &label_}) {
    array->resize(array->size() - (leaf == none ? 1 : 2));
  }
  --n_labels_;
  if (leaf == none) return;
  first_child_[index(leaf)] = none;
  n_children_[index(leaf)] = 0;
  label_[index(leaf)] = old_label;
  set_leaf(old_label, leaf);
  for (NodeId node = leaf; node != none; node = parent_[index(node)]) --n_leaves_[index(node)];
}

std::int32_t LabelTree::depth(NodeId node) const noexcept {
  std::int32_t depth = 0;
  while ((node = parent(node)) != none) ++depth;
  return depth;
}

std::vector<std::int32_t> LabelTree::depths() const {
  std::vector<std::int32_t> depth(n_nodes(), 0);
  for (std::size_t i = 1; i < n_nodes(); ++i) depth[i] = depth[index(parent_[i])] + 1;
  return depth;
}

LabelTree LabelTree::restore(std::span<const NodeId> parent, std::span<const LabelId> label,
                             std::size_t max_labels) {
  if (parent.size() != label.size()) throw TreeError("parent and label differ in length");
  if (parent.size() > max_nodes) throw TreeError("a tree holds at most 2^31 - 1 nodes");
  LabelTree tree;
  tree.parent_.assign(parent.begin(), parent.end());
  tree.label_.assign(label.begin(), label.end());
  const std::size_t n = parent.size();
  tree.first_child_.assign(n, none);
  tree.n_children_.assign(n, 0);
  tree.n_leaves_.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const NodeId p = parent[i];
    if (i == 0 ? p != none : (p < 0 || index(p) >= i)) {
      throw TreeError("node " + number(static_cast<std::int64_t>(i)) + " has parent " + number(p) +
                      (i == 0 ? "; the root has parent -1" : "; a parent comes before its child"));
    }
    if (i == 0) continue;
    if (tree.first_child_[index(p)] == none) tree.first_child_[index(p)] = static_cast<NodeId>(i);
    if (index(tree.first_child_[index(p)]) + index(tree.n_children_[index(p)]) != i) {
      throw TreeError("the children of node " + number(p) + " are not consecutive");
    }
    ++tree.n_children_[index(p)];
  }
  for (std::size_t i = n; i-- > 0;) {
    const bool leaf = tree.first_child_[i] == none;
    if (leaf != (label[i] >= 0) || label[i] < none) {
      throw TreeError("node " + number(static_cast<std::int64_t>(i)) + " has label " +
                      number(label[i]) +
                      (leaf ? "; a leaf's label is >= 0" : "; an inner node's is -1"));
    }
    if (leaf) {
      if (index(label[i]) >= std::min(max_labels, max_nodes - 1)) {
        throw TreeError("node " + number(static_cast<std::int64_t>(i)) + " has label " +
                        number(label[i]) + ", and labels end before " +
                        number(static_cast<std::int64_t>(std::min(max_labels, max_nodes - 1))));
      }
      if (tree.leaf_of(label[i]) != none) {
        throw TreeError("label " + number(label[i]) + " has two leaves");
      }
      tree.set_leaf(label[i], static_cast<NodeId>(i));
      ++tree.n_labels_;
      tree.n_leaves_[i] = 1;
    }
    if (i > 0) tree.n_leaves_[index(parent[i])] += tree.n_leaves_[i];
  }
  return tree;
}

LabelTree LabelTree::from_parents(std::span<const NodeId> parent, std::span<const LabelId> label) {
  const std::size_t n = parent.size();
  if (label.size() != n) throw TreeError("parent and label differ in length");
  NodeId root = none;
  for (std::size_t i = 0; i < n; ++i) {
    if (parent[i] < none || (parent[i] != none && index(parent[i]) >= n)) {
      throw TreeError("node " + number(static_cast<std::int64_t>(i)) + " has parent " +
                      number(parent[i]) + ", outside [-1, " + number(static_cast<std::int64_t>(n)) +
                      ")");
    }
    if (parent[i] != none) continue;
    if (root != none) {
      throw TreeError("nodes " + number(root) + " and " + number(static_cast<std::int64_t>(i)) +
                      " are both roots");
    }
    root = static_cast<NodeId>(i);
  }
  if (n != 0 && root == none) throw TreeError("no node is the root (parent -1)");
  const ChildLists lists = children_of(parent);
  std::vector<NodeId> order, new_parent;
  std::vector<LabelId> new_label;
  order.reserve(n);
  if (n != 0) {
    order.push_back(root);
    new_parent.push_back(none);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t node = index(order[i]);
    new_label.push_back(label[node]);
    for (std::size_t c = lists.start[node]; c < lists.start[node + 1]; ++c) {
      order.push_back(lists.child[c]);
      new_parent.push_back(static_cast<NodeId>(i));
    }
  }
  if (order.size() != n) throw TreeError("some nodes cannot be reached from the root: a cycle");
  return restore(new_parent, new_label, max_nodes);
}

void LabelTree::validate() const {
  const LabelTree again = restore(parent_, label_, leaf_of_.size());
  if (again.first_child_ != first_child_ || again.n_children_ != n_children_ ||
      again.n_leaves_ != n_leaves_ || again.n_labels_ != n_labels_ || again.leaf_of_ != leaf_of_) {
    throw TreeError("the derived arrays do not follow from parent and label");
  }
}

LabelTree balanced_tree(std::span<const LabelId> labels, std::int32_t arity) {
  check_arity(arity);
  std::vector<NodeId> parent;
  std::vector<LabelId> label;
  std::vector<std::pair<std::size_t, std::size_t>> range;  // of each node, in order of its id
  if (!labels.empty()) {
    parent.push_back(none);
    range.emplace_back(0, labels.size());
  }
  for (std::size_t i = 0; i < range.size(); ++i) {
    const auto [begin, end] = range[i];
    const std::size_t size = end - begin;
    label.push_back(size == 1 ? labels[begin] : none);
    if (size == 1) continue;
    const std::size_t parts = std::min(size, index(arity));
    for (std::size_t c = 0; c < parts; ++c) {
      parent.push_back(static_cast<NodeId>(i));
      range.emplace_back(begin + size * c / parts, begin + size * (c + 1) / parts);
    }
  }
  return LabelTree::restore(parent, label, max_nodes);
}

LabelTree random_tree(std::int32_t n_labels, std::int32_t arity, std::uint64_t seed) {
  std::vector<LabelId> order(index(std::max(n_labels, 0)));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[combine_hashes(seed, i) % i]);
  }
  return balanced_tree(order, arity);
}

LabelTree huffman_tree(std::span<const double> weight, std::int32_t arity) {
  check_arity(arity);
  const std::size_t n = weight.size(), k = index(arity);
  using Item = std::pair<double, std::size_t>;  // (weight, node); ties go to the older node
  std::priority_queue<Item, std::vector<Item>, std::greater<>> heap;
  std::vector<NodeId> parent(n, none);
  std::vector<LabelId> label(n);
  std::iota(label.begin(), label.end(), 0);
  for (std::size_t i = 0; i < n; ++i) heap.emplace(weight[i], i);
  // The first merge takes fewer than arity items, so that every later one can be full.
  std::size_t take = n > 1 ? 2 + (n - 2) % (k - 1) : 0;
  while (heap.size() > 1) {
    double sum = 0;
    for (std::size_t c = 0; c < take; ++c) {
      const auto [item_weight, node] = heap.top();
      heap.pop();
      parent[node] = static_cast<NodeId>(parent.size());
      sum += item_weight;
    }
    heap.emplace(sum, parent.size());
    parent.push_back(none);
    label.push_back(none);
    take = k;
  }
  return LabelTree::from_parents(parent, label);
}

}  // namespace labeltrees
