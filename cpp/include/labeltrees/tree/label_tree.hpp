// A rooted tree whose leaves are labels, in flat arrays, able to grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {

using NodeId = std::int32_t;
using LabelId = std::int32_t;
inline constexpr std::int32_t none = -1;

// Thrown when arrays do not describe a tree; the message names the place.
class TreeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Invariants: node 0 is the root; a child's id is larger than its parent's; the children of a node
// have consecutive ids; every leaf has one label >= 0, every inner node has label none; no label
// has two leaves. The arrays parent and label therefore describe the whole tree. A tree may be
// empty, and a single leaf is a tree.
//
// Only one thread may write at a time; any number of threads may read.
class LabelTree {
 public:
  LabelTree() = default;

  // Takes arrays that already satisfy the invariants and whose labels are below max_labels, else
  // throws TreeError. Time and memory are O(nodes + max_labels).
  static LabelTree restore(std::span<const NodeId> parent, std::span<const LabelId> label,
                           std::size_t max_labels);
  // With labels below the number of nodes, so that the tree takes no more than the arrays allow.
  static LabelTree restore(std::span<const NodeId> parent, std::span<const LabelId> label) {
    return restore(parent, label, parent.size());
  }
  // Takes any numbering of a tree, and renumbers it breadth first. Siblings keep their order.
  static LabelTree from_parents(std::span<const NodeId> parent, std::span<const LabelId> label);

  // These leave the tree as it was if they throw.
  NodeId add_root(LabelId label);
  // The leaf keeps its id and becomes the parent of two new leaves: first its old label, then
  // new_label. Returns the id of the first; the second is one more.
  NodeId split_leaf(NodeId leaf, LabelId new_label);
  // Takes back the last split_leaf or add_root.
  void undo_split() noexcept;

  std::size_t n_nodes() const noexcept { return parent_.size(); }
  std::size_t n_labels() const noexcept { return n_labels_; }
  bool empty() const noexcept { return parent_.empty(); }

  NodeId parent(NodeId node) const noexcept { return parent_[index(node)]; }
  NodeId first_child(NodeId node) const noexcept { return first_child_[index(node)]; }
  std::int32_t n_children(NodeId node) const noexcept { return n_children_[index(node)]; }
  bool is_leaf(NodeId node) const noexcept { return first_child_[index(node)] == none; }
  LabelId label(NodeId node) const noexcept { return label_[index(node)]; }
  std::int32_t n_leaves(NodeId node) const noexcept { return n_leaves_[index(node)]; }
  // none if the label has no leaf (yet).
  NodeId leaf_of(LabelId label) const noexcept {
    return label >= 0 && index(label) < leaf_of_.size() ? leaf_of_[index(label)] : none;
  }
  std::int32_t depth(NodeId node) const noexcept;
  // The depth of every node, in O(nodes).
  std::vector<std::int32_t> depths() const;

  const std::vector<NodeId>& parents() const noexcept { return parent_; }
  const std::vector<LabelId>& labels() const noexcept { return label_; }
  const std::vector<NodeId>& first_children() const noexcept { return first_child_; }
  const std::vector<std::int32_t>& child_counts() const noexcept { return n_children_; }
  const std::vector<std::int32_t>& leaf_counts() const noexcept { return n_leaves_; }
  // The largest label of any leaf, plus one.
  std::size_t label_bound() const noexcept { return leaf_of_.size(); }

  // Throws TreeError if an invariant does not hold. O(nodes).
  void validate() const;

 private:
  void make_room(std::size_t n_nodes, LabelId label);
  NodeId append(NodeId parent, LabelId label) noexcept;
  void set_leaf(LabelId label, NodeId node);

  std::vector<NodeId> parent_, first_child_, leaf_of_;
  std::vector<std::int32_t> n_children_, n_leaves_;
  std::vector<LabelId> label_;
  std::size_t n_labels_ = 0;
};

// A tree over labels in their given order. Every node splits its labels into at most arity (>= 2)
// parts of nearly equal size, so the depth is ceil(log_arity n). O(n).
LabelTree balanced_tree(std::span<const LabelId> labels, std::int32_t arity);
// balanced_tree over a random order of labels 0 .. n_labels - 1, the same for the same seed.
LabelTree random_tree(std::int32_t n_labels, std::int32_t arity, std::uint64_t seed);
// The arity-ary Huffman tree: least mean depth when label i has weight[i] >= 0. Ties go to the
// label or subtree that came first. O(n log n).
LabelTree huffman_tree(std::span<const double> weight, std::int32_t arity);

}  // namespace labeltrees
