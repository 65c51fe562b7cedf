#include "labeltrees/conditional/pecoc_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "labeltrees/conditional/search.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// Computes the probabilities of a node's children given a row. They are computed only here.
class NodeReader {
 public:
  std::span<const double> children(const PecocTree& model, NodeId node, const PreparedRow& row,
                                   Loss loss) {
    const Bank bank = model.bank(node);
    margins_.resize(bank.n_regressors);
    bank_margins(model.table(), bank, row, margins_);
    return from_margins(margins_, index(model.tree().n_children(node)), loss);
  }

  // Allocates the memory that from_margins needs for this number of regressors.
  void reserve(std::size_t n_regressors) {
    p_child_.reserve(n_regressors + 1);
    decoder_.reserve(n_regressors);
  }
  std::span<const double> from_margins(std::span<const float> margins, std::size_t n_children,
                                       Loss loss) {
    p_child_.resize(n_children);
    decoder_.run(margins, loss, p_child_);
    return p_child_;
  }

 private:
  std::vector<float> margins_;
  std::vector<double> p_child_;
  PecocDecoder decoder_;
};

// Best-first search: exact, because a path's probability never grows on the way down.
class BestFirst {
 public:
  std::size_t run(const PecocTree& model, const PreparedRow& row, Loss loss,
                  std::span<Found> answers) {
    const LabelTree& tree = model.tree();
    std::size_t found = 0;
    heap_.clear();
    if (!tree.empty()) heap_.push_back({1.0, 0});
    while (found < answers.size() && !heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), comes_later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      if (tree.is_leaf(best.node)) {
        answers[found++] = {tree.label(best.node), best.p_path};
        continue;
      }
      NodeId child = tree.first_child(best.node);
      for (const double p : reader_.children(model, best.node, row, loss)) {
        heap_.push_back({best.p_path * p, child++});
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
      }
    }
    return found;
  }

 private:
  struct Candidate {
    double p_path;
    NodeId node;
  };
  // Ties go to the older node, so that the result does not depend on the heap's history.
  static bool comes_later(const Candidate& a, const Candidate& b) noexcept {
    return a.p_path != b.p_path ? a.p_path < b.p_path : a.node > b.node;
  }

  std::vector<Candidate> heap_;
  NodeReader reader_;
};

// The nodes from the root to a label's leaf; empty if the label has none.
void path_to(const LabelTree& tree, LabelId label, std::vector<NodeId>& path) {
  path.clear();
  for (NodeId node = tree.leaf_of(label); node != none; node = tree.parent(node)) {
    path.push_back(node);
  }
  std::reverse(path.begin(), path.end());
}

class PecocLearner {
 public:
  PecocLearner(PecocTree& model, const Learning& options) : model_(model), options_(options) {}

  Found predict_top(const PreparedRow& row) {
    Found found{none, 0.0};
    search_.run(model_, row, options_.reading.loss, {&found, 1});
    return found;
  }

  // Learns a row; p_label becomes the probability its label had before. False if a margin was not
  // finite.
  bool observe(const PreparedRow& row, LabelId label, float weight, double& p_label) {
    const LabelTree& tree = model_.tree();
    path_to(tree, label, path_);
    if (may_diverge(options_.reading) && !may_learn(row, weight)) return false;
    make_room(row);  // from here on nothing throws
    p_label = 1;
    for (const NodeId node : path_) model_.add_mass(node, weight);
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
      const Bank bank = model_.bank(path_[i]);
      const std::size_t child = aim(i, bank);
      if (!trainer_.train(model_.table(), bank, row, targets_, weight, options_, margins_)) {
        return false;
      }
      p_label *= reader_.from_margins(margins_, index(tree.n_children(path_[i])),
                                      options_.reading.loss)[child];
    }
    return true;
  }

 private:
  // For what is learned on path_.
  void make_room(const PreparedRow& row) {
    std::size_t n_blocks = 0;
    for (const NodeId node : path_) {
      const Bank bank = model_.bank(node);
      n_blocks += bank.n_blocks();
      targets_.reserve(bank.n_regressors);
      margins_.reserve(bank.n_regressors);
      reader_.reserve(bank.n_regressors);
    }
    trainer_.make_room(model_.table(), n_blocks, row);
  }

  // Sets the targets of the bank at the path's i-th node; returns the child on the path.
  std::size_t aim(std::size_t i, const Bank& bank) {
    const std::size_t child = index(path_[i + 1] - model_.tree().first_child(path_[i]));
    targets_.resize(bank.n_regressors);
    margins_.resize(bank.n_regressors);
    code_targets(child, targets_);
    return child;
  }

  bool may_learn(const PreparedRow& row, float weight) {
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
      const Bank bank = model_.bank(path_[i]);
      aim(i, bank);
      if (!may_train(model_.table(), bank, row, targets_, weight, options_, margins_)) return false;
    }
    return true;
  }

  PecocTree& model_;
  const Learning& options_;
  BestFirst search_;
  NodeReader reader_;
  BankTrainer trainer_;
  std::vector<NodeId> path_;
  std::vector<std::uint8_t> targets_;
  std::vector<float> margins_;
};

}  // namespace

PecocTree::PecocTree(LabelTree tree, std::span<const double> mass,
                     std::span<const std::uint64_t> keys, std::span<const float> weights,
                     std::span<const float> sums)
    : tree_(std::move(tree)), mass_(mass.begin(), mass.end()) {
  if (mass.size() != tree_.n_nodes()) throw TreeError("mass needs one value for every node");
  if (!std::all_of(mass.begin(), mass.end(), [](double value) { return value >= 0; })) {
    throw TreeError("masses must not be negative");
  }
  std::uint64_t next_block = 1;
  banks_.resize(tree_.n_nodes());
  for (std::size_t i = 0; i < banks_.size(); ++i) {
    const std::size_t n_children = index(tree_.n_children(static_cast<NodeId>(i)));
    if (n_children == 0) continue;
    banks_[i] = {static_cast<std::uint32_t>(next_block),
                 static_cast<std::uint32_t>(code_size(n_children) - 1)};
    n_regressors_ += banks_[i].n_regressors;
    next_block += banks_[i].n_blocks();
    if (next_block > std::numeric_limits<std::uint32_t>::max()) {
      throw TreeError("the tree needs too many regressors");
    }
  }
  restore_lines(table_, keys, weights, sums, next_block - 1);
}

void learn(PecocTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const Learning& options, LearningWatch* watch) {
  PecocLearner learner(model, options);
  PreparedRow row;
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = order.empty() ? i : static_cast<std::size_t>(order[i]);
    row.assign(X.row(r), options.reading);
    if (!prediction.top.empty()) {
      const Found found = learner.predict_top(row);
      prediction.top[i] = found.label;
      prediction.p_top[i] = found.p_label;
    }
    const float weight = weights.empty() ? 1.0f : weights[r];
    double p_label = 0;
    if (weight > 0 && !learner.observe(row, labels[r], weight, p_label)) throw Diverged(r);
    if (!prediction.p_label.empty()) prediction.p_label[i] = p_label;
    if (!prediction.is_new.empty()) {
      prediction.is_new[i] = model.tree().leaf_of(labels[r]) == none ? 1 : 0;
    }
    if (watch != nullptr) watch->learned(i + 1);
  }
}

void label_probabilities(const PecocTree& model, const CsrView& X, std::span<const LabelId> labels,
                         const Reading& reading, std::span<double> p) {
  const LabelTree& tree = model.tree();
  PreparedRow row;
  NodeReader reader;
  std::vector<NodeId> path;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    path_to(tree, labels[r], path);
    p[r] = path.empty() ? 0 : 1;
    row.assign(X.row(r), reading);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      p[r] *= reader.children(model, path[i], row,
                              reading.loss)[index(path[i + 1] - tree.first_child(path[i]))];
    }
  }
}

void top_labels(const PecocTree& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p) {
  PreparedRow row;
  BestFirst search;
  std::vector<Found> answers(k);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    const std::size_t n = search.run(model, row, reading.loss, answers);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < n ? answers[i].label : none;
      p[r * k + i] = i < n ? answers[i].p_label : 0.0;
    }
  }
}

void all_probabilities(const PecocTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  const LabelTree& tree = model.tree();
  PreparedRow row;
  NodeReader reader;
  std::vector<double> p_path(tree.n_nodes(), 1.0);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    row.assign(X.row(r), reading);
    const std::span<double> out = p.subspan(r * n_columns, n_columns);
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < p_path.size(); ++i) {  // parents come before their children
      const auto node = static_cast<NodeId>(i);
      if (tree.is_leaf(node)) {
        if (index(tree.label(node)) < n_columns) out[index(tree.label(node))] = p_path[i];
        continue;
      }
      std::size_t child = index(tree.first_child(node));
      for (const double p_child : reader.children(model, node, row, reading.loss)) {
        p_path[child++] = p_path[i] * p_child;
      }
    }
  }
}

}  // namespace labeltrees
