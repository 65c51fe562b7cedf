// Conditional probability trees that propose, and label-wise rerankers that refine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/refined/candidates.hpp"
#include "labeltrees/refined/rerankers.hpp"

namespace labeltrees {

// The whole state of learning. The trees belong to this model; no other model updates them.
class RefinedTrees {
 public:
  // Candidates and trees: at least 1.
  RefinedTrees(Trees trees, const Shortlist& shortlist)
      : trees_(std::move(trees)), shortlist_(shortlist) {}
  // Throws TreeError; see Rerankers.
  RefinedTrees(Trees trees, const Shortlist& shortlist, std::span<const PairLine> lines,
               std::span<const float> mixtures, float scale, std::size_t n_labels)
      : trees_(std::move(trees)),
        shortlist_(shortlist),
        rerankers_(std::make_unique<Rerankers>(lines, mixtures, scale, n_labels)) {}

  const Trees& trees() const noexcept { return trees_; }
  const ConditionalTree& first() const noexcept { return *trees_[0]; }
  const LabelTree& tree() const noexcept { return first().tree(); }
  const std::vector<double>& masses() const noexcept { return first().masses(); }
  const Shortlist& shortlist() const noexcept { return shortlist_; }
  std::size_t n_candidates() const noexcept { return shortlist_.most; }
  const Rerankers& rerankers() const noexcept { return *rerankers_; }
  Rerankers& rerankers() noexcept { return *rerankers_; }
  // Replaces the rerankers by fresh ones that read rows with the same scale.
  void forget_rerankers() {
    auto fresh = std::make_unique<Rerankers>();
    fresh->set_scale(rerankers_->scale());
    if (reranker_bytes_ != 0) fresh->table().limit_bytes(reranker_bytes_);
    rerankers_ = std::move(fresh);
  }
  // Limits all tables together to this number of bytes from now on; the rerankers get a quarter.
  // n_bytes >= least_bytes().
  void limit_bytes(std::size_t n_bytes) noexcept {
    reranker_bytes_ = n_bytes / 4;
    rerankers_->table().limit_bytes(reranker_bytes_);
    for (const auto& tree : trees_) {
      tree->table().limit_bytes((n_bytes - reranker_bytes_) / trees_.size());
    }
  }
  // Whether a table is full, so that what came later shares its lines.
  bool is_full() const noexcept {
    bool found = rerankers_->table().is_sharing();
    for (const auto& tree : trees_) found = found || tree->table().is_sharing();
    return found;
  }
  std::size_t least_bytes() const noexcept {
    return std::max<std::size_t>(4, 2 * trees_.size()) << 20;
  }
  std::size_t n_bytes() const noexcept {
    std::size_t sum = rerankers_->table().n_bytes();
    for (const auto& tree : trees_) sum += tree->table().n_bytes();
    return sum;
  }

  // Held shared by queries, alone by learning, instead of the trees' own.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  Trees trees_;
  Shortlist shortlist_;
  std::unique_ptr<Rerankers> rerankers_ = std::make_unique<Rerankers>();
  std::size_t reranker_bytes_ = 0;  // that the rerankers' table is kept within; 0: no limit
  mutable TurnLock mutex_;
};

// As learn of one conditional tree. Each row is predicted, then learned by every tree, then by the
// rerankers of the candidates that the trees had for it before. Tree t uses the random seed seed +
// t.
//
// With several threads one tree learns in batches. The candidates of a batch are those at its
// start, and its rerankers learn row by row while the tree does. Several trees learn with one
// thread.
void learn(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const ConditionalLearning& options,
           LearningWatch* watch = nullptr);

// The same for one tree and options.n_threads > 1.
void learn_in_batches(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch);

// What the trees proposed for rows before they learned them; by row, not by place in an order.
struct Proposals {
  std::span<LabelId> candidates;  // row-major (n_rows, n_candidates); `none` at the end of a row
  std::span<double> p_trees;      // of each, 0 where there is none
};
// Updates the trees alone. The proposals of rows that are not learned have no candidates. An empty
// span is not filled. With `again` the rows have been learned before, so proposals for them would
// be biased.
void learn_trees(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                 std::span<const float> weights, std::span<const std::int64_t> order,
                 const Proposals& proposals, const ConditionalLearning& options,
                 LearningWatch* watch = nullptr);

// How often rerankers may go over the rows.
struct RerankerPasses {
  std::size_t most = 16;
  bool patient = false;  // continue after the loss has grown: with few rows that shows little
  bool resume = false;   // do not begin anew for all rows where more passes were better
};
// How rerankers came to be.
struct RerankerChoice {
  std::size_t n_passes;           // over the rows
  double of_trees, of_rerankers;  // what the mixtures weigh them with
};
// Trains fresh rerankers from proposals for rows that their trees had not learned. The number of
// passes over the rows (a power of two, see RerankerPasses) and the trust in the rerankers are
// chosen by the log loss of the last fifth of the order, which is held out meanwhile. Then they
// learn all rows, from the beginning. With `resume` they continue instead, in a quarter as many
// passes if the largest number was best. seed sets the order of the rows in later passes. O(passes
// n_rows k nnz).
RerankerChoice fit_rerankers(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                             std::span<const float> weights, std::span<const std::int64_t> order,
                             const Proposals& proposals, std::uint64_t seed,
                             const Learning& options, const RerankerPasses& passes = {});

}  // namespace labeltrees
