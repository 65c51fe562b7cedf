#include "labeltrees/conditional/learner.hpp"

namespace labeltrees {

void learn(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const ConditionalLearning& options, LearningWatch* watch) {
  if (options.n_threads > 1) {
    return learn_in_batches(model, X, labels, weights, order, prediction, options, watch);
  }
  const CountedTable::Growing growing(model.table());
  ConditionalLearner learner(model, options);
  learn_expected(learner, X, labels, order, watch, [&](std::size_t i, std::size_t r) {
    if (!prediction.top.empty()) {
      const Found found = learner.predict_top();
      prediction.top[i] = found.label;
      prediction.p_top[i] = found.p_label;
    }
    const float weight = weights.empty() ? 1.0f : weights[r];
    double p_label = 0;
    if (!prediction.is_new.empty()) {
      prediction.is_new[i] = model.tree().leaf_of(labels[r]) == none ? 1 : 0;
    }
    if (weight > 0 && !learner.observe(labels[r], weight, p_label)) throw Diverged(r);
    if (!prediction.p_label.empty()) prediction.p_label[i] = p_label;
  });
}

}  // namespace labeltrees
