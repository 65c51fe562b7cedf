// Queries to trees of relevance regressors for top labels, named labels and labels above a
// threshold.
//
// A tree gives a label the product of its regressors' outputs along the path from the root. Several
// trees give it the mean of their products. Every query multiplies the same numbers in the same
// order, so the results agree to the last bit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/extreme/sibling_weights.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

struct RelevanceTree {
  const LabelTree* tree = nullptr;
  SiblingWeights weights;
  std::span<const float> reach;       // as TrainedRelevance
  const HeldMargins* held = nullptr;  // margins that replace the margins of the weights
};

struct RelevanceForest {
  std::vector<RelevanceTree> trees;  // at least one, all over the same labels
  NodeLoss loss;
  std::size_t n_labels;  // labels are below
  double inner_power;    // exponent of the outputs for children that are not labels, in (0, 1]
  // Whether a label that one tree's search met and another's did not is evaluated in the other
  // tree. If not, it has 0 there.
  bool fill_missing = true;
};

// Converts the margins of a node's children to their outputs, width = padded_width(children) of
// them.
void answer_margins(const LabelTree& tree, NodeId node, NodeLoss loss, double inner_power,
                    float* margins);

// One row's results from one tree. A node's children are computed when they are first needed.
class TreeQuery {
 public:
  TreeQuery(const RelevanceTree& tree, const RelevanceForest& forest);

  // held: which held-out row it is, or none.
  void start(const SparseRow& row, std::int32_t held);
  // The outputs for the node's children, in their order; valid until the next call.
  const float* children(NodeId node);
  // Computes the children of several nodes together, which is faster. nodes increase.
  void prepare(std::span<const NodeId> nodes);
  // The product along the path to the label; 0 for a label that is not in the tree.
  double label(LabelId label);
  // The product of the nodes on the path that have been computed, never below the value of `label`.
  double known(LabelId label) const;
  // Appends the nodes on the label's path whose children have not been computed.
  void add_path(LabelId label, std::vector<NodeId>& nodes) const;
  // The margin of a child, its bias, and what each feature of the row adds.
  float margin(NodeId node, std::int32_t child, std::vector<float>* parts);
  const LabelTree& tree() const noexcept { return *tree_.tree; }

 private:
  struct Feature {
    std::uint32_t begin, end;  // its rows
    float value;
    std::uint32_t entry;  // its place in the row that is queried
  };
  // A node whose children are being computed, and their place in the pool.
  struct Pending {
    NodeId node;
    std::uint32_t place;
  };
  // A row of weights with entries for a pending node: its number or its first weight, its last.
  struct Hit {
    std::uint32_t begin, end, place;
    float value;
  };
  static constexpr std::size_t max_depth = 64;
  std::size_t path_to(LabelId label, std::array<NodeId, max_depth>& path) const;
  void add_margins(std::span<const Pending> nodes);
  const float* held_margins(NodeId node) const;

  RelevanceTree tree_;
  NodeLoss loss_;
  double inner_power_;
  std::vector<Feature> features_;
  std::int32_t held_ = none;
  std::uint32_t query_ = 0;
  std::vector<std::uint32_t> computed_in_, place_;  // of each node's children
  std::vector<float> pool_;
  std::vector<Pending> pending_;
  std::vector<Hit> hits_;
  std::size_t used_ = 0;
};

enum class RelevanceSearch : std::uint8_t { exact, beam };

struct ScoredLabel {
  double p;
  LabelId label;
};
// The more likely label first; of equals, the smaller label.
inline bool comes_before(const ScoredLabel& a, const ScoredLabel& b) noexcept {
  return a.p != b.p ? a.p > b.p : a.label < b.label;
}

// One row's results from all trees.
class ForestQuery {
 public:
  explicit ForestQuery(const RelevanceForest& forest);

  void start(const SparseRow& row, std::int32_t held);
  double label(LabelId label);
  // The k most likely labels. exact: best-first in every tree, until no label that has not been met
  // can be among them. beam: a level at a time, the beam_width most likely nodes of each; scores
  // that a tree's beam missed are filled in, if the forest does. Fewer than k if the trees have
  // fewer labels.
  std::span<const ScoredLabel> top(std::size_t k, RelevanceSearch search, std::size_t beam_width);
  // The mean over trees of the probabilities of all labels that a beam of this width meets: about
  // how many labels the trees expect the row to have.
  double mass(std::size_t beam_width);
  // Every label of at least this probability, by label.
  std::span<const ScoredLabel> above(double threshold);
  // Every label's, into n_labels numbers.
  void all(std::span<double> out);
  TreeQuery& tree(std::size_t t) noexcept { return trees_[t]; }

 private:
  struct Open {
    double p;
    NodeId node;
  };
  void top_exact(std::size_t k);
  void top_beam(std::size_t k, std::size_t beam_width);
  // Leaves the n_kept most likely labels that the beam meets in best_.
  void beam_of(TreeQuery& query, std::size_t n_kept, std::size_t beam_width);
  void expand(std::size_t t, const Open& open, double least);
  void offer(std::size_t k, const ScoredLabel& label);
  void fill_in(std::size_t k);
  void add_up(std::size_t k);

  std::vector<TreeQuery> trees_;
  bool fill_missing_;
  std::vector<std::vector<Open>> open_;
  std::vector<double> dropped_;
  std::vector<Open> level_, next_;
  std::vector<NodeId> nodes_;
  std::vector<ScoredLabel> best_, found_;
  std::vector<ScoredLabel> candidates_;
  std::vector<std::uint32_t> met_;
  std::uint32_t query_ = 0;
  double mass_ = 0;             // mass of the current row, by the beams used for it
  std::size_t mass_width_ = 0;  // their width, 0 if there were none
};

// A pool of queries for reuse, because constructing one costs more than evaluating many rows. Safe
// for several threads.
class QueryPool {
 public:
  explicit QueryPool(RelevanceForest forest) : forest_(std::move(forest)) {}
  const RelevanceForest& forest() const noexcept { return forest_; }
  std::unique_ptr<ForestQuery> take();
  void give_back(std::unique_ptr<ForestQuery> query);

 private:
  RelevanceForest forest_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ForestQuery>> idle_;
};

// Calls answer(row, query) for every row of X after query.start(row). The workers share the rows.
// held may be empty.
void query_rows(QueryPool& pool, const CsrView& X, std::span<const std::int32_t> held,
                std::size_t n_workers,
                const std::function<void(std::size_t, ForestQuery&)>& answer);

// The k most likely labels of every row. labels and p have n_rows x k entries, none and 0 where the
// trees have fewer; masses has n_rows entries, or none to save the work. The results do not depend
// on n_workers.
void relevance_top_labels(QueryPool& pool, const CsrView& X, std::size_t k, RelevanceSearch search,
                          std::size_t beam_width, std::span<const std::int32_t> held,
                          std::size_t mass_width, std::size_t n_workers, std::span<LabelId> labels,
                          std::span<double> p, std::span<double> masses);

}  // namespace labeltrees
