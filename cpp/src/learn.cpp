#include <algorithm>
#include <cmath>

#include "labeltrees/conditional_tree.hpp"
#include "labeltrees/node_probability.hpp"
#include "labeltrees/search.hpp"

namespace labeltrees {
namespace {

constexpr float mixing_rate = 0.002f;
constexpr float input_limit = 8.0f;

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
    search_.run(model_, row_, options_.reading, {&found, 1});
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
    for (std::int32_t depth = 0; !tree.is_leaf(node); ++depth) {
      const Place place = model_.place(node);
      if (asks_regressors && place.block != block) {
        block = place.block;
        find_lines(model_.table(), block, row_, lines_);
      }
      const NodeId left = tree.first_child(node);
      const bool right =
          options_.insertion == Insertion::random ? toss(label, depth) : objective(node) > 0;
      node = within(bound, depth, right ? left + 1 : left, right ? left : left + 1);
    }
    return node;
  }

  // obj(p, L, R, alpha) of the paper; positive means right.
  double objective(NodeId node) const {
    const double alpha = options_.alpha;
    const NodeId left = model_.tree().first_child(node);
    double value = 0;
    if (alpha < 1) {
      const NodeOpinion opinion = ask_node(model_, node, lines_, row_, options_.reading);
      value += (1 - alpha) * 2 * (static_cast<double>(opinion.estimate) - 0.5);
    }
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

  // Asks every inner node above the leaf, then teaches each of them one step: what is foreseen is
  // what the model said before, although nodes share mixtures.
  bool train_path(NodeId leaf, float weight, double& p_path) {
    const LabelTree& tree = model_.tree();
    path_.clear();
    for (NodeId node = leaf; node != none; node = tree.parent(node)) path_.push_back(node);
    if (!ask_path(p_path)) return false;
    for (std::size_t i = path_.size() - 1; i > 0; --i) teach_node(i, weight);
    for (const NodeId node : path_) model_.add_mass(node, weight);
    return true;
  }

  // Fills opinions_ for path_[1 ..], and the lines of every block on the path.
  bool ask_path(double& p_path) {
    model_.table().make_room(row_.size() * path_.size());
    own_lines_.clear();
    opinions_.resize(path_.size());
    std::uint32_t block = 0;
    for (std::size_t i = path_.size() - 1; i > 0; --i) {
      if (model_.place(path_[i]).block != block) {
        block = model_.place(path_[i]).block;
        for (const std::uint32_t feature : row_.features) {
          own_lines_.push_back(&model_.table().obtain(CountedTable::key(block, feature)));
        }
      }
      opinions_[i].lines = own_lines_.size() - row_.size();
      opinions_[i].said = ask_node(model_, path_[i], lines_at(i), row_, options_.reading);
      if (!std::isfinite(opinions_[i].said.margin)) return false;
      const double p_node = opinions_[i].said.p_node;
      p_path *= goes_right(i) ? p_node : 1.0 - p_node;
    }
    return true;
  }

  void teach_node(std::size_t i, float weight) {
    const std::size_t slot = model_.place(path_[i]).slot;
    const NodeOpinion& said = opinions_[i].said;
    const bool right = goes_right(i);
    step_lines(lines_at(i), row_, slot, weight * slope(said.margin, right, options_.reading.loss),
               options_);
    if (!options_.reading.mixing || options_.again) return;
    count(lines_at(i), slot, right);
    teach(model_.mixture(path_[i]), said, right, std::min(weight, 1.0f));
  }

  bool goes_right(std::size_t i) const {
    return path_[i - 1] != model_.tree().first_child(path_[i]);
  }

  std::span<CountedLine* const> lines_at(std::size_t i) const {
    return std::span(own_lines_).subspan(opinions_[i].lines, row_.size());
  }

  // The label is known, so is every line that its path needs.
  void prefetch_path(NodeId leaf, const PreparedRow& row) const {
    std::uint32_t block = 0;
    for (NodeId node = model_.tree().parent(leaf); node != none;
         node = model_.tree().parent(node)) {
      if (model_.place(node).block == block) continue;
      block = model_.place(node).block;
      for (const std::uint32_t feature : row.features) {
        model_.table().prefetch(CountedTable::key(block, feature));
      }
    }
  }

  // Moves the mixture along its gradient, so that inputs of proven worth count for more.
  static void teach(Mixture& mixture, const NodeOpinion& opinion, bool right, float weight) {
    const float error = opinion.estimate - (right ? 1.0f : 0.0f);
    for (std::size_t i = 0; i < n_mixed; ++i) {
      const float input = std::clamp(opinion.inputs[i], -input_limit, input_limit);
      mixture[i] -= mixing_rate * weight * error * input;
    }
  }

  // A negative value speaks for the other side.
  void count(std::span<CountedLine* const> lines, std::size_t slot, bool right) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (row_.features[k] == bias_feature) continue;
      CountedLine& line = *lines[k];
      const bool up = right == (row_.values[k] > 0);
      count_example(up ? line.right[slot] : line.left[slot],
                    up ? line.left[slot] : line.right[slot]);
    }
  }

  ConditionalTree& model_;
  const Learning& options_;
  PreparedRow row_, next_;
  TopSearch search_;
  std::vector<NodeId> path_;
  BlockLines lines_;
  std::vector<CountedLine*> own_lines_;  // of the row in every block on the path
  struct PathOpinion {
    NodeOpinion said;
    std::size_t lines;  // where its block's lines start in own_lines_
  };
  std::vector<PathOpinion> opinions_;  // by place in path_
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
