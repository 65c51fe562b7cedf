#include <algorithm>
#include <cmath>
#include <queue>

#include "labeltrees/lom/node_distribution.hpp"
#include "labeltrees/lom/tree.hpp"
#include "labeltrees/online/prepared_row.hpp"
#include "labeltrees/online/regressor_bank.hpp"
#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/index.hpp"

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

// A row's lines in one block, nullptr where there is none yet, and the outputs of the block's
// regressors before the update.
struct BlockView {
  std::uint32_t block = 0;
  bool has_all = false;
  Margins margins{};
  std::vector<WeightLine*> lines;
};

class LomLearner {
 public:
  LomLearner(LomTree& model, const LomLearning& options) : model_(model), options_(options) {}

  // Makes `row` the next one to learn and prefetches the entries it will most likely need, on the
  // path of the label's last row.
  void expect(const SparseRow& row, LabelId label) {
    next_.assign(row, options_.reading);
    for (NodeId id = model_.last_leaf(label); id != none; id = model_.node(id).parent) {
      model_.prefetch_entry(id, label);
    }
  }

  // Moves on to the expected row, and finds its greedy path.
  void advance(LabelId label) {
    std::swap(row_, next_);
    // Lines now stay where they are until the next row. Usually the lines of few blocks are new.
    model_.table().make_room(row_.size(), row_.size() * model_.max_path());
    way_.clear();
    n_views_ = 0;
    const BlockView* view = nullptr;
    NodeId at = model_.root();
    for (; !model_.is_leaf(at); at = child(at, view->margins)) {
      way_.push_back(at);
      prefetch_below(at, label);
      const std::uint32_t block = model_.node(at).place.block;
      if (view == nullptr || view->block != block) view = &next_view(block);
    }
    way_.push_back(at);
  }

  // Predicts from the end of that path.
  void predict(LabelId label, std::size_t i, const Prediction& prediction) {
    if (!prediction.is_new.empty()) prediction.is_new[i] = model_.total(label) > 0 ? 0 : 1;
    if (prediction.p_label.empty() && prediction.top.empty()) return;
    distribution_.assign(model_, way_);
    if (!prediction.p_label.empty()) prediction.p_label[i] = distribution_.probability(label);
    if (prediction.top.empty()) return;
    Found found{none, 0.0};
    distribution_.top({&found, 1});
    prediction.top[i] = found.label;
    prediction.p_top[i] = found.p_label;
  }

  // Learns the row. False if a weight would grow past all measure, in which case nothing has
  // changed.
  bool observe(LabelId label, float weight) {
    if (may_diverge_ && !may_learn(label, weight)) return false;
    make_room(label);  // from here on nothing throws
    if (!options_.again) measure_trust(label, weight);
    model_.add_total(label, weight);
    if (options_.again) model_.add_again(weight);
    NodeId at = model_.root();
    std::size_t n_together = 1;  // of the way's nodes, until the row parts from it
    bool together = true;
    BlockView* view = nullptr;
    std::size_t v = 0;
    for (;;) {
      LedgerEntry& entry = model_.count_histogram(at, label, weight);
      if (model_.is_leaf(at)) {
        if (!model_.wants_split(at, entry, weight, options_)) {
          model_.count_at_leaf(at, entry, weight);
          break;
        }
        model_.split(at, options_);
        together = false;  // the greedy path ends here
      }
      const LomNode& here = model_.node(at);
      if (!together) prefetch_below(at, label);
      if (view == nullptr || view->block != here.place.block) {
        view = together ? &views_[v++] : &see(off_way_, here.place.block);
      }
      const NodeId greedy = child(at, view->margins);
      const float target = here.mean > entry.mean ? -1.0f : 1.0f;
      const float score = train(*view, here.place.slot, target, weight);
      model_.count_score(at, entry, score, weight);
      at = score < 0 ? here.left : here.right;
      if (together && at != greedy) {
        count_rest(n_together, label, weight);
        together = false;
      }
      ++n_together;
    }
    model_.remember_leaf(label, at);
    return true;
  }

  // Teaches one inner node's regressor a row, and nothing else. False as observe.
  bool update_node(NodeId at, const SparseRow& row, LabelId label, float weight) {
    row_.assign(row, options_.reading);
    model_.table().make_room(row_.size());
    model_.make_room(label, 0);
    LedgerEntry& entry = model_.entry(at, label);
    const LomNode& here = model_.node(at);
    BlockView& view = see(off_way_, here.place.block);
    const float target = here.mean > entry.mean ? -1.0f : 1.0f;
    const float slope =
        weight * partition_slope(view.margins[here.place.slot], target, options_.loss);
    if (may_diverge_ &&
        !may_step(slope, row_.largest(), options_.optimizer, options_.learning_rate)) {
      return false;
    }
    model_.count_score(at, entry, train(view, here.place.slot, target, weight), weight);
    return true;
  }

  bool goes_left(NodeId at, const SparseRow& row) {
    row_.assign(row, options_.reading);
    const Place place = model_.node(at).place;
    return see(off_way_, place.block).margins[place.slot] < 0;
  }

  // Counts a row in the histograms on its way, and at the leaf.
  void count_row(const SparseRow& row, LabelId label, float weight) {
    expect(row, label);
    advance(label);
    make_room(label);
    measure_trust(label, weight);
    model_.add_total(label, weight);
    for (std::size_t i = 0; i < way_.size(); ++i) {
      LedgerEntry& entry = model_.count_histogram(way_[i], label, weight);
      if (i + 1 == way_.size()) model_.count_at_leaf(way_[i], entry, weight);
    }
    model_.remember_leaf(label, way_.back());
  }

 private:
  void make_room(LabelId label) {
    model_.make_room(label, way_.size());
    draws_.reserve(way_.size());
    off_way_.lines.reserve(row_.size());
  }

  NodeId child(NodeId at, const Margins& margins) const noexcept {
    const LomNode& here = model_.node(at);
    return margins[here.place.slot] < 0 ? here.left : here.right;
  }

  // Prefetches the children's entries for the label.
  void prefetch_below(NodeId at, LabelId label) const noexcept {
    const LomNode& here = model_.node(at);
    for (const NodeId below : {here.left, here.right}) model_.prefetch_entry(below, label);
  }

  // Counts the row in the histograms of the nodes of its greedy path, from the i-th on.
  void count_rest(std::size_t i, LabelId label, float weight) {
    if (options_.training_path_only) return;
    for (; i < way_.size(); ++i) model_.count_histogram(way_[i], label, weight);
  }

  // Updates the trust in histograms from the row's path and label; see BackOff. A new label has no
  // effect.
  void measure_trust(LabelId label, double weight) {
    if (!(model_.total(label) > 0)) return;
    double p = model_.total(label) / model_.total_weight();
    draws_.clear();
    for (const NodeId id : way_) {
      const LomNode& here = model_.node(id);
      if (here.n_labels == 0) continue;
      const std::size_t c = model_.trust_class(here);
      const double trust = model_.trust().trust(c);
      const double drawn = trust * model_.count(here, label) / here.weight;
      p = drawn + (1 - trust) * p;
      draws_.push_back({c, p > 0 ? drawn / p : 0});
    }
    double left = weight;
    for (std::size_t i = draws_.size(); i-- > 0;) {
      const double drawn = left * draws_[i].share;
      model_.trust().add(draws_[i].trust_class, left, drawn);
      left -= drawn;
    }
  }

  // One step of a regressor in the block; returns its score after.
  float train(BlockView& view, std::size_t slot, float target, float weight) {
    const float margin = view.margins[slot];
    const float slope = weight * partition_slope(margin, target, options_.loss);
    return slope == 0 ? margin : step(view, slot, slope);
  }

  // Follows the row's training path, and changes nothing.
  bool may_learn(LabelId label, float weight) {
    const float largest = row_.largest();
    const auto may = [&](float slope) {
      return may_step(slope, largest, options_.optimizer, options_.learning_rate);
    };
    const BlockView* view = nullptr;
    for (NodeId at = model_.root(); !model_.is_leaf(at);) {
      const LomNode& here = model_.node(at);
      if (view == nullptr || view->block != here.place.block) {
        view = &see(off_way_, here.place.block);
      }
      const float target = here.mean > model_.mean_score(here, label) ? -1.0f : 1.0f;
      float score = view->margins[here.place.slot];
      const float slope = weight * partition_slope(score, target, options_.loss);
      if (!may(slope)) return false;
      if (slope != 0) score = score_after(*view, here.place.slot, slope);
      if (!std::isfinite(score)) return false;
      at = score < 0 ? here.left : here.right;
    }
    return may(weight);  // of a node without weights yet
  }

  float score_after(const BlockView& view, std::size_t slot, float slope) const noexcept {
    static const WeightLine unused{};
    float margin = 0;
    for (std::size_t k = 0; k < row_.size(); ++k) {
      const WeightLine& line = view.lines[k] == nullptr ? unused : *view.lines[k];
      margin += row_.values[k] * stepped(line, slot, slope * row_.values[k]).weight;
    }
    return margin;
  }

  const BlockView& next_view(std::uint32_t block) {
    if (n_views_ == views_.size()) views_.emplace_back();
    return see(views_[n_views_++], block);
  }

  // Finds the row's lines in a block, and the outputs of the block's regressors.
  BlockView& see(BlockView& view, std::uint32_t block) {
    view.block = block;
    view.has_all = false;
    view.margins = {};
    view.lines.resize(row_.size());
    const WeightTable& table = model_.table();
    const auto key = [&](std::size_t k) { return WeightTable::key(block, row_.features[k]); };
    for (std::size_t k = 0; k < row_.size(); ++k) table.prefetch_tags(key(k));
    for (std::size_t k = 0; k < row_.size(); ++k) {
      view.lines[k] = const_cast<WeightLine*>(table.guess_place(key(k)));
    }
    for (std::size_t k = 0; k < row_.size(); ++k) {
      WeightLine*& line = view.lines[k];
      line = const_cast<WeightLine*>(table.find(key(k), line));
      if (line != nullptr) add_line(*line, row_.values[k], view.margins);
    }
    return view;
  }

  void obtain_lines(BlockView& view) {
    for (std::size_t k = 0; k < row_.size(); ++k) {
      if (view.lines[k] != nullptr) continue;
      view.lines[k] = &model_.table().obtain(WeightTable::key(view.block, row_.features[k]));
    }
    view.has_all = true;
  }

  float step(BlockView& view, std::size_t slot, float slope) {
    if (!view.has_all) obtain_lines(view);
    float margin = 0;
    for (std::size_t k = 0; k < row_.size(); ++k) {
      WeightLine& line = *view.lines[k];
      const Stepped next = stepped(line, slot, slope * row_.values[k]);
      line.weight(slot) = next.weight;
      line.sum(slot) = next.sum;
      margin += row_.values[k] * next.weight;
    }
    return margin;
  }

  struct Stepped {
    float weight, sum;
  };
  Stepped stepped(const WeightLine& line, std::size_t slot, float gradient) const noexcept {
    const float rate = options_.learning_rate, w = line.weight(slot), sum = line.sum(slot);
    if (options_.optimizer == Optimizer::sgd) return {w - rate * gradient, sum};
    const float more = sum + gradient * gradient;
    return {w - rate * gradient / std::sqrt(more + adagrad_floor), more};
  }

  LomTree& model_;
  const LomLearning& options_;
  const bool may_diverge_ = options_.loss == PartitionLoss::squared || !options_.reading.normalize;
  PreparedRow row_, next_;
  NodeDistribution distribution_;
  struct Draw {
    std::size_t trust_class;
    double share;  // how likely the label was drawn here if not below
  };
  std::vector<Draw> draws_;
  std::vector<NodeId> way_;       // the row's greedy path, from the root to a leaf,
  std::vector<BlockView> views_;  // and the blocks on it, the first n_views_
  std::size_t n_views_ = 0;
  BlockView off_way_;  // the block that the row is in after it has parted from that way
};

}  // namespace

void learn(LomTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const LomLearning& options, LearningWatch* watch) {
  LomLearner learner(model, options);
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  const auto row_at = [&](std::size_t i) {
    return order.empty() ? i : static_cast<std::size_t>(order[i]);
  };
  if (n != 0) learner.expect(X.row(row_at(0)), labels[row_at(0)]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = row_at(i);
    learner.advance(labels[r]);
    if (i + 1 < n) learner.expect(X.row(row_at(i + 1)), labels[row_at(i + 1)]);
    learner.predict(labels[r], i, prediction);
    const float weight = weights.empty() ? 1.0f : weights[r];
    if (weight > 0 && !learner.observe(labels[r], weight)) throw Diverged(r);
    if (watch != nullptr) watch->learned(i + 1);
  }
}

namespace {

struct HeavyLeaf {
  double weight;
  NodeId node;
  std::vector<std::size_t> rows;

  // The heaviest comes first, of equally heavy ones the oldest.
  bool operator<(const HeavyLeaf& other) const noexcept {
    return weight != other.weight ? weight < other.weight : node > other.node;
  }
};

}  // namespace

void fit_heaviest(LomTree& model, const CsrView& X, std::span<const LabelId> labels,
                  std::span<const float> weights, std::span<const std::int64_t> order,
                  std::size_t n_passes, const LomLearning& options) {
  const auto weight_of = [&](std::size_t r) { return weights.empty() ? 1.0f : weights[r]; };
  const auto sum_up = [&](HeavyLeaf& leaf) {
    for (const std::size_t r : leaf.rows) leaf.weight += double{weight_of(r)};
  };
  HeavyLeaf all{0, model.root(), {}};
  for (std::size_t i = 0; i < X.n_rows(); ++i) {
    const std::size_t r = order.empty() ? i : static_cast<std::size_t>(order[i]);
    if (weight_of(r) > 0) all.rows.push_back(r);
  }
  sum_up(all);
  std::vector<LabelId> seen(labels.begin(), labels.end());
  std::erase_if(seen, [](LabelId label) { return label < 0; });  // of rows without weight
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  LomLearning limited = options;
  limited.max_splits =
      std::max(options.max_splits, options.splits_per_label * static_cast<double>(seen.size()));
  limited.splits_per_label = 0;
  LomLearner learner(model, limited);
  const std::vector<std::size_t> rows = all.rows;
  std::priority_queue<HeavyLeaf> leaves;
  leaves.push(std::move(all));
  while (!leaves.empty() && static_cast<double>(model.n_splits()) < limited.max_splits) {
    const HeavyLeaf leaf = leaves.top();
    leaves.pop();
    const bool is_pure = std::all_of(leaf.rows.begin(), leaf.rows.end(), [&](std::size_t r) {
      return labels[r] == labels[leaf.rows[0]];
    });
    if (is_pure) continue;
    model.make_room(labels[leaf.rows[0]], 0);
    model.split(leaf.node, limited);
    for (std::size_t pass = 0; pass < n_passes; ++pass) {
      for (const std::size_t r : leaf.rows) {
        look_up();
        if (!learner.update_node(leaf.node, X.row(r), labels[r], weight_of(r))) throw Diverged(r);
      }
    }
    HeavyLeaf left{0, model.node(leaf.node).left, {}}, right{0, model.node(leaf.node).right, {}};
    for (const std::size_t r : leaf.rows) {
      (learner.goes_left(leaf.node, X.row(r)) ? left : right).rows.push_back(r);
    }
    if (left.rows.empty() || right.rows.empty()) {
      model.make_room(labels[leaf.rows[0]], 0);
      model.undo_split(leaf.node);
      continue;
    }
    for (HeavyLeaf* side : {&left, &right}) {
      sum_up(*side);
      leaves.push(std::move(*side));
    }
  }
  for (const std::size_t r : rows) learner.count_row(X.row(r), labels[r], weight_of(r));
}

}  // namespace labeltrees
