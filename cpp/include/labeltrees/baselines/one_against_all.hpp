// One-against-all. There is one regressor per label, f_y(x) = P(y | x) against all other labels
// together (section 4.3.1 of the paper). Every operation costs O(n_labels nnz) a row.
#pragma once

#include <span>
#include <vector>

#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/online/regressor_bank.hpp"
#include "labeltrees/platform/turn_lock.hpp"

namespace labeltrees {

class OneAgainstAll {
 public:
  OneAgainstAll() = default;
  // Restores a saved state; throws TreeError if the arrays do not fit together. mass has one entry
  // per label.
  OneAgainstAll(std::span<const double> mass, std::span<const std::uint64_t> keys,
                std::span<const float> weights, std::span<const float> sums);

  // Labels 0 .. n_labels - 1 have a regressor.
  std::size_t n_labels() const noexcept { return mass_.size(); }
  // Gives every label below n_labels a regressor; new ones start from zero weights.
  void grow(std::size_t n_labels);
  Bank bank() const noexcept { return {1, static_cast<std::uint32_t>(n_labels())}; }
  const WeightTable& table() const noexcept { return table_; }
  WeightTable& table() noexcept { return table_; }
  // The summed weight of each label's examples.
  const std::vector<double>& masses() const noexcept { return mass_; }
  void add_mass(LabelId label, double weight) noexcept {
    mass_[static_cast<std::size_t>(label)] += weight;
  }

  // Held shared by queries, alone by learning.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  WeightTable table_;
  std::vector<double> mass_;
  mutable TurnLock mutex_;
};

// Every regressor learns every row: target 1 for the row's own label, 0 for all others. A new label
// gets a regressor that learns from then on. See the learn of the conditional tree for the
// arguments. One thread. Throws Diverged.
void learn(OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const Learning& options, LearningWatch* watch = nullptr);

// The same, but the prediction for the label is its score f_y(x), as label_scores returns it.
void learn_scored(OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
                  std::span<const float> weights, std::span<const std::int64_t> order,
                  const Prediction& prediction, const Learning& options,
                  LearningWatch* watch = nullptr);

// scores[r] = f_y(x) of labels[r] in [0, 1], as in the paper; 0 for a label without regressor.
void label_scores(const OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
                  const Reading& reading, std::span<double> scores);

// The queries of conditional/search.hpp. A probability is the label's score, at least least_share,
// divided by the sum of all labels' scores, so probabilities sum to 1.
void label_probabilities(const OneAgainstAll& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p);
void top_labels(const OneAgainstAll& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p);
void all_probabilities(const OneAgainstAll& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);

}  // namespace labeltrees
