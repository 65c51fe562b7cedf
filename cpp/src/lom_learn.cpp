#include <algorithm>
#include <cmath>

#include "labeltrees/lom_queries.hpp"
#include "labeltrees/lom_tree.hpp"
#include "labeltrees/node_probability.hpp"
#include "labeltrees/regressor_bank.hpp"

namespace labeltrees {
namespace {

// The loss's derivative by the margin; target is -1 or 1.
float partition_slope(float margin, float target, PartitionLoss loss) noexcept {
  switch (loss) {
    case PartitionLoss::hinge:
      return margin * target < 1 ? -target : 0.0f;
    case PartitionLoss::logistic:
      return -target * sigmoid(-target * margin);
    case PartitionLoss::squared:
      return margin - target;
    case PartitionLoss::absolute:
      return margin < target ? -1.0f : (margin > target ? 1.0f : 0.0f);
  }
  return 0;
}

class Learner {
 public:
  Learner(LomTree& model, const LomLearning& options) : model_(model), options_(options) {}

  // Makes `row` the next one to learn and asks for the entries it will most likely need: those of
  // the way that the label's last row went.
  void expect(const SparseRow& row, LabelId label) {
    next_.assign(row, options_.reading);
    for (NodeId id = model_.last_leaf(label); id != none; id = model_.node(id).parent) {
      model_.prefetch_entry(id, label);
    }
  }
  void advance() noexcept { std::swap(row_, next_); }

  // Answers from the end of the way the row goes before it is learned.
  void foresee(LabelId label, std::size_t i, const Foresight& foresight) {
    if (!foresight.is_new.empty()) foresight.is_new[i] = model_.total(label) > 0 ? 0 : 1;
    if (foresight.p_label.empty() && foresight.top.empty()) return;
    distribution_.assign(model_, leaf_of_row(model_, row_));
    if (!foresight.p_label.empty()) foresight.p_label[i] = distribution_.probability(label);
    if (foresight.top.empty()) return;
    Found found{none, 0.0};
    distribution_.top({&found, 1});
    foresight.top[i] = found.label;
    foresight.p_top[i] = found.p_label;
  }

  // Learns the row. False if a score was not finite.
  bool observe(LabelId label, float weight) {
    model_.add_total(label, weight);
    model_.table().make_room(row_.size());
    NodeId at = model_.root();
    block_ = 0;
    bool together = true;  // the row untaught would have come here, too
    for (;;) {
      LedgerEntry& entry = model_.count_histogram(at, label, weight);
      if (model_.is_leaf(at)) {
        if (!model_.wants_split(at, entry, weight, options_)) {
          model_.count_at_leaf(at, entry, weight);
          break;
        }
        model_.split(at, options_);
        together = false;  // untaught, it ends here
      }
      const LomNode& here = model_.node(at);
      prefetch_below(here, label);
      if (here.place.block != block_) find_lines(here.place.block);
      const float margin = margins_[here.place.slot];
      const float score = train(here.place.slot, here.mean > entry.mean ? -1.0f : 1.0f, weight);
      const bool fails = !std::isfinite(score);
      if (!fails) model_.count_score(at, entry, score, weight);
      if (together && (fails || child(at, margin) != child(at, score))) {
        count_untaught(child(at, margin), label, weight);
        together = false;
      }
      if (fails) return false;
      at = child(at, score);
    }
    model_.remember_leaf(label, at);
    return true;
  }

 private:
  NodeId child(NodeId at, float score) const noexcept {
    return score < 0 ? model_.node(at).left : model_.node(at).right;
  }

  // Asks for what the children know of the label.
  void prefetch_below(const LomNode& here, LabelId label) const noexcept {
    for (const NodeId below : {here.left, here.right}) model_.prefetch_entry(below, label);
  }

  // Counts the row in the histograms of the nodes it would have reached untaught, from the one
  // where that way leaves the way it is taught. Nothing there has been taught yet, and margins_
  // still has what the block they part in said before.
  void count_untaught(NodeId at, LabelId label, float weight) {
    std::uint32_t block = block_;
    Margins margins = margins_;
    for (;;) {
      model_.count_histogram(at, label, weight);
      if (model_.is_leaf(at)) return;
      const Place place = model_.node(at).place;
      prefetch_below(model_.node(at), label);
      if (place.block != block) {
        block = place.block;
        margins = block_margins(model_.table(), block, row_);
      }
      at = child(at, margins[place.slot]);
    }
  }

  // One step of a regressor in the block; returns its score after.
  float train(std::size_t slot, float target, float weight) {
    const float margin = margins_[slot];
    const float slope = weight * partition_slope(margin, target, options_.loss);
    if (slope == 0 || !std::isfinite(margin)) return margin;
    return step(slot, slope);
  }

  // Finds the row's lines in a block, and what the block's regressors say. Lines stay where they
  // are until the next row.
  void find_lines(std::uint32_t block) {
    block_ = block;
    has_all_ = false;
    const WeightTable& table = model_.table();
    lines_.resize(row_.size());
    for (std::size_t k = 0; k < lines_.size(); ++k) table.prefetch_tags(key(k));
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      lines_[k] = const_cast<WeightLine*>(table.guess_place(key(k)));
    }
    margins_ = {};
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      lines_[k] = const_cast<WeightLine*>(table.find(key(k), lines_[k]));
      if (lines_[k] != nullptr) add_line(*lines_[k], row_.values[k], margins_);
    }
  }
  std::uint64_t key(std::size_t k) const noexcept {
    return WeightTable::key(block_, row_.features[k]);
  }

  float step(std::size_t slot, float slope) {
    if (!has_all_) {
      for (std::size_t k = 0; k < lines_.size(); ++k) {
        if (lines_[k] == nullptr) lines_[k] = &model_.table().obtain(key(k));
      }
      has_all_ = true;
    }
    float margin = 0;
    const float rate = options_.learning_rate;
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      const float gradient = slope * row_.values[k];
      float& w = lines_[k]->weight(slot);
      if (options_.optimizer == Optimizer::sgd) {
        w -= rate * gradient;
      } else {
        const float sum = lines_[k]->sum(slot) += gradient * gradient;
        w -= rate * gradient / std::sqrt(sum + adagrad_floor);
      }
      margin += row_.values[k] * w;
    }
    if (!std::isfinite(margin)) forget(slot);
    return margin;
  }

  // Weights past all measure are given up, so that the model can still be asked and saved.
  void forget(std::size_t slot) noexcept {
    for (WeightLine* line : lines_) line->weight(slot) = line->sum(slot) = 0;
  }

  LomTree& model_;
  const LomLearning& options_;
  PreparedRow row_, next_;
  NodeDistribution distribution_;
  std::uint32_t block_ = 0;         // whose lines are in lines_
  std::vector<WeightLine*> lines_;  // nullptr where there is none yet
  Margins margins_{};               // what the block said before it was taught
  bool has_all_ = false;
};

}  // namespace

void learn(LomTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Foresight& foresight, const LomLearning& options) {
  Learner learner(model, options);
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  const auto row_at = [&](std::size_t i) {
    return order.empty() ? i : static_cast<std::size_t>(order[i]);
  };
  if (n != 0) learner.expect(X.row(row_at(0)), labels[row_at(0)]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = row_at(i);
    learner.advance();
    if (i + 1 < n) learner.expect(X.row(row_at(i + 1)), labels[row_at(i + 1)]);
    learner.foresee(labels[r], i, foresight);
    const float weight = weights.empty() ? 1.0f : weights[r];
    if (weight > 0 && !learner.observe(labels[r], weight)) throw Diverged(r);
  }
}

}  // namespace labeltrees
