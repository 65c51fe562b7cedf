// A probabilistic label tree that is learned row by row, for rows with any number of labels.
//
// Node i's regressor estimates eta_i = P(some label below i is relevant | some label below i's
// parent is, x), the root's P(the row has any label | x). A label's probability is the product of
// eta along its path. This is the marginal P(label is relevant | x), regardless of the other
// labels.
//
// The regressors of a node's seven places are one block of the weight table, so a row touches one
// line per feature at every node where it has a label. Places that are still free learn with the
// others, always with target 0. A label that takes a place is therefore in the same state as if the
// tree had been known from the beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/multilabel/wide_tree.hpp"
#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/refined/rerankers.hpp"

namespace labeltrees {

// The labels of rows, as compressed sparse rows: ids, each once in a row, and relevance in (0, 1].
using LabelRows = CsrView;

struct MultilabelLearning : Learning {
  // Least probability in a row at which a new label joins a child. Below it, a new child is opened
  // if there is a free place. In [0, 1].
  double branching_threshold;
};

// The whole state of learning.
class MultilabelTree {
 public:
  // The block of regressors that learn from all rows. The first is the root's. The second and third
  // always learn targets 1 and 0 from rows that have a label, as the places of a future root.
  static constexpr std::uint32_t top_block = 1;
  static constexpr std::size_t any_slot = 0, yes_slot = 1, no_slot = 2;
  static std::uint32_t block_of(NodeId node) noexcept {
    return static_cast<std::uint32_t>(node) + top_block + 1;
  }

  // A tree that has not learned yet. With 0 candidates there is no refinement.
  MultilabelTree(WideTree tree, const Shortlist& shortlist);
  // Restores a saved state; throws TreeError if it does not fit together. mass: of every node, then
  // of all rows. Lines and mixtures are as in ConditionalTree and Rerankers.
  MultilabelTree(WideTree tree, const Shortlist& shortlist, std::span<const double> mass,
                 std::span<const CountedLine> lines, std::span<const float> mixtures,
                 std::span<const PairLine> pairs, std::span<const float> reranker_mixtures);

  const WideTree& tree() const noexcept { return tree_; }
  WideTree& tree() noexcept { return tree_; }
  const CountedTable& table() const noexcept { return table_; }
  CountedTable& table() noexcept { return table_; }
  const Mixtures& mixtures() const noexcept { return mixtures_; }
  Mixtures& mixtures() noexcept { return mixtures_; }
  const Rerankers& rerankers() const noexcept { return rerankers_; }
  Rerankers& rerankers() noexcept { return rerankers_; }
  const Shortlist& shortlist() const noexcept { return shortlist_; }

  // The summed weight of the rows that have a label below a node, by its relevance; of all rows.
  double mass(NodeId node) const noexcept { return mass_[index(node)]; }
  double mass_of_rows() const noexcept { return mass_of_rows_; }
  const std::vector<double>& masses() const noexcept { return mass_; }
  void add_mass(NodeId node, double weight) noexcept { mass_[index(node)] += weight; }
  void add_row(double weight) noexcept { mass_of_rows_ += weight; }

  // Allocates all memory for n labels up to this one to join, with capacity for n_lines lines.
  // Throws std::bad_alloc.
  void make_room(std::size_t n_labels, LabelId label, std::size_t n_lines);
  // See WideTree; make_room must have been called. The new root has learned what it would have if
  // it had been there from the beginning.
  void grow() noexcept;
  NodeId add_child(NodeId parent, LabelId label) noexcept;

  // Limits all tables together to this number of bytes from now on; the rerankers get a quarter.
  static constexpr std::size_t least_bytes = std::size_t{4} << 20;
  void limit_bytes(std::size_t n_bytes) noexcept;
  // Whether a table is full, so that what came later shares its lines.
  bool is_full() const noexcept { return table_.is_sharing() || rerankers_.table().is_sharing(); }
  std::size_t n_bytes() const noexcept { return table_.n_bytes() + rerankers_.table().n_bytes(); }

  // Held shared by queries, alone by learning.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  WideTree tree_;
  Shortlist shortlist_;
  CountedTable table_;
  Mixtures mixtures_;
  Rerankers rerankers_;
  std::vector<double> mass_;
  double mass_of_rows_ = 0;
  std::vector<CountedLine> top_lines_;  // that a new root begins with
  mutable TurnLock mutex_;
};

// The predictions for rows before they were learned, by place in the order; empty spans are not
// filled.
struct MultilabelPrediction {
  std::span<double> p_label;  // by entry of the labels, in their order; one for each label of a row
  std::span<LabelId> top;  // row-major (n, k); the most likely labels, none where there are fewer
  std::span<double> p_top;
  std::size_t k = 0;
};

// Learns rows `order` of X (all in turn if it is empty). labels.row(r) are the labels of row r and
// weights[r] > 0 its weight (1 if weights is empty; rows of weight 0 are skipped). New labels join
// the tree when they first occur. With `order`, p_label follows the labels of rows in that order.
//
// O(labels depth nnz) per row, with refinement a beam search of k nodes and k nnz more. Throws
// Diverged and std::bad_alloc; the model is then as after the last whole row.
void learn(MultilabelTree& model, const CsrView& X, const LabelRows& labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const MultilabelPrediction& prediction, const MultilabelLearning& options,
           LearningWatch* watch = nullptr);

}  // namespace labeltrees
