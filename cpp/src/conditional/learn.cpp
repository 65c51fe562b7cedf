#include "labeltrees/conditional/learner.hpp"

namespace labeltrees {

void learn(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Foresight& foresight, const ConditionalLearning& options, LearningWatch* watch) {
  if (options.n_threads > 1) {
    return learn_in_batches(model, X, labels, weights, order, foresight, options, watch);
  }
  const CountedTable::Growing growing(model.table());
  ConditionalLearner learner(model, options);
  learn_expected(learner, X, labels, order, watch, [&](std::size_t i, std::size_t r) {
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
  });
}

}  // namespace labeltrees
