#include <algorithm>
#include <cmath>

#include "labeltrees/lom_queries.hpp"
#include "labeltrees/lom_tree.hpp"
#include "labeltrees/node_probability.hpp"

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

  // Makes `row` the next one to learn and asks for the memory it will most likely need: the way
  // that the label's last row went.
  void expect(const SparseRow& row, LabelId label) {
    next_.assign(row, options_.reading);
    std::uint32_t block = 0;
    for (NodeId id = model_.last_leaf(label); id != none; id = model_.node(id).parent) {
      model_.prefetch_entry(id, label);
      const std::uint32_t own = model_.node(id).place.block;
      if (own == block || own == 0) continue;
      block = own;
      for (const std::uint32_t feature : next_.features) {
        model_.table().prefetch(WeightTable::key(block, feature));
      }
    }
  }
  void advance() noexcept { std::swap(row_, next_); }

  // Finds the way the row goes before it is learned, and answers from its end.
  void foresee(LabelId label, std::size_t i, const Foresight& foresight) {
    way_.clear();
    const NodeId leaf = leaf_of_row(model_, row_, &way_);
    if (!foresight.is_new.empty()) foresight.is_new[i] = model_.total(label) > 0 ? 0 : 1;
    if (foresight.p_label.empty() && foresight.top.empty()) return;
    distribution_.assign(model_, leaf);
    if (!foresight.p_label.empty()) foresight.p_label[i] = distribution_.probability(label);
    if (foresight.top.empty()) return;
    Found found{none, 0.0};
    distribution_.top({&found, 1});
    foresight.top[i] = found.label;
    foresight.p_top[i] = found.p_label;
  }

  // Learns the row foreseen last. False if a score was not finite.
  bool observe(LabelId label, float weight) {
    model_.add_total(label, weight);
    for (const NodeId id : way_) model_.count_histogram(id, label, weight);
    NodeId at = model_.root();
    block_ = 0;
    for (std::size_t depth = 0;; ++depth) {
      if (depth >= way_.size() || at != way_[depth]) {
        way_.clear();  // the row takes another way now
        model_.count_histogram(at, label, weight);
      }
      if (model_.is_leaf(at)) {
        if (!model_.wants_split(at, label, weight, options_)) break;
        model_.split(at, options_);
      }
      const float target = model_.node(at).mean > model_.mean_score(at, label) ? -1.0f : 1.0f;
      const float score = train(model_.node(at).place, target, weight);
      if (!std::isfinite(score)) return false;
      model_.count_score(at, label, score, weight);
      at = score < 0 ? model_.node(at).left : model_.node(at).right;
    }
    model_.count_at_leaf(at, label, weight);
    model_.remember_leaf(label, at);
    return true;
  }

 private:
  // One step of a node's regressor; returns its score after.
  float train(Place place, float target, float weight) {
    if (place.block != block_) find_lines(place.block);
    float margin = 0;
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      if (lines_[k] != nullptr) margin += row_.values[k] * lines_[k]->weight(place.slot);
    }
    const float slope = weight * partition_slope(margin, target, options_.loss);
    if (slope == 0 || !std::isfinite(margin)) return margin;
    return step(place.slot, slope);
  }

  // Lines stay where they are until the next block's are looked for.
  void find_lines(std::uint32_t block) {
    block_ = block;
    WeightTable& table = model_.table();
    table.make_room(row_.size());
    for (const std::uint32_t feature : row_.features) {
      table.prefetch(WeightTable::key(block, feature));
    }
    lines_.clear();
    for (const std::uint32_t feature : row_.features) {
      lines_.push_back(const_cast<WeightLine*>(table.find(WeightTable::key(block, feature))));
    }
    has_all_ = false;
  }

  float step(std::size_t slot, float slope) {
    if (!has_all_) {
      for (std::size_t k = 0; k < lines_.size(); ++k) {
        if (lines_[k] != nullptr) continue;
        lines_[k] = &model_.table().obtain(WeightTable::key(block_, row_.features[k]));
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
  std::vector<NodeId> way_;         // the nodes the row reaches before it is learned
  std::uint32_t block_ = 0;         // whose lines are in lines_
  std::vector<WeightLine*> lines_;  // nullptr where there is none yet
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
