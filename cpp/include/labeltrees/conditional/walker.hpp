// One way after the other down a conditional probability tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// A node on the way down, with the index of its block's lines, or none if not looked up yet.
struct ReachedNode {
  double p_path;
  NodeId node;
  std::int32_t lines;
};

// Walks down from the root for one row at a time; the lines of a block are looked up once.
class Walker {
 public:
  Walker(const ConditionalTree& model, const Reading& reading) : model_(model), reading_(reading) {}

  ReachedNode start(const SparseRow& row) {
    row_.assign(row, reading_);
    n_blocks_ = 0;
    return {1.0, 0, none};
  }

  double p_right(ReachedNode& visit) {
    if (visit.lines == none) {
      visit.lines = static_cast<std::int32_t>(n_blocks_++);
      if (lines_.size() < n_blocks_) lines_.emplace_back();
      find_lines(model_.table(), model_.place(visit.node).block, row_, lines_[n_blocks_ - 1]);
    }
    const BlockLines& lines = lines_[static_cast<std::size_t>(visit.lines)];
    return evaluate_node(model_, visit.node, lines, row_, reading_).p_node;
  }

  // A child of an inner node whose p_right was evaluated.
  ReachedNode child(const ReachedNode& visit, double p_right, bool right) const {
    const NodeId node = model_.tree().first_child(visit.node) + (right ? 1 : 0);
    const bool same_block = model_.place(node).block == model_.place(visit.node).block;
    return {visit.p_path * (right ? p_right : 1.0 - p_right), node,
            same_block ? visit.lines : none};
  }

 private:
  const ConditionalTree& model_;
  const Reading& reading_;
  PreparedRow row_;
  std::vector<BlockLines> lines_;
  std::size_t n_blocks_ = 0;
};

}  // namespace labeltrees
