#include <algorithm>
#include <deque>

#include "labeltrees/conditional/learner.hpp"
#include "labeltrees/refined/refined_trees.hpp"

namespace labeltrees {
namespace {

class RefinedLearner {
 public:
  RefinedLearner(RefinedTrees& model, const ConditionalLearning& options)
      : model_(model), options_(options), reranker_options_(options) {
    reranker_options_.reading = model.rerankers().reading(options.reading);
    for (std::size_t t = 0; t < model.trees().size(); ++t) {
      options_of_.push_back(options);
      options_of_.back().seed += t;
      learners_.emplace_back(*model.trees()[t], options_of_.back());
      growing_.emplace_back(model.trees()[t]->table());
    }
  }

  void expect(const SparseRow& row, LabelId label) {
    for (ConditionalLearner& learner : learners_) learner.expect(row, label);
  }
  void advance() noexcept {
    for (ConditionalLearner& learner : learners_) learner.advance();
  }

  // Finds the candidates of the row at hand.
  const Proposal& propose() {
    search_.run(model_.trees(), learners_[0].row(), model_.shortlist(), options_.reading,
                proposal_);
    return proposal_;
  }

  // Lets every tree learn the row. p_trees becomes the probability its label had. Returns false if
  // a weight would grow without bound. If there is one tree, the state is unchanged then.
  bool learn_trees_of(LabelId label, float weight, double& p_trees) {
    p_trees = 0;
    for (ConditionalLearner& learner : learners_) {
      double p_label = 0;
      if (!learner.observe(label, weight, p_label)) return false;
      p_trees += p_label;
    }
    p_trees /= static_cast<double>(learners_.size());
    return true;
  }

  // Evaluates the rerankers for the row whose candidates were found.
  void predict(const SparseRow& row) {
    const PreparedRow& read_row = read(row);
    refiner_.expect(model_.rerankers(), read_row, proposal_);
    refiner_.evaluate(model_.rerankers(), read_row, proposal_, reranker_options_.reading);
  }
  Found predicted_top() const noexcept {
    if (proposal_.candidates.empty()) return top_of_two_;
    const std::size_t best = refiner_.best();
    return {proposal_.candidates[best].label, refiner_.q(best)};
  }
  // With fewer than three labels there are no candidates.
  void search_without_candidates() {
    if (!proposal_.candidates.empty()) return;
    top_of_two_ = {none, 0.0};
    for (const LabelId label : model_.tree().labels()) {
      if (label == none) continue;
      const double p = paths_.evaluate(model_.trees(), learners_[0].row(), label, options_.reading);
      if (p > top_of_two_.p_label) top_of_two_ = {label, p};
    }
  }

  // Learns the row that was proposed for; q becomes the probability its label had before. False as
  // learn_trees_of.
  bool observe(const SparseRow& row, LabelId label, float weight, double& q) {
    const PreparedRow& read_row = read(row);
    if (!may_learn(read_row, weight)) return false;
    refiner_.make_room(model_.rerankers(), read_row, proposal_.candidates.size());
    // Memory that is prefetched here arrives while the trees learn.
    refiner_.expect(model_.rerankers(), read_row, proposal_, label);
    const NodeId leaf = model_.first().tree().leaf_of(label);
    Candidate truth{label, 0, leaf == none ? 0.0 : model_.first().mass(leaf)};
    if (!learn_trees_of(label, weight, truth.p_trees)) return false;
    refiner_.evaluate(model_.rerankers(), read_row, proposal_, reranker_options_.reading);
    const std::size_t at = proposal_.find(label);
    q = at < proposal_.candidates.size() ? refiner_.q(at) : refiner_.q_outside(truth.p_trees);
    refiner_.update(model_.rerankers(), read_row, proposal_, truth, weight, reranker_options_);
    return true;
  }

 private:
  const PreparedRow& read(const SparseRow& row) {
    if (model_.rerankers().scale() == 0) return learners_[0].row();
    row_.assign(row, reranker_options_.reading);
    return row_;
  }
  // The slopes of rerankers are never above the row's weight.
  bool may_learn(const PreparedRow& row, float weight) const noexcept {
    return !may_diverge(reranker_options_.reading) ||
           may_step(weight, row.largest(), options_.optimizer, options_.learning_rate);
  }

  RefinedTrees& model_;
  const ConditionalLearning& options_;
  Learning reranker_options_;
  std::deque<ConditionalLearning> options_of_;  // each tree's
  std::deque<ConditionalLearner> learners_;
  std::deque<CountedTable::Growing> growing_;
  PairTable::Growing rerankers_growing_{model_.rerankers().table()};
  CandidateSearch search_;
  PathQuery paths_;
  Proposal proposal_;
  Refiner refiner_;
  PreparedRow row_;  // as the rerankers read it, if they do not as the trees
  Found top_of_two_{none, 0.0};
};

}  // namespace

void learn(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const ConditionalLearning& options, LearningWatch* watch) {
  if (options.n_threads > 1 && model.trees().size() == 1) {
    return learn_in_batches(model, X, labels, weights, order, prediction, options, watch);
  }
  RefinedLearner learner(model, options);
  learn_expected(learner, X, labels, order, watch, [&](std::size_t i, std::size_t r) {
    const float weight = weights.empty() ? 1.0f : weights[r];
    if (!prediction.is_new.empty()) {
      const bool is_new = model.first().tree().leaf_of(labels[r]) == none;
      prediction.is_new[i] = is_new ? 1 : 0;
    }
    learner.propose();
    if (!prediction.top.empty()) learner.search_without_candidates();
    double q = 0;
    if (weight > 0) {
      if (!learner.observe(X.row(r), labels[r], weight, q)) throw Diverged(r);
    } else if (!prediction.top.empty()) {
      learner.predict(X.row(r));
    }
    if (!prediction.p_label.empty()) prediction.p_label[i] = q;
    if (prediction.top.empty()) return;
    const Found found = learner.predicted_top();
    prediction.top[i] = found.label;
    prediction.p_top[i] = found.p_label;
  });
}

void learn_trees(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                 std::span<const float> weights, std::span<const std::int64_t> order,
                 const Proposals& proposals, const ConditionalLearning& options,
                 LearningWatch* watch) {
  const std::size_t k = model.n_candidates();
  std::fill(proposals.candidates.begin(), proposals.candidates.end(), none);
  std::fill(proposals.p_trees.begin(), proposals.p_trees.end(), 0.0);
  RefinedLearner learner(model, options);
  learn_expected(learner, X, labels, order, watch, [&](std::size_t, std::size_t r) {
    const float weight = weights.empty() ? 1.0f : weights[r];
    if (!(weight > 0)) return;
    if (!proposals.candidates.empty()) {
      const std::vector<Candidate>& candidates = learner.propose().candidates;
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        proposals.candidates[r * k + c] = candidates[c].label;
        proposals.p_trees[r * k + c] = candidates[c].p_trees;
      }
    }
    double p_trees = 0;
    if (!learner.learn_trees_of(labels[r], weight, p_trees)) throw Diverged(r);
  });
}

}  // namespace labeltrees
