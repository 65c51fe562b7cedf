// Conditional probability trees that propose, and label-wise experts that refine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "labeltrees/online/answers.hpp"
#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/platform/turn_lock.hpp"
#include "labeltrees/refined/candidates.hpp"
#include "labeltrees/refined/experts.hpp"

namespace labeltrees {

// The whole state of learning. The trees are this model's alone: nobody else teaches them.
class RefinedTrees {
 public:
  // Candidates and trees: at least 1.
  RefinedTrees(Trees trees, const Shortlist& shortlist)
      : trees_(std::move(trees)), shortlist_(shortlist) {}
  // Throws TreeError; see Experts.
  RefinedTrees(Trees trees, const Shortlist& shortlist, std::span<const PairLine> lines,
               std::span<const float> mixtures, float scale, std::size_t n_labels)
      : trees_(std::move(trees)),
        shortlist_(shortlist),
        experts_(std::make_unique<Experts>(lines, mixtures, scale, n_labels)) {}

  const Trees& trees() const noexcept { return trees_; }
  const ConditionalTree& first() const noexcept { return *trees_[0]; }
  const LabelTree& tree() const noexcept { return first().tree(); }
  const std::vector<double>& masses() const noexcept { return first().masses(); }
  const Shortlist& shortlist() const noexcept { return shortlist_; }
  std::size_t n_candidates() const noexcept { return shortlist_.most; }
  const Experts& experts() const noexcept { return *experts_; }
  Experts& experts() noexcept { return *experts_; }
  // Puts untaught experts in their place, which read rows alike.
  void forget_experts() {
    auto untaught = std::make_unique<Experts>();
    untaught->set_scale(experts_->scale());
    if (expert_bytes_ != 0) untaught->table().limit_bytes(expert_bytes_);
    experts_ = std::move(untaught);
  }
  // Keeps all tables together within so many bytes, from now on; the experts get a quarter.
  // n_bytes >= least_bytes().
  void limit_bytes(std::size_t n_bytes) noexcept {
    expert_bytes_ = n_bytes / 4;
    experts_->table().limit_bytes(expert_bytes_);
    for (const auto& tree : trees_) {
      tree->table().limit_bytes((n_bytes - expert_bytes_) / trees_.size());
    }
  }
  // Whether a table is full, so that what came later shares its lines.
  bool is_full() const noexcept {
    bool found = experts_->table().is_sharing();
    for (const auto& tree : trees_) found = found || tree->table().is_sharing();
    return found;
  }
  std::size_t least_bytes() const noexcept {
    return std::max<std::size_t>(4, 2 * trees_.size()) << 20;
  }
  std::size_t n_bytes() const noexcept {
    std::size_t sum = experts_->table().n_bytes();
    for (const auto& tree : trees_) sum += tree->table().n_bytes();
    return sum;
  }

  // Held shared by queries, alone by learning, instead of the trees' own.
  TurnLock& mutex() const noexcept { return mutex_; }

 private:
  Trees trees_;
  Shortlist shortlist_;
  std::unique_ptr<Experts> experts_ = std::make_unique<Experts>();
  std::size_t expert_bytes_ = 0;  // that the experts' table is kept within; 0: no limit
  mutable TurnLock mutex_;
};

// As learn of one conditional tree: each row is foreseen, then learned by every tree, then by the
// experts of the candidates that the trees had for it before. Tree t tosses its coins with seed +
// t.
//
// With several threads one tree learns in batches; the candidates of a batch are those of its
// start, and its experts learn row by row while the tree does. Several trees learn with one.
void learn(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Foresight& foresight, const ConditionalLearning& options,
           LearningWatch* watch = nullptr);

// The same for one tree and options.n_threads > 1.
void learn_in_batches(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Foresight& foresight, const ConditionalLearning& options,
                      LearningWatch* watch);

// What the trees proposed for rows before they learned them; by row, not by place in an order.
struct Proposals {
  std::span<LabelId> candidates;  // row-major (n_rows, n_candidates); `none` at the end of a row
  std::span<double> p_trees;      // of each, 0 where there is none
};
// Lets the trees alone learn; the proposals of rows that are not learned have no candidates. An
// empty span is not filled: with `again` nothing is untaught any more.
void learn_trees(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                 std::span<const float> weights, std::span<const std::int64_t> order,
                 const Proposals& proposals, const ConditionalLearning& options,
                 LearningWatch* watch = nullptr);

// How often experts may go over the rows.
struct ExpertPasses {
  std::size_t most = 16;
  bool patient = false;  // go on where the loss has got worse: of few rows it says little
  bool go_on = false;    // do not begin anew for all rows where more passes were better
};
// How experts came to be.
struct ExpertChoice {
  std::size_t n_passes;         // over the rows
  double of_trees, of_experts;  // what the mixtures weigh them with
};
// Teaches untaught experts from proposals for rows that their trees had not learned. How often they
// go over the rows (a power of two, see ExpertPasses), and how much they are trusted, is chosen by
// the log loss of the last fifth of the order, which they do not see meanwhile; then they learn all
// of it, from the beginning; or, to go on, in a quarter as many passes if the most were best. seed:
// of the order of the rows in later passes. O(passes n_rows k nnz).
ExpertChoice fit_experts(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                         std::span<const float> weights, std::span<const std::int64_t> order,
                         const Proposals& proposals, std::uint64_t seed, const Learning& options,
                         const ExpertPasses& passes = {});

}  // namespace labeltrees
