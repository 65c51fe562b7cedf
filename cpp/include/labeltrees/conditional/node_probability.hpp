// Computes node probabilities from a sparse row. Regressors are evaluated only here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/online/prepared_row.hpp"
#include "labeltrees/online/regression.hpp"

namespace labeltrees {

// The lines of a row's features in one block, nullptr where there is none.
using BlockLines = std::vector<const CountedLine*>;
void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                BlockLines& lines);
// The same where the table has guessed already; guesses may be empty.
void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                std::span<const CountedLine* const> guesses, BlockLines& lines);

// A row and the lines that the path of a known label will need. They are prefetched, so that they
// have arrived when they are used: first their tags, and once these have arrived, the lines.
class ExpectedRow {
 public:
  // may_add: lines that are missing will be created.
  explicit ExpectedRow(bool may_add) noexcept : may_add_(may_add) {}
  // leaf: the end of the path, or none if it is unknown. Prefetches tags.
  void assign(const ConditionalTree& model, const SparseRow& row, NodeId leaf,
              const Reading& reading);
  // Prefetches the lines of one more block, or of all remaining ones. Does nothing after the last.
  void fetch_block(const CountedTable& table) noexcept;
  void fetch_rest(const CountedTable& table) noexcept {
    while (guesses_.size() < blocks_.size() * row_.size()) fetch_block(table);
  }

  const PreparedRow& row() const noexcept { return row_; }
  // The nodes of the path, the leaf first. The nodes of an expected path that has changed are not
  // used.
  std::vector<NodeId>& path() noexcept { return path_; }
  // The table's guesses for the i-th block from the root; empty if they were not prefetched or are
  // no longer valid.
  std::span<const CountedLine* const> guesses(const CountedTable& table, std::size_t i,
                                              std::uint32_t block) const noexcept;

 private:
  PreparedRow row_;
  std::vector<NodeId> path_;
  std::vector<std::uint32_t> blocks_;  // from the root down
  BlockLines guesses_;
  std::size_t n_moves_ = 0;
  bool may_add_;
};

// The current row and the two after it. Tags are prefetched two rows ahead, lines one row ahead.
class ExpectedRows {
 public:
  explicit ExpectedRows(bool may_add) noexcept
      : rows_{ExpectedRow(may_add), ExpectedRow(may_add), ExpectedRow(may_add)} {}

  ExpectedRow& now() noexcept { return rows_[at_]; }
  const ExpectedRow& now() const noexcept { return rows_[at_]; }
  ExpectedRow& next() noexcept { return rows_[(at_ + 1) % 3]; }
  ExpectedRow& after_next() noexcept { return rows_[(at_ + 2) % 3]; }
  void advance() noexcept { at_ = (at_ + 1) % 3; }

 private:
  std::array<ExpectedRow, 3> rows_;
  std::size_t at_ = 0;
};

// The output of a node's regressor for a row.
struct NodeOutput {
  float margin;    // w . x
  Mixture inputs;  // what the log-odds are mixed of; not filled without mixing
  float log_odds;  // of right against left, before sharpening
  double p_node;   // after sharpening, and kept away from 0 and 1: what learning and queries use
};

// The node's estimate before sharpening, in [0, 1].
inline float unsharpened(const NodeOutput& output, const Reading& reading) noexcept {
  return reading.mixing ? sigmoid(output.log_odds)
                        : static_cast<float>(estimate(output.log_odds, reading.loss));
}

// The history of a node: the weight of the examples that reached it, and where they went.
struct NodePast {
  double all, left, right;
};
NodePast past_of(const ConditionalTree& model, NodeId node) noexcept;

// Evaluates the regressor at a slot. Features are summed in order, so the result depends only on
// row, weights and counts. O(nnz). lines: the lines of the row in the node's block.
NodeOutput evaluate_node(const ConditionalTree& model, NodeId node,
                         std::span<const CountedLine* const> lines, const PreparedRow& row,
                         const Reading& reading) noexcept;
// The same of a regressor in a slot, with a given past and mixture. values: the row's, of each
// line; features without a line may be left out.
void evaluate_slot(std::size_t slot, std::span<const CountedLine* const> lines,
                   std::span<const float> values, const NodePast& past, const Mixture& mixture,
                   const Reading& reading, NodeOutput& output) noexcept;

// The rest of it, where margin and, with mixing, the votes among the inputs are there already.
void conclude(const NodePast& past, const Mixture& mixture, const Reading& reading,
              NodeOutput& output) noexcept;

// The inputs weighed by the mixture and summed, always in the same order.
float mixed(const Mixture& mixture, const Mixture& inputs) noexcept;

// The evidence of counts: the log-odds log((right + c) / (left + c)), and the class of trust it
// belongs to. Counts of zero have log-odds 0.
struct Vote {
  float log_odds;
  std::uint32_t trust;
};

// Everything about all counts that can occur, so that no loop has to branch.
struct CountTables {
  std::array<Vote, count_values * count_values> vote;
  std::array<std::array<Counts, count_values * count_values>, 2> next;  // by side

  CountTables();
};
extern const CountTables count_tables;

inline Vote vote_of(Counts counts) noexcept { return count_tables.vote[counts]; }

// The counts after one more example on a side. Evidence against it fades by half, and no count
// passes 60, so that what was learned long ago can be unlearned.
inline Counts count_example(Counts counts, bool right) noexcept {
  return count_tables.next[right ? 1 : 0][counts];
}

// One gradient step of the regressor at a slot. slope: derivative of the loss by the margin, times
// the weight.
void step_lines(std::span<CountedLine* const> lines, const PreparedRow& row, std::size_t slot,
                float slope, const Learning& options) noexcept;

}  // namespace labeltrees
