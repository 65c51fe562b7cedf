#include <algorithm>

#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/update.hpp"
#include "labeltrees/refined/refined_trees.hpp"

namespace labeltrees {
namespace {

// Candidates are as of the batch's start, and all threads find them. Then one thread updates the
// rerankers row by row, while others update the tree.
class RerankersOfBatch final : public BatchCompanion {
 public:
  RerankersOfBatch(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                   std::span<const float> weights, std::span<const std::int64_t> order,
                   const Prediction& prediction, const ConditionalLearning& options)
      : model_(model),
        X_(X),
        labels_(labels),
        weights_(weights),
        order_(order),
        prediction_(prediction),
        options_(options),
        reranker_options_(options) {
    reranker_options_.reading = model.rerankers().reading(options.reading);
  }

  void read(std::size_t begin, std::span<const PreparedRow* const> rows,
            Workers& workers) override {
    begin_ = begin;
    n_rows_ = rows.size();
    if (rows_.size() < n_rows_) rows_.resize(n_rows_);
    searches_.resize(std::max(searches_.size(), workers.size()));
    constexpr std::size_t chunk = 32;
    workers.run((n_rows_ + chunk - 1) / chunk, [&](std::size_t number, std::size_t worker) {
      const std::size_t end = std::min(n_rows_, (number + 1) * chunk);
      for (std::size_t i = number * chunk; i < end; ++i) propose(i, *rows[i], searches_[worker]);
    });
    // All the memory that learning takes.
    std::size_t n_lines = 0, longest = 0, most = 0;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      const ReadRow& row = rows_[i];
      n_lines += (row.proposal.candidates.size() + 1) * row.features().size();
      longest = std::max(longest, row.features().size());
      most = std::max(most, row.proposal.candidates.size());
    }
    refiner_.reserve(most, longest);
    model_.rerankers().table().make_room(std::min(n_lines, n_rows_ * longest), n_lines);
  }

  void learn() noexcept override {
    Rerankers& rerankers = model_.rerankers();
    for (std::size_t i = 0; i < n_rows_; ++i) {
      ReadRow& row = rows_[i];
      refiner_.expect(rerankers, row.features(), row.proposal, row.truth.label);
      refiner_.evaluate(rerankers, row.features(), row.proposal, reranker_options_.reading);
      const std::vector<Candidate>& candidates = row.proposal.candidates;
      const std::size_t at = row.proposal.find(row.truth.label);
      row.scale = at < candidates.size() ? refiner_.q(at) : refiner_.z();
      row.is_candidate = at < candidates.size();
      if (!prediction_.top.empty()) {
        const std::size_t best = candidates.empty() ? 0 : refiner_.best();
        prediction_.top[begin_ + i] = candidates.empty() ? row.top.label : candidates[best].label;
        prediction_.p_top[begin_ + i] = candidates.empty() ? row.top.p_label : refiner_.q(best);
      }
      if (row.weight > 0) {
        refiner_.update(rerankers, row.features(), row.proposal, row.truth, row.weight,
                        reranker_options_);
      }
    }
  }

  // The prediction for a row of the last batch, given the tree's probability of its label.
  double refined(std::size_t i, double p_tree) const noexcept {
    const ReadRow& row = rows_[i];
    return row.is_candidate && row.weight > 0 ? row.scale : p_tree / row.scale;
  }

 private:
  struct ReadRow {
    const PreparedRow* of_tree = nullptr;
    PreparedRow own;  // as the rerankers read it, if they do not as the tree
    Proposal proposal;
    Candidate truth{none, 0, 0};
    Found top{none, 0};  // where there are no candidates
    float weight = 1;
    double scale = 1;  // q of a candidate, else Z
    bool is_candidate = false;

    const PreparedRow& features() const noexcept { return of_tree == nullptr ? own : *of_tree; }
  };
  struct Search {
    CandidateSearch candidates;
    PathQuery paths;
    TopSearch top;
  };

  void propose(std::size_t i, const PreparedRow& of_tree, Search& search) {
    ReadRow& row = rows_[i];
    const std::size_t r =
        order_.empty() ? begin_ + i : static_cast<std::size_t>(order_[begin_ + i]);
    const ConditionalTree& tree = model_.first();
    const Reading& reading = options_.reading;
    row.weight = weights_.empty() ? 1.0f : weights_[r];
    const bool alike = model_.rerankers().scale() == 0;
    row.of_tree = alike ? &of_tree : nullptr;
    if (!alike) row.own.assign(X_.row(r), reranker_options_.reading);
    if (may_diverge(reranker_options_.reading) && row.weight > 0 &&
        !may_step(row.weight, row.features().largest(), options_.optimizer,
                  options_.learning_rate)) {
      throw Diverged(r);
    }
    search.candidates.run(model_.trees(), of_tree, model_.shortlist(), reading, row.proposal);
    const NodeId leaf = tree.tree().leaf_of(labels_[r]);
    row.truth = {labels_[r], 0, leaf == none ? 0.0 : tree.mass(leaf)};
    const std::size_t at = row.proposal.find(labels_[r]);
    const bool is_known = at < row.proposal.candidates.size();
    row.truth.p_trees = is_known ? row.proposal.candidates[at].p_trees
                                 : search.paths.evaluate(tree, of_tree, labels_[r], reading);
    if (!prediction_.top.empty() && row.proposal.candidates.empty()) {
      row.top = {none, 0};
      search.top.run(tree, of_tree, reading, {&row.top, 1});
    }
  }

  RefinedTrees& model_;
  const CsrView& X_;
  std::span<const LabelId> labels_;
  std::span<const float> weights_;
  std::span<const std::int64_t> order_;
  const Prediction& prediction_;
  const ConditionalLearning& options_;
  Learning reranker_options_;
  std::size_t begin_ = 0, n_rows_ = 0;
  std::vector<ReadRow> rows_;
  std::vector<Search> searches_;  // of each worker
  Refiner refiner_;
  PairTable::Growing growing_{model_.rerankers().table()};
};

// Refines the tree's predictions for each batch before they are passed on.
class RefineBatches final : public LearningWatch {
 public:
  RefineBatches(const RerankersOfBatch& rerankers, std::span<double> p_label, LearningWatch* watch)
      : rerankers_(rerankers), p_label_(p_label), watch_(watch) {}

  void learned(std::size_t n_rows) override {
    for (std::size_t i = n_learned_; i < n_rows && !p_label_.empty(); ++i) {
      p_label_[i] = rerankers_.refined(i - n_learned_, p_label_[i]);
    }
    n_learned_ = n_rows;
    if (watch_ != nullptr) watch_->learned(n_rows);
  }

 private:
  const RerankersOfBatch& rerankers_;
  std::span<double> p_label_;
  LearningWatch* watch_;
  std::size_t n_learned_ = 0;
};

}  // namespace

void learn_in_batches(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch) {
  RerankersOfBatch rerankers(model, X, labels, weights, order, prediction, options);
  RefineBatches refine(rerankers, prediction.p_label, watch);
  learn_in_batches(*model.trees()[0], X, labels, weights, order,
                   {prediction.p_label, prediction.is_new, {}, {}}, options, &refine, &rerankers);
}

}  // namespace labeltrees
