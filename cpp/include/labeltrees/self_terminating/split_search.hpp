// The best split of a node of a self-terminating tree. Its two branches decrease the penalised risk
// most.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/self_terminating/binned_columns.hpp"
#include "labeltrees/self_terminating/branch.hpp"
#include "labeltrees/self_terminating/cells.hpp"
#include "labeltrees/self_terminating/targets.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// The cost of moving away from the parent: factor * weight^power. An edge's penalty under the l1
// norm takes the weight of its branch, a node's under linf the weight of the node.
struct Penalty {
  double factor;
  double power;  // in [0, 1); 0 is the paper's constant
  double of(double weight) const noexcept;
};

// The children that a penalty takes together: l1 every edge separately, linf all edges of a node.
enum class Norm { l1, linf };

// Bins up to `cut` go left, the others right; missing values go where missing_left shows.
struct Split {
  double gain = 0.0;
  std::int32_t column = none;
  std::int32_t cut = 0;
  bool missing_left = false;

  // The order in which splits are preferred. Gains are compared as floats, so that rounding in
  // their last bits decides no comparison. Ties go to the first column, then the lowest cut.
  bool better_than(const Split& other) const noexcept;
};

// A column's entries in a node are begin .. end of BinnedColumns::rows and bins; for a dense
// column, the entries of all rows.
struct Segment {
  std::int32_t column;
  std::size_t begin, end;
};

// A node's rows, and its labels by their place among those it has; `targets` speaks of places, too.
// By gini one label more, the last, stands for all that it has not.
struct NodeStatistics {
  std::span<const std::int32_t> rows;
  std::vector<LabelId> places;  // of the rows' labels, if each has one
  std::vector<double> count;    // the labels' masses
  std::vector<double> prior;    // the node's distribution p, the prior of its children
  std::vector<double> link;     // log prior by entropy, prior by gini
  std::vector<double> phi_of;   // phi(count)
  double weight = 0.0;
  double phi = 0.0;          // sum_i phi(count_i)
  double link_sum = 0.0;     // sum_i count_i link_i
  double half_square = 0.0;  // sum_i prior_i^2 / 2
  double excess = 0.0;       // sum_i count_i (1 - prior_i)
  double distance = 0.0;     // of the node as a branch from its own distribution
};

// The contribution of a label's mass to a branch's gain: x log x with entropy, x^2 / 2 with gini.
// Read from a table when masses are whole numbers.
class Phi {
 public:
  // n_counts: one more than the largest whole count; 0 if counts need not be whole.
  Phi(Criterion criterion, std::size_t n_counts);
  double operator()(double count) const noexcept;

 private:
  Criterion criterion_;
  std::vector<double> table_;
};

// Searches one column at a time; each worker has its own. O(entries) for the bound, which is the
// gain without penalty and needs only the labels that change from bin to bin; the penalised gain,
// O(labels of the node), is computed only where the bound beats the best gain found so far.
class SplitSearch {
 public:
  SplitSearch(const BinnedColumns& data, const Targets& targets, const Phi& phi,
              std::size_t n_labels, Criterion criterion, Norm norm);

  // Writes the best split of a node at each of up to columns_at_once columns, or one without gain,
  // to `found`, and whether the column is the same in all the node's rows to `constant`. `best` is
  // the largest gain that any worker has found at the node so far. Its value meanwhile does not
  // change the winner of all columns. Some cuts are only noted, so `found` must stay in place until
  // settle().
  void run(const NodeStatistics& node, std::span<const Segment> segments, const Penalty& penalty,
           std::span<Split> found, std::span<std::uint8_t> constant, std::atomic<float>& best);

  // Evaluates the noted cuts of all columns exactly, the most promising first.
  void settle(const NodeStatistics& node, const Penalty& penalty, std::atomic<float>& best);

 private:
  // near_phi is phi of the near side; far_phi is phi of the far side, less the node's.
  struct Sums {
    double weight = 0, phi = 0, far_phi = 0, link = 0, excess = 0;
  };
  // A split for which the masses of the near side are known. If noted, they are begin .. end of
  // noted_.
  struct Candidate {
    Split split;
    double near_weight = 0, near_free = 0, far_free = 0, near_excess = 0, bound = 0;
    Split* found = nullptr;
    std::size_t begin = 0, end = 0;
  };

  void move(const NodeStatistics& node, LabelId label, double mass, Sums& sums);
  void clear();
  bool weigh(const NodeStatistics& node, const Sums& near, const Penalty& penalty, float to_beat,
             Candidate& candidate) const;
  void offer(const NodeStatistics& node, const Candidate& candidate, const Penalty& penalty,
             Split& found, std::atomic<float>& best);
  double free_gain(const NodeStatistics& node, double weight, double phi, double link) const;
  double bound(const Candidate& candidate, const NodeStatistics& node, const Penalty& penalty,
               double near_end, double far_end) const;
  Branch gather(const NodeStatistics& node, double near_weight, bool near);
  double penalised_gain(const NodeStatistics& node, const Candidate& candidate,
                        const Penalty& penalty, float to_beat);

  // Sparse columns: entries sorted by bin.
  void search_entries(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
                      Split& found, std::atomic<float>& best);
  template <TargetKind kind>
  void sweep_entries(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
                     Split& found, std::atomic<float>& best);
  template <TargetKind kind>
  void add_bin(const NodeStatistics& node, std::size_t begin, std::size_t end, Sums& sums);

  // Dense columns have masses by bin and label, the missing values' after the last bin.
  bool sweep_cells(const NodeStatistics& node, std::size_t column, const Cells& cells,
                   const Penalty& penalty, Split& found, std::atomic<float>& best);
  void note_cuts(const NodeStatistics& node, std::size_t column, const Cells& cells,
                 bool missing_left, const Penalty& penalty, Split& found, float to_beat);
  void note(Candidate& candidate);
  void offer_record(const NodeStatistics& node, std::size_t first, const Penalty& penalty,
                    std::atomic<float>& best);
  void offer_noted(const NodeStatistics& node, const Candidate& candidate, const Penalty& penalty,
                   std::atomic<float>& best);

  const BinnedColumns& data_;
  const Targets targets_;
  const Phi& phi_;
  const std::size_t n_labels_;
  const Criterion criterion_;
  const Norm norm_;

  // The near side consists of the rows added so far. The far side is the rest of the node.
  struct Near {
    double count = 0, phi = 0, far_phi = 0;  // and what the label adds to Sums
  };
  std::vector<Near> near_;  // by label
  std::vector<double> added_;
  std::vector<LabelId> near_labels_, added_labels_;  // has capacity for one more than all labels
  std::size_t n_near_ = 0;

  std::array<Cells, columns_at_once> cells_;

  struct Mass {
    LabelId label;
    double mass;
  };
  std::vector<Candidate> candidates_;  // noted
  std::vector<Mass> noted_;            // their near sides
  double highest_bound_ = 0.0;         // of those noted

  std::vector<double> counts_[2], priors_[2];
  BranchSolver solver_;
};

}  // namespace labeltrees
