#include "labeltrees/filter/tree.hpp"

#include <algorithm>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/update.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// Evaluates nodes for one row. Looks the lines of a block up once while the row stays in the block.
class MatchReader {
 public:
  double p_right(const ConditionalTree& model, NodeId node, const PreparedRow& row,
                 const Reading& reading) {
    const std::uint32_t block = model.place(node).block;
    if (block != block_) find_lines(model.table(), block, row, lines_);
    block_ = block;
    return evaluate_node(model, node, lines_, row, reading).p_node;
  }
  void forget() noexcept { block_ = 0; }

 private:
  std::uint32_t block_ = 0;
  BlockLines lines_;
};

// A side wins with odds of at least 1; a tie is the left side's.
NodeId winner(const ConditionalTree& model, const PreparedRow& row, const Reading& reading,
              MatchReader& reader) {
  const LabelTree& tree = model.tree();
  reader.forget();
  NodeId node = tree.empty() ? none : 0;
  while (node != none && !tree.is_leaf(node)) {
    const NodeId left = tree.first_child(node);
    node = reader.p_right(model, node, row, reading) > 0.5 ? left + 1 : left;
  }
  return node;
}

// w of every node, and the sum over the leaves.
class AllMatches {
 public:
  void run(const ConditionalTree& model, const PreparedRow& row, const Reading& reading) {
    const LabelTree& tree = model.tree();
    weight_.assign(tree.n_nodes(), 1.0);
    sum_ = 0;
    reader_.forget();
    for (std::size_t i = 0; i < weight_.size(); ++i) {  // parents come before their children
      const auto node = static_cast<NodeId>(i);
      if (tree.is_leaf(node)) {
        sum_ += weight_[i];
        continue;
      }
      const double right = reader_.p_right(model, node, row, reading);
      const double most = std::max(right, 1 - right);
      const std::size_t left = index(tree.first_child(node));
      weight_[left] = weight_[i] * ((1 - right) / most);
      weight_[left + 1] = weight_[i] * (right / most);
    }
  }
  double p(NodeId leaf) const noexcept { return weight_[index(leaf)] / sum_; }

 private:
  std::vector<double> weight_;
  double sum_ = 0;
  MatchReader reader_;
};

// The k most likely leaves, ties by place in the tree. The winner of the tournament is the first.
std::size_t top_of(const ConditionalTree& model, const AllMatches& matches,
                   std::span<Found> answers) {
  const LabelTree& tree = model.tree();
  std::vector<std::pair<double, NodeId>> leaves;
  std::vector<NodeId> stack;
  if (!tree.empty()) stack.push_back(0);
  while (!stack.empty()) {  // leaves from left to right
    const NodeId node = stack.back();
    stack.pop_back();
    if (tree.is_leaf(node)) {
      leaves.emplace_back(matches.p(node), node);
      continue;
    }
    stack.push_back(tree.first_child(node) + 1);
    stack.push_back(tree.first_child(node));
  }
  const std::size_t n = std::min(answers.size(), leaves.size());
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < n; ++i) {
    answers[i] = {tree.label(leaves[i].second), leaves[i].first};
  }
  return n;
}

class TournamentLearner {
 public:
  TournamentLearner(ConditionalTree& model, const ConditionalLearning& options)
      : model_(model), options_(options) {}

  void predict(const PreparedRow& row, LabelId label, std::size_t i, const Prediction& prediction) {
    const NodeId leaf = model_.tree().leaf_of(label);
    if (!prediction.is_new.empty()) prediction.is_new[i] = leaf == none ? 1 : 0;
    if (prediction.p_label.empty() && prediction.top.empty()) return;
    matches_.run(model_, row, options_.reading);
    if (!prediction.p_label.empty()) prediction.p_label[i] = leaf == none ? 0.0 : matches_.p(leaf);
    if (prediction.top.empty()) return;
    const NodeId first = winner(model_, row, options_.reading, reader_);
    prediction.top[i] = first == none ? none : model_.tree().label(first);
    prediction.p_top[i] = first == none ? 0.0 : matches_.p(first);
  }

  // False if a weight would grow past all measure, in which case nothing has changed.
  bool observe(const PreparedRow& row, LabelId label, float weight) {
    const LabelTree& tree = model_.tree();
    if (tree.empty()) {
      model_.add_root(label);
      model_.add_mass(0, weight);
      return true;
    }
    NodeId leaf = tree.leaf_of(label);
    const bool is_new = leaf == none;
    if (is_new) leaf = place_of_new(label);
    if (may_diverge(options_.reading) &&
        !may_update_path(model_, leaf, row, weight, options_, found_)) {
      return false;
    }
    find_path(leaf, row);
    if (is_new) {
      leaf = model_.split_leaf(leaf, label) + 1;  // from here on nothing throws
      model_.add_mass(leaf, weight);
    }
    for (const NodeId node : path_) model_.add_mass(node, weight);
    block_ = 0;
    for (NodeId below = leaf; tree.parent(below) != none; below = tree.parent(below)) {
      const NodeId node = tree.parent(below);
      const bool right = below != tree.first_child(node);
      if (!play(node, row, right, weight)) break;
    }
    return true;
  }

 private:
  NodeId place_of_new(LabelId label) const {
    const LabelTree& tree = model_.tree();
    NodeId node = 0;
    for (std::uint32_t depth = 0; !tree.is_leaf(node); ++depth) {
      const NodeId left = tree.first_child(node);
      const std::uint64_t which = (static_cast<std::uint64_t>(label) << 32) | depth;
      const bool right = options_.insertion == Insertion::random
                             ? (combine_hashes(options_.seed, which) >> 63) != 0
                             : tree.n_leaves(left) > tree.n_leaves(left + 1);
      node = right ? left + 1 : left;
    }
    return node;
  }

  // The path from a leaf up, and memory for the lines of its matches, or for a leaf that is a node
  // deeper.
  void find_path(NodeId leaf, const PreparedRow& row) {
    path_.clear();
    for (NodeId node = leaf; node != none; node = model_.tree().parent(node)) path_.push_back(node);
    lines_.reserve(row.size());
    const std::size_t n_blocks = path_.size() / 3 + 1;  // of three levels each
    model_.table().make_room(row.size(), row.size() * n_blocks);
  }

  // Updates a node so that the label's side should win, and returns whether it wins now.
  bool play(NodeId node, const PreparedRow& row, bool right, float weight) {
    const Place place = model_.place(node);
    if (place.block != block_) {
      block_ = place.block;
      lines_.clear();
      for (const std::uint32_t feature : row.features) {
        lines_.push_back(&model_.table().obtain(CountedTable::key(block_, feature)));
      }
    }
    const float margin = evaluate_node(model_, node, lines_, row, options_.reading).margin;
    step_lines(lines_, row, place.slot, weight * slope(margin, right, options_.reading.loss),
               options_);
    const double p = evaluate_node(model_, node, lines_, row, options_.reading).p_node;
    return right ? p > 0.5 : p <= 0.5;
  }

  ConditionalTree& model_;
  const ConditionalLearning& options_;
  AllMatches matches_;
  MatchReader reader_;
  std::uint32_t block_ = 0;
  std::vector<NodeId> path_;
  std::vector<CountedLine*> lines_;
  BlockLines found_;  // scratch memory
};

}  // namespace

void learn_tournament(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch) {
  TournamentLearner learner(model, options);
  PreparedRow row;
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = order.empty() ? i : static_cast<std::size_t>(order[i]);
    row.assign(X.row(r), options.reading);
    learner.predict(row, labels[r], i, prediction);
    const float weight = weights.empty() ? 1.0f : weights[r];
    if (weight > 0 && !learner.observe(row, labels[r], weight)) throw Diverged(r);
    if (watch != nullptr) watch->learned(i + 1);
  }
}

void tournament_winners(const ConditionalTree& model, const CsrView& X, const Reading& reading,
                        std::span<LabelId> winners) {
  PreparedRow row;
  MatchReader reader;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    const NodeId leaf = winner(model, row, reading, reader);
    winners[r] = leaf == none ? none : model.tree().label(leaf);
  }
}

void tournament_probabilities(const ConditionalTree& model, const CsrView& X,
                              std::span<const LabelId> labels, const Reading& reading,
                              std::span<double> p) {
  PreparedRow row;
  AllMatches matches;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const NodeId leaf = model.tree().leaf_of(labels[r]);
    p[r] = 0;
    if (leaf == none) continue;
    row.assign(X.row(r), reading);
    matches.run(model, row, reading);
    p[r] = matches.p(leaf);
  }
}

void tournament_top(const ConditionalTree& model, const CsrView& X, std::size_t k,
                    const Reading& reading, std::span<LabelId> labels, std::span<double> p) {
  PreparedRow row;
  AllMatches matches;
  std::vector<Found> answers(k);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    matches.run(model, row, reading);
    const std::size_t n = top_of(model, matches, answers);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < n ? answers[i].label : none;
      p[r * k + i] = i < n ? answers[i].p_label : 0.0;
    }
  }
}

void tournament_all(const ConditionalTree& model, const CsrView& X, std::size_t n_columns,
                    const Reading& reading, std::span<double> p) {
  const LabelTree& tree = model.tree();
  PreparedRow row;
  AllMatches matches;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    matches.run(model, row, reading);
    for (std::size_t i = 0; i < n_columns; ++i) {
      const NodeId leaf = tree.leaf_of(static_cast<LabelId>(i));
      p[r * n_columns + i] = leaf == none ? 0.0 : matches.p(leaf);
    }
  }
}

}  // namespace labeltrees
