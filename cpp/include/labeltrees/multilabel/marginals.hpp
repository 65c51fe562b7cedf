// The marginal probabilities of labels: what the tree says, and for candidates what rerankers add.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "labeltrees/multilabel/siblings.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {

// A row on its way down; every node's places are asked once. Keeps its memory from row to row.
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
  // P(label) by the tree: the product from the root down. The label must have a leaf.
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

// Candidates by a beam: of every level the k likeliest inner nodes, of all leaves met the k
// likeliest, without those that have less than the least share of the likeliest label. No label
// outside has more than most_outside. O(k depth nnz).
class WideSearch {
 public:
  // The walker has started the row, whose P(any label) is p_root.
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

// Refines the marginals of candidates, each by itself: log-odds of q(c) = v . (f_c(x), log-odds of
// the tree's p(c)). f_c learns by the log loss of its own sum with half the tree's
// log-odds, the mixture v by that of q. Rows are read as the tree reads them.
class MarginalRefiner {
 public:
  // Asks the processor for the pairs of all candidates, and of `outside`, labels to be taught that
  // are none of them.
  void expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
              std::span<const Candidate> outside);
  // What the rerankers say of what was expected last. O(k nnz).
  void evaluate(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                std::span<const Candidate> outside);
  double q(std::size_t i) const noexcept { return outputs_[i].q; }

  // Gets all the memory that teaching takes. Throws std::bad_alloc. Call before expect.
  void make_room(Rerankers& rerankers, const PreparedRow& row, std::size_t n_labels);
  // One step of every reranker that was asked; targets in [0, 1]: of the candidates, then of those
  // outside. O(k nnz).
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
