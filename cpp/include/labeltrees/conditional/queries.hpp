// Further queries to a conditional probability tree: beam search, thresholds, samples, reasons. All
// are const and single-threaded. Like search.hpp they multiply the same node probabilities from the
// root down, so a label has the same probability to the last bit in every query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/conditional/walker.hpp"

namespace labeltrees {

// Row-major (n_rows, k): the most likely labels found by a level-by-level search that keeps the
// beam_width most likely inner nodes of each level. Leaves are never pruned. Needs k <= beam_width
// and k <= n_labels; then k labels are always found.
//
// certified[r] is 1 iff the k-th probability found is at least the probability of every path
// pruned. A leaf is less likely than any inner node above it, so a certified row is the exact
// result of top_labels, ties included. O(beam_width depth nnz) a row.
void beam_labels(const ConditionalTree& model, const CsrView& X, std::size_t k,
                 std::size_t beam_width, const Reading& reading, std::span<LabelId> labels,
                 std::span<double> p, std::span<std::uint8_t> certified);

// Sparse rows of labels with their probabilities: row r holds entries starts[r] .. starts[r + 1],
// labels increasing.
struct SparseLabels {
  std::vector<std::int64_t> starts;
  std::vector<LabelId> labels;
  std::vector<double> p;
};

// Every label with p_label * scale >= threshold, with that product. Depth first, cut where a path's
// product falls below the threshold. Products never grow on the way down, so no label is missed. A
// row costs O(nnz) for each inner node that is likely enough, at most 1 / threshold of them a
// level. Returns false, leaving `answer` unfinished, if there are more than max_entries.
bool labels_above(const ConditionalTree& model, const CsrView& X, double threshold, double scale,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer);

// labels[r] = a label drawn with its probability given row r, by inversion of uniforms[r] in [0,
// 1). Each turn uses up the part of the number that decided it. none for an empty tree. O(depth
// nnz) a row.
void sample_labels(const ConditionalTree& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels);

// labels[r] = the leaf that row r reaches if it follows the more likely child at every node, left
// if they are equal. This is not always the most likely label. none for an empty tree. O(depth nnz)
// a row.
void greedy_labels(const ConditionalTree& model, const CsrView& X, const Reading& reading,
                   std::span<LabelId> labels);

// The k rows that give each of some labels its largest probabilities; of rows that give the same,
// the first.
class BestRows {
 public:
  BestRows(std::size_t n_labels, std::size_t k) : k_(k), best_(n_labels) {}

  // Rows come in their order.
  void add(std::size_t label, std::int64_t row, double p);
  // Row-major (n_labels, k), most likely first; every label must have had k rows.
  void finish(std::span<std::int64_t> rows, std::span<double> p);

 private:
  struct RankedRow {
    double p;
    std::int64_t row;
  };
  static bool ranks_first(const RankedRow& a, const RankedRow& b) noexcept;
  std::size_t k_;
  std::vector<std::vector<RankedRow>> best_;  // heaps, the last of the best in front
};

// The probabilities of some labels, which are distinct and have leaves, for one row after the
// other. Nodes that several labels share are evaluated once: O(nodes above the labels, nnz) a row.
class SharedPaths {
 public:
  SharedPaths(const ConditionalTree& model, std::span<const LabelId> labels,
              const Reading& reading);
  // p[i]: of labels[i].
  void evaluate(const SparseRow& row, std::span<double> p);

 private:
  const LabelTree& tree_;
  std::vector<NodeId> nodes_;        // the labels' leaves and all above them, parents first
  std::vector<std::size_t> at_;      // the place of each of them in nodes_
  std::vector<std::size_t> leaves_;  // the place of each label's leaf
  std::vector<ReachedNode> visits_;
  Walker walker_;
};

// Row-major (n_labels, k): the k rows that give labels[i] its largest probabilities, most likely
// first. Of rows with equal probabilities the first is taken. Labels are distinct and have leaves;
// k <= n_rows.
void top_rows(const ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p);

// The path of one label: the output of every inner node from the root down for one row.
struct PathReport {
  std::vector<NodeId> nodes;            // inner nodes, the root first
  std::vector<std::uint8_t> turns;      // 1 where the path goes right
  std::vector<float> margins;           // as block_margins gives them
  std::vector<double> p_nodes;          // P(right of node | at node)
  std::vector<std::uint32_t> features;  // of the row as the regressors see it
  std::vector<float> values;            // scaled; the constant feature, if any, is the last
  std::vector<float> weights;           // row-major (nodes, features)
};

// The report for one row of X; the label must have a leaf. O(depth nnz).
PathReport report_path(const ConditionalTree& model, const SparseRow& row, LabelId label,
                       const Reading& reading);

}  // namespace labeltrees
