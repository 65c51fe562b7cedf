// The best split of a node of a self-terminating tree: the one whose two branches decrease the
// penalised risk most.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/binned_columns.hpp"
#include "labeltrees/branch.hpp"
#include "labeltrees/tree.hpp"

namespace labeltrees {

// Row r has mass masses[i] of label labels[i] for i in starts[r] .. starts[r + 1]; masses > 0. If
// starts is empty, row r has the one label labels[r], and mass 1 if masses is empty, too.
struct Targets {
  std::span<const std::int64_t> starts;
  std::span<const LabelId> labels;
  std::span<const double> masses;
};

// What it costs to move away from the parent: factor * weight^power. An edge's own penalty under
// the l1 norm takes the weight of its branch, a node's under linf that of the node.
struct Penalty {
  double factor;
  double power;  // in [0, 1); 0 is the paper's constant
  double of(double weight) const noexcept;
};

// Which children a penalty takes together: l1 every edge by itself, linf all edges of a node.
enum class Norm { l1, linf };

// Bins up to `cut` go left, the others right; missing values where missing_left says.
struct Split {
  double gain = 0.0;
  std::int32_t column = none;
  std::int32_t cut = 0;
  bool missing_left = false;

  // The order in which splits are preferred. Gains are compared as floats, so that rounding in
  // their last bits decides nothing: ties go to the first column, then the lowest cut.
  bool better_than(const Split& other) const noexcept;
};

// A column's entries in a node: begin .. end of BinnedColumns::rows and bins.
struct Segment {
  std::int32_t column;
  std::size_t begin, end;
};

// A node's data, by label; arrays of all labels of which only those of `labels` are meant.
struct NodeStatistics {
  std::vector<LabelId> labels;  // with mass in the node
  std::vector<double> count;    // their masses
  std::vector<double> prior;    // the node's distribution p, the prior of its children
  std::vector<double> log_prior;
  double weight = 0.0;
  double entropy = 0.0;        // sum_i count_i log count_i
  double log_prior_sum = 0.0;  // sum_i count_i log prior_i
  double excess = 0.0;         // sum_i count_i (1 - prior_i)
  double distance = 0.0;       // of the node as a branch from its own distribution
  std::size_t n_rows = 0;
};

// x log x; from a table when counts are whole numbers.
class Entropy {
 public:
  // n_counts: one more than the largest whole count; 0 for counts of any kind.
  explicit Entropy(std::size_t n_counts);
  double operator()(double count) const noexcept;

 private:
  std::vector<double> table_;
};

// Searches one column at a time; each worker has its own. O(entries) for the bound, which is the
// information gain and needs only the labels that change from bin to bin; the penalised gain,
// O(labels of the node), is computed only where the bound beats the best gain found so far.
class SplitSearch {
 public:
  SplitSearch(const BinnedColumns& data, const Targets& targets, const Entropy& entropy,
              std::size_t n_labels, Norm norm);

  // The best split of a node at this column, or one without gain. `best` is the largest gain found
  // at the node so far by anyone; whatever its value meanwhile, the winner of all columns is the
  // same.
  Split run(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
            std::atomic<float>& best);

 private:
  void move(const NodeStatistics& node, LabelId label, double mass);
  template <int kind>
  Split sweep(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
              std::atomic<float>& best);
  template <int kind>
  void add_bin(const NodeStatistics& node, std::size_t begin, std::size_t end);
  void offer(const NodeStatistics& node, const Split& candidate, const Penalty& penalty,
             Split& found, std::atomic<float>& best);
  Branch gather(const NodeStatistics& node, bool near);
  double penalised_gain(const NodeStatistics& node, const Penalty& penalty, float to_beat);
  void clear();

  const BinnedColumns& data_;
  const Targets targets_;
  const Entropy& entropy_;
  const std::size_t n_labels_;
  const Norm norm_;

  // The near side: the rows added so far. The far side is the rest of the node.
  std::vector<double> near_count_, added_;
  std::vector<LabelId> near_labels_, added_labels_;  // with room for one more than all labels
  std::size_t n_near_ = 0;
  double near_weight_ = 0, near_entropy_ = 0, far_entropy_ = 0, near_log_prior_ = 0,
         near_excess_ = 0;
  std::size_t near_rows_ = 0;

  std::vector<double> counts_[2], priors_[2];
  BranchSolver solver_;
};

}  // namespace labeltrees
