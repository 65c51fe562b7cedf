// A tree of at most seven children per node that labels join one by one. No leaf ever moves. A new
// label takes a free place, or opens nodes below one, and when all places are taken a new root is
// put on top. The state that a node has learned therefore stays valid for the labels below it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/online/weight_table.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// Nodes are numbered in the order in which they came; the root may be any of them. Every inner node
// has a child, and leaves are labels. Not safe for writing from two threads; any number may read.
class WideTree {
 public:
  static constexpr std::size_t most_children = block_size;
  static constexpr std::int32_t most_height = 20;  // more labels than ids can name

  struct Node {
    NodeId parent = none;
    LabelId label = none;     // none of an inner node
    std::int32_t slot = 0;    // its place among the parent's children
    std::int32_t height = 0;  // edges to the deepest leaf that it has or was opened for
    std::int32_t n_children = 0;
    std::int32_t n_leaves = 0;
    std::int64_t room = 0;  // labels that can still join below it
    std::array<NodeId, most_children> children{};
    bool is_leaf() const noexcept { return label != none; }
  };

  WideTree() = default;
  // Takes what `parents`, `slots` and `labels` give, or throws TreeError. Labels are below
  // max_labels. O(nodes + max_labels).
  static WideTree restore(std::span<const NodeId> parent, std::span<const std::int32_t> slot,
                          std::span<const LabelId> label, std::size_t max_labels);
  // The same shape as a tree of at most seven children per node.
  static WideTree from(const LabelTree& tree);

  std::size_t n_nodes() const noexcept { return nodes_.size(); }
  std::size_t n_labels() const noexcept { return n_labels_; }
  bool empty() const noexcept { return nodes_.empty(); }
  NodeId root() const noexcept { return root_; }
  const Node& at(NodeId node) const noexcept { return nodes_[index(node)]; }
  NodeId leaf_of(LabelId label) const noexcept {
    return label >= 0 && index(label) < leaf_of_.size() ? leaf_of_[index(label)] : none;
  }
  std::span<const NodeId> children(NodeId node) const noexcept {
    return {at(node).children.data(), index(at(node).n_children)};
  }
  // Whether no label can join without a new root.
  bool is_full() const noexcept { return empty() || at(root_).room == 0; }
  // Nodes that a label which joins may take at most, a new root included.
  std::size_t nodes_per_label() const noexcept { return empty() ? 2 : index(at(root_).height) + 2; }

  // Gets the memory for n more nodes and for labels up to this one. Throws std::bad_alloc.
  void reserve(std::size_t n_nodes, LabelId label);
  // A new root, above the old one if there is one; is_full() must hold. Returns its id.
  NodeId grow() noexcept;
  // Adds a child at the first free place of an inner node. It is a leaf if there is a label, which
  // must be new, else an inner node that leaves must be added to. reserve must have been called.
  NodeId add_child(NodeId parent, LabelId label) noexcept;

  std::vector<NodeId> parents() const;
  std::vector<std::int32_t> slots() const;
  std::vector<LabelId> labels() const;
  // All nodes, parents first, siblings in their order.
  std::vector<NodeId> breadth_first() const;
  // Returns the same tree with this numbering.
  LabelTree plain() const;

 private:
  void measure();

  std::vector<Node> nodes_;
  std::vector<NodeId> leaf_of_;
  NodeId root_ = none;
  std::size_t n_labels_ = 0;
};

}  // namespace labeltrees
