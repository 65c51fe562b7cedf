// One row after the other, learned by a conditional probability tree.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/placement.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/conditional/update.hpp"

namespace labeltrees {

// Keeps its memory from row to row. The row at hand is the one expected two calls of advance ago.
class ConditionalLearner {
 public:
  ConditionalLearner(ConditionalTree& model, const ConditionalLearning& options)
      : model_(model), options_(options), placement_(model, options) {}

  // Makes `row` the current row after two calls of `advance`. The lines it will most likely need
  // are prefetched block by block while the row before it is learned.
  void expect(const SparseRow& row, LabelId label) {
    rows_.after_next().assign(model_, row, model_.tree().leaf_of(label), options_.reading);
  }
  void advance() noexcept { rows_.advance(); }
  const PreparedRow& row() const noexcept { return rows_.now().row(); }

  Found predict_top() {
    Found found{none, 0.0};
    search_.run(model_, row(), options_.reading, {&found, 1});
    return found;
  }

  // Learns the prepared row and returns the probability its label had before; false if a weight
  // would grow past all measure, in which case nothing has changed.
  bool observe(LabelId label, float weight, double& p_label) {
    const LabelTree& tree = model_.tree();
    p_label = 0;
    if (tree.empty()) {
      model_.add_root(label);
      model_.add_mass(0, weight);
      return true;
    }
    const NodeId leaf = tree.leaf_of(label);
    const bool is_new = leaf == none;
    if (may_diverge(options_.reading)) largest_ = row().largest();
    find_path(is_new ? placement_.of_new(label, row()) : leaf);
    if (is_new) {
      if (may_diverge(options_.reading) &&
          !may_update_path(model_, path()[0], row(), weight, options_, lines_)) {
        return false;
      }
      path().insert(path().begin(), model_.split_leaf(path()[0], label) + 1);
    }
    double p_path = 1;  // from the split on nothing throws
    if (!train_path(weight, p_path)) return false;
    if (!is_new) p_label = p_path;
    return true;
  }

 private:
  // The path to a leaf, and memory for all that is learned on it, or on one that is a node longer.
  void find_path(NodeId leaf) {
    path().clear();  // the tree may have grown since the path was expected
    for (NodeId node = leaf; node != none; node = model_.tree().parent(node)) {
      path().push_back(node);
    }
    const std::size_t n_nodes = path().size() + 1;
    path().reserve(n_nodes);
    outputs_.reserve(n_nodes);
    own_lines_.reserve(n_nodes * row().size());
    model_.table().make_room(n_nodes * row().size());
  }

  // Evaluates every inner node above the leaf, then updates each of them by one step. Predictions
  // are those of the model before all of the steps, although nodes share mixtures.
  bool train_path(float weight, double& p_path) {
    if (!evaluate_path(weight, p_path)) return false;
    for (std::size_t i = path().size() - 1; i > 0; --i) {
      update_node(lines_at(i), model_.place(path()[i]).slot, row(), outputs_[i].output,
                  goes_right(i), weight, model_.mixture(path()[i]), options_);
    }
    for (const NodeId node : path()) model_.add_mass(node, weight);
    return true;
  }

  // Fills outputs_ for path()[1 ..], and the lines of every block on the path.
  bool evaluate_path(float weight, double& p_path) {
    own_lines_.clear();
    outputs_.resize(path().size());
    std::uint32_t block = 0;
    std::size_t n_blocks = 0;
    for (std::size_t i = path().size() - 1; i > 0; --i) {
      if (model_.place(path()[i]).block != block) {
        block = model_.place(path()[i]).block;
        obtain_lines(n_blocks++, block);
        rows_.next().fetch_block(model_.table());
      }
      outputs_[i].lines = own_lines_.size() - row().size();
      NodeOutput& output = outputs_[i].output;
      evaluate_slot(model_.place(path()[i]).slot, lines_at(i), row().values,
                    past_of(model_, path()[i]), model_.mixture(path()[i]), options_.reading,
                    output);
      if (may_diverge(options_.reading) && !may_update(output.margin, goes_right(i), weight)) {
        return false;
      }
      const double p_node = output.p_node;
      p_path *= goes_right(i) ? p_node : 1.0 - p_node;
    }
    rows_.next().fetch_rest(model_.table());
    return true;
  }

  bool may_update(float margin, bool right, float weight) const noexcept {
    return may_step(weight * slope(margin, right, options_.reading.loss), largest_,
                    options_.optimizer, options_.learning_rate);
  }

  void obtain_lines(std::size_t i, std::uint32_t block) {
    CountedTable& table = model_.table();
    const auto guesses = rows_.now().guesses(table, i, block);
    const std::vector<std::uint32_t>& features = row().features;
    own_lines_.resize(own_lines_.size() + features.size());
    CountedLine** const lines = own_lines_.data() + own_lines_.size() - features.size();
    for (std::size_t k = 0; k < features.size(); ++k) {
      const std::uint64_t key = CountedTable::key(block, features[k]);
      lines[k] = guesses.empty() ? &table.obtain(key) : &table.obtain(key, guesses[k]);
    }
  }

  std::vector<NodeId>& path() noexcept { return rows_.now().path(); }

  bool goes_right(std::size_t i) { return path()[i - 1] != model_.tree().first_child(path()[i]); }

  std::span<CountedLine* const> lines_at(std::size_t i) const {
    return std::span(own_lines_).subspan(outputs_[i].lines, row().size());
  }

  ConditionalTree& model_;
  const ConditionalLearning& options_;
  ExpectedRows rows_{true};
  TopSearch search_;
  Placement placement_;
  BlockLines lines_;                     // scratch memory
  float largest_ = 0;                    // largest value of the row, where learning may diverge
  std::vector<CountedLine*> own_lines_;  // of the row in every block on the path
  struct PathOutput {
    NodeOutput output;
    std::size_t lines;  // where its block's lines start in own_lines_
  };
  std::vector<PathOutput> outputs_;  // by place in path()
};

// Calls learn_row(i, r) for the i-th row of the order, which is row r, and then notifies the watch.
// The learner expects each row two rows ahead.
template <typename Learner, typename LearnRow>
void learn_expected(Learner& learner, const CsrView& X, std::span<const LabelId> labels,
                    std::span<const std::int64_t> order, LearningWatch* watch, LearnRow learn_row) {
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  const auto row_at = [&](std::size_t i) {
    return order.empty() ? i : static_cast<std::size_t>(order[i]);
  };
  const auto expect = [&](std::size_t i) {
    if (i < n) learner.expect(X.row(row_at(i)), labels[row_at(i)]);
  };
  expect(0);
  learner.advance();
  expect(1);
  for (std::size_t i = 0; i < n; ++i) {
    learner.advance();
    expect(i + 2);
    learn_row(i, row_at(i));
    if (watch != nullptr) watch->learned(i + 1);
  }
}

}  // namespace labeltrees
