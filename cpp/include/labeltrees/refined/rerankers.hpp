// Label-wise rerankers. Each label has a linear regressor and counts, which are evaluated only
// where the label is a candidate.
//
// m(c) = v . (votes, f_c(x), log p_trees(c)) refines candidate c, and
//   q(c) = e^m(c) / Z,  of any other label q(y) = p_trees(y) / Z,
//   Z = sum of e^m over the candidates + the trees' probability of all others,
// so that q sums to 1 for any outputs of the rerankers. f_c learns by the softmax of sqrt(p_trees)
// e^f over the candidates and the rest, the mixture v by q.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/online/prepared_row.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/refined/candidates.hpp"

namespace labeltrees {

// The whole state of the rerankers. The last input of a mixture is log p_trees, not a node's
// balance. Labels with similar numbers of examples share a mixture. The right count of a feature is
// the number of examples of the label itself.
class Rerankers {
 public:
  Rerankers();
  // Restores a saved state; throws TreeError if it does not fit together. Lines have strictly
  // increasing keys that name labels below n_labels. mixtures: n_mixtures x n_mixed.
  Rerankers(std::span<const PairLine> lines, std::span<const float> mixtures, float scale,
            std::size_t n_labels);

  static std::uint64_t key(LabelId label, std::uint32_t feature) noexcept {
    return PairTable::key(static_cast<std::uint32_t>(label) + 1, feature);
  }
  // How rerankers read rows: as the trees do or, where a scale is set, multiplied by the scale,
  // regardless of their length.
  Reading reading(Reading of_trees) const noexcept {
    if (scale_ == 0) return of_trees;
    of_trees.normalize = false;
    of_trees.scale = scale_;
    return of_trees;
  }
  float scale() const noexcept { return scale_; }
  void set_scale(float scale) noexcept { scale_ = scale; }
  // Weighs trees and rerankers alike for all labels.
  void trust(float of_trees, float of_rerankers) noexcept;

  const PairTable& table() const noexcept { return table_; }
  PairTable& table() noexcept { return table_; }
  const Mixtures& mixtures() const noexcept { return mixtures_; }
  const Mixture& mixture(double mass) const noexcept { return mixtures_[mixture_of(mass)]; }
  Mixture& mixture(double mass) noexcept { return mixtures_[mixture_of(mass)]; }

 private:
  PairTable table_;
  Mixtures mixtures_;
  float scale_ = 0;
};

// What an reranker's own softmax makes of the trees' probability and its margin, before scaling.
// The margin is kept within what float64 can hold, also a NaN.
inline double own_output(double p_trees, float margin) noexcept {
  constexpr float limit = 20.0f;
  const float limited = margin > -limit ? std::min(margin, limit) : -limit;
  return std::sqrt(p_trees) * elementary::exp(static_cast<double>(limited));
}
// One step of an reranker's weight for a feature; sum: AdaGrad's.
inline void step_weight(float& weight, float& sum, float gradient,
                        const Learning& options) noexcept {
  constexpr float rate_share = 0.5f;    // rerankers see fewer rows than nodes do
  constexpr float first_steps = 0.01f;  // added to AdaGrad's sums, so that first steps are small
  const float rate = rate_share * options.learning_rate;
  if (options.optimizer == Optimizer::sgd) {
    weight -= rate * gradient;
    return;
  }
  sum += gradient * gradient;
  weight -= rate * gradient / std::sqrt(sum + first_steps);
}
inline void step_pair(PairLine& line, float gradient, const Learning& options) noexcept {
  float sum = decode_sum(line.sum_code);
  step_weight(line.weight, sum, gradient, options);
  line.sum_code = encode_sum(sum);
}
// Smaller slopes cannot matter; small ones that come again and again add up.
inline bool matters(float slope, const Learning& options) noexcept {
  return std::abs(slope) >= (options.again ? 0.001f : 0.02f);
}

// Evaluates the rerankers for one row after the other and updates them. Rows are prepared as
// Rerankers::reading defines. Keeps its memory.
class Refiner {
 public:
  // Prefetches the memory that evaluate reads. No lines must move meanwhile.
  void expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal);
  // The same where this label is updated afterwards. It need not be a candidate.
  void expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
              LabelId truth);
  // Evaluates the rerankers for the row that was expected last. O(k nnz).
  void evaluate(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                const Reading& reading);

  // For the evaluated proposal, q of candidate i, and of a label outside.
  double q(std::size_t i) const noexcept { return outputs_[i].e / z_; }
  double q_outside(double p_trees) const noexcept { return p_trees / z_; }
  double z() const noexcept { return z_; }
  // f for candidate i.
  float margin(std::size_t i) const noexcept { return outputs_[i].margin; }
  // The first of the candidates with the largest q. There must be one.
  std::size_t best() const noexcept;

  // Allocates all the memory that update needs. Throws std::bad_alloc. Call before expect.
  void make_room(Rerankers& rerankers, const PreparedRow& row, std::size_t n_candidates);
  // The same without the capacity in the table.
  void reserve(std::size_t n_candidates, std::size_t n_features);
  // One step of every reranker that was evaluated, and of the truth's. The truth must have been
  // expected if it is outside; it has p 0 if the label is new. O(k nnz).
  void update(Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
              const Candidate& truth, float weight, const Learning& options) noexcept;

  // The effect of one unit of each feature on m of candidate i, and the inputs that are mixed.
  struct Reasons {
    float margin;                // m
    float of_trees;              // the part of log p_trees in it
    std::vector<float> weights;  // by feature
  };
  Reasons reasons(const Rerankers& rerankers, std::size_t i, const Proposal& proposal) const;

 private:
  struct Output {
    float margin;    // f
    Mixture inputs;  // what m is mixed of
    float m;
    double e;  // e^m
  };
  void name_lines(LabelId label, const PreparedRow& row);
  void evaluate_reranker(const PairTable& table, std::size_t i, const PreparedRow& row,
                         const Reading& reading) noexcept;
  void update_reranker(Rerankers& rerankers, std::size_t i, const PreparedRow& row, bool is_truth,
                       float slope, const Learning& options) noexcept;
  std::span<const PairLine*> lines_of(std::size_t i, const PreparedRow& row) noexcept {
    return std::span(lines_).subspan(i * row.size(), row.size());
  }

  std::vector<Output> outputs_;
  std::vector<std::uint64_t> keys_;
  std::vector<PairTable::Home> homes_;
  std::vector<const PairLine*> lines_;  // by candidate and feature; nullptr where there is none
  std::vector<std::size_t> guessed_;    // which features of an reranker seem to have a line
  std::vector<double> own_;             // p_trees e^f
  double z_ = 1;
};

}  // namespace labeltrees
