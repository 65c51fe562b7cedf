// The marginal probabilities of labels: the tree's probability, refined by rerankers for
// candidates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "labeltrees/multilabel/siblings.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {

// A row on its way down the tree. Every node's places are evaluated once. Keeps its memory from row
// to row.
class WideWalker {
 public:
  WideWalker(const MultilabelTree& model, const Reading& reading)
      : model_(model), reading_(reading) {}

  // Reads a row and returns P(it has any label).
  double start(const SparseRow& row);
  const PreparedRow& row() const noexcept { return row_; }
  // eta of every child of an inner node, by place.
  std::span<const double> evaluate(NodeId node);
  // The same for several nodes, so that they wait for memory together; of nodes[i] they begin at i
  // times seven.
  std::span<const double> evaluate(std::span<const NodeId> nodes);
  // P(label) by the tree, the product from the root down. The label must have a leaf.
  double evaluate_label(LabelId label);

 private:
  void evaluate_block(std::uint32_t block, std::size_t at, std::size_t n, const SiblingPasts& pasts,
                      std::span<double> eta);
  void find_lines(std::span<const std::uint32_t> blocks);

  const MultilabelTree& model_;
  const Reading& reading_;
  PreparedRow row_;
  double p_root_ = 1;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::uint64_t> keys_;
  std::vector<CountedTable::Home> homes_;
  std::vector<const CountedLine*> lines_;
  std::vector<const CountedLine*> found_;
  std::vector<float> values_;
  std::vector<double> eta_;
  std::vector<NodeId> path_, nodes_above_;
  SiblingOutputs output_;
};

// Finds candidates by a beam. It keeps the k most likely inner nodes of every level, and the k most
// likely of all leaves met, without leaves that have less than the least share of the most likely
// label. No label outside has more than most_outside. O(k depth nnz).
class WideSearch {
 public:
  // The walker must have started the row, whose P(any label) is p_root.
  void run(const MultilabelTree& model, WideWalker& walker, double p_root,
           const Shortlist& shortlist, Proposal& proposal);

 private:
  struct Reached {
    double p_path;
    NodeId node;
  };
  static bool comes_first(const Reached& a, const Reached& b) noexcept {
    return a.p_path != b.p_path ? a.p_path > b.p_path : a.node < b.node;
  }
  static void keep_first(std::vector<Reached>& nodes, std::size_t n, double& most_outside);
  void drop_unlikely(const Shortlist& shortlist, double& most_outside);

  std::vector<Reached> level_, next_, leaves_;
  std::vector<NodeId> nodes_;
};

// Refines the marginals of candidates one by one. The log-odds of q(c) are v . (f_c(x), log-odds of
// the tree's p(c)). f_c learns by the log loss of its sum with half the tree's log-odds, the
// mixture v by the log loss of q. Rows are read as the tree reads them.
class MarginalRefiner {
 public:
  // Prefetches the pairs of all candidates, and of `outside`, labels that will be learned and are
  // not candidates.
  void expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
              std::span<const Candidate> outside);
  // Evaluates the rerankers for the row that was expected last. O(k nnz).
  void evaluate(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                std::span<const Candidate> outside);
  double q(std::size_t i) const noexcept { return outputs_[i].q; }

  // Allocates all the memory that update needs. Throws std::bad_alloc. Call before expect.
  void make_room(Rerankers& rerankers, const PreparedRow& row, std::size_t n_labels);
  // One step of every reranker that was evaluated. targets are in [0, 1], first for the candidates,
  // then for the labels outside. O(k nnz).
  void update(Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
              std::span<const float> targets, float weight, const Learning& options) noexcept;

  // The parts of candidate i's log-odds: the tree's, and what one unit of each feature adds.
  struct Reasons {
    float log_odds, of_tree;
    std::vector<float> weights;
  };
  Reasons reasons(const Rerankers& rerankers, std::size_t i, const PreparedRow& row,
                  const Proposal& proposal) const;

 private:
  struct Output {
    float margin;   // f_c(x)
    float of_tree;  // the log-odds of the tree's p(c)
    float log_odds;
    double q;
  };
  std::vector<Output> outputs_;
  std::vector<std::uint64_t> keys_;
  std::vector<PairTable::Home> homes_;
  std::vector<const PairLine*> lines_;
};

}  // namespace labeltrees
