#include <algorithm>
#include <cmath>

#include "labeltrees/conditional_tree.hpp"
#include "labeltrees/node_probability.hpp"
#include "labeltrees/search.hpp"

namespace labeltrees {
namespace {

// Keeps the square root below away from 0 where a gradient is 0.
constexpr float adagrad_floor = 1e-12f;

class Learner {
 public:
  Learner(ConditionalTree& model, const Learning& options) : model_(model), options_(options) {}

  // Makes `row` the next one to learn and asks for the lines it will most likely need.
  void expect(const SparseRow& row, LabelId label) {
    next_.assign(row, options_.reading);
    const NodeId leaf = model_.tree().leaf_of(label);
    if (leaf != none) prefetch_path(leaf, next_);
  }
  void advance() noexcept { std::swap(row_, next_); }

  Found foresee_top() {
    Found found{none, 0.0};
    search_.run(model_, row_, options_.reading.loss, {&found, 1});
    return found;
  }

  // Learns the prepared row and returns the probability its label had before; false if a margin
  // was not finite, in which case no weight has changed.
  bool observe(LabelId label, float weight, double& p_label) {
    const LabelTree& tree = model_.tree();
    p_label = 0;
    if (tree.empty()) {
      model_.add_root(label);
      model_.add_mass(0, weight);
      return true;
    }
    NodeId leaf = tree.leaf_of(label);
    const bool is_new = leaf == none;
    if (is_new) leaf = model_.split_leaf(place_of_new(label), label) + 1;
    double p_path = 1;
    if (!train_path(leaf, weight, p_path)) return false;
    if (!is_new) p_label = p_path;
    return true;
  }

 private:
  // The leaf that a new label will share a parent with: rule (5), or coin tosses.
  NodeId place_of_new(LabelId label) {
    const LabelTree& tree = model_.tree();
    const bool asks_regressors = options_.insertion == Insertion::objective && options_.alpha < 1;
    const double bound = options_.balance == Balance::examples
                             ? depth_bound(static_cast<double>(tree.n_labels()) + 1, options_.alpha)
                             : depth_bound(1, 0);
    NodeId node = 0;
    std::uint32_t block = 0;
    Margins margins{};
    for (std::int32_t depth = 0; !tree.is_leaf(node); ++depth) {
      const Place place = model_.place(node);
      if (asks_regressors && place.block != block) {
        block = place.block;
        margins = block_margins(model_.table(), block, row_);
      }
      const NodeId left = tree.first_child(node);
      const bool right = options_.insertion == Insertion::random
                             ? toss(label, depth)
                             : objective(node, margins[place.slot]) > 0;
      node = within(bound, depth, right ? left + 1 : left, right ? left : left + 1);
    }
    return node;
  }

  // obj(p, L, R, alpha) of the paper; positive means right.
  double objective(NodeId node, float margin) const {
    const double alpha = options_.alpha;
    const NodeId left = model_.tree().first_child(node);
    double value = 0;
    if (alpha < 1) value += (1 - alpha) * 2 * (estimate(margin, options_.reading.loss) - 0.5);
    if (alpha > 0) value += alpha * (size_of(left) - size_of(left + 1));
    return value;
  }

  // A label of a given tree may have no examples yet; two such sides count as equal.
  double size_of(NodeId node) const {
    return std::log2(options_.balance == Balance::labels
                         ? static_cast<double>(model_.tree().n_leaves(node))
                         : std::max(model_.mass(node), 1e-300));
  }

  // The preferred child, unless every leaf below it is so deep that a split would break the depth
  // bound. The nearest leaf of the whole tree is never deeper than log2 n, so one side always fits.
  NodeId within(double bound, std::int32_t depth, NodeId preferred, NodeId other) const {
    const bool fits = depth + 1 + model_.shallowest(preferred) + 1 <= bound;
    return fits ? preferred : other;
  }

  bool toss(LabelId label, std::int32_t depth) const {
    const auto which =
        (static_cast<std::uint64_t>(label) << 32) | static_cast<std::uint32_t>(depth);
    return (combine_hashes(options_.seed, which) >> 63) != 0;
  }

  // One gradient step at every inner node above the leaf.
  bool train_path(NodeId leaf, float weight, double& p_path) {
    const LabelTree& tree = model_.tree();
    path_.clear();
    for (NodeId node = leaf; node != none; node = tree.parent(node)) path_.push_back(node);
    for (const NodeId node : path_) model_.add_mass(node, weight);
    for (std::size_t i = path_.size() - 1; i > 0;) {
      if (!train_block(i, weight, p_path)) return false;
    }
    return true;
  }

  // The label is known, so is every line that its path needs.
  void prefetch_path(NodeId leaf, const PreparedRow& row) const {
    std::uint32_t block = 0;
    for (NodeId node = model_.tree().parent(leaf); node != none;
         node = model_.tree().parent(node)) {
      if (model_.place(node).block == block) continue;
      block = model_.place(node).block;
      for (const std::uint32_t feature : row.features) {
        model_.table().prefetch(WeightTable::key(block, feature));
      }
    }
  }

  // Learns the nodes of one block on the path, starting at path_[i]; moves i to the next block.
  bool train_block(std::size_t& i, float weight, double& p_path) {
    const std::uint32_t block = model_.place(path_[i]).block;
    WeightTable& table = model_.table();
    table.make_room(row_.size());
    lines_.clear();
    Margins margins{};
    for (std::size_t k = 0; k < row_.size(); ++k) {
      WeightLine& line = table.obtain(WeightTable::key(block, row_.features[k]));
      lines_.push_back(&line);
      const float x = row_.values[k];
      for (std::size_t slot = 0; slot < margins.size(); ++slot)
        margins[slot] += x * line.value[slot];
    }
    for (; i > 0 && model_.place(path_[i]).block == block; --i) {
      const std::size_t slot = model_.place(path_[i]).slot;
      const bool right = path_[i - 1] != model_.tree().first_child(path_[i]);
      const float margin = margins[slot];
      if (!std::isfinite(margin)) return false;
      const double p_node = node_probability(model_, path_[i], margin, options_.reading.loss);
      p_path *= right ? p_node : 1.0 - p_node;
      step(slot, weight * slope(margin, right));
    }
    return true;
  }

  // The loss's derivative by the margin.
  float slope(float margin, bool right) const {
    const float target = right ? 1.0f : 0.0f;
    if (options_.reading.loss == Loss::squared) return margin - target;
    return static_cast<float>(estimate(margin, Loss::logistic)) - target;
  }

  void step(std::size_t slot, float slope) {
    const float rate = options_.learning_rate;
    if (options_.optimizer == Optimizer::sgd) {
      for (std::size_t k = 0; k < lines_.size(); ++k) {
        lines_[k]->weight(slot) -= rate * slope * row_.values[k];
      }
      return;
    }
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      const float gradient = slope * row_.values[k];
      const float sum = lines_[k]->sum(slot) += gradient * gradient;
      lines_[k]->weight(slot) -= rate * gradient / std::sqrt(sum + adagrad_floor);
    }
  }

  ConditionalTree& model_;
  const Learning& options_;
  PreparedRow row_, next_;
  TopSearch search_;
  std::vector<NodeId> path_;
  std::vector<WeightLine*> lines_;
};

}  // namespace

void learn(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Foresight& foresight, const Learning& options) {
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
    if (!foresight.top.empty()) {
      const Found found = learner.foresee_top();
      foresight.top[i] = found.label;
      foresight.p_top[i] = found.p_label;
    }
    const float weight = weights.empty() ? 1.0f : weights[r];
    double p_label = 0;
    if (!foresight.is_new.empty()) {
      foresight.is_new[i] = model.tree().leaf_of(labels[r]) == none ? 1 : 0;
    }
    if (weight > 0 && !learner.observe(labels[r], weight, p_label)) throw Diverged(r);
    if (!foresight.p_label.empty()) foresight.p_label[i] = p_label;
  }
}

}  // namespace labeltrees
