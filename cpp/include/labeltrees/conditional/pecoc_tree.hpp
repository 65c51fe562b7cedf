// Conditional PECOC (section 3.2 of the paper): a fixed label tree in which every inner node
// separates its children with a PECOC code. One node over all labels is PECOC; two children at
// every node are the conditional probability tree.
#pragma once

#include <span>
#include <vector>

#include "labeltrees/conditional/pecoc.hpp"
#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/online/regressor_bank.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

class PecocTree {
 public:
  // A state saved earlier, or a new one if there are no keys; throws TreeError if the arrays do not
  // fit together. mass: one per node; see restore_lines for the rest.
  PecocTree(LabelTree tree, std::span<const double> mass, std::span<const std::uint64_t> keys,
            std::span<const float> weights, std::span<const float> sums);

  const LabelTree& tree() const noexcept { return tree_; }
  const WeightTable& table() const noexcept { return table_; }
  WeightTable& table() noexcept { return table_; }
  // Number of regressors of a node: one less than the size of its code.
  Bank bank(NodeId node) const noexcept { return banks_[static_cast<std::size_t>(node)]; }
  // Number of regressors of all nodes together.
  std::uint64_t n_regressors() const noexcept { return n_regressors_; }
  // The summed weight of the examples that went through or to a node.
  const std::vector<double>& masses() const noexcept { return mass_; }
  void add_mass(NodeId node, double weight) noexcept {
    mass_[static_cast<std::size_t>(node)] += weight;
  }

  // Held shared by queries, alone by learning.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  LabelTree tree_;
  WeightTable table_;
  std::vector<Bank> banks_;
  std::vector<double> mass_;
  std::uint64_t n_regressors_ = 0;
  mutable TurnLock mutex_;
};

// Algorithm 2 at every node of the label's path, one gradient step a row; see the learn of the
// conditional tree for the arguments. Every label must have a leaf. Costs a row the regressors on
// its path times nnz: (k - 1) log_k n for arity k. One thread. Throws Diverged.
void learn(PecocTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const Learning& options, LearningWatch* watch = nullptr);

// The queries of conditional/search.hpp, with the same promises. All multiply the same child
// probabilities.
void label_probabilities(const PecocTree& model, const CsrView& X, std::span<const LabelId> labels,
                         const Reading& reading, std::span<double> p);
void top_labels(const PecocTree& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p);
void all_probabilities(const PecocTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);

}  // namespace labeltrees
