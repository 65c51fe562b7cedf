#include "labeltrees/multilabel/siblings.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/machine/elementary.hpp"

namespace labeltrees {
namespace {

constexpr float sibling_mixing_rate = 0.002f;
constexpr float sibling_input_limit = 8.0f;

std::size_t sibling_mixture(const NodePast& past) noexcept { return mixture_of(past.right); }

}  // namespace

SiblingPasts pasts_below(const MultilabelTree& model, NodeId node) noexcept {
  SiblingPasts pasts;
  const double all = model.mass(node);
  pasts.fill({all, all, 0.0});
  const std::span<const NodeId> children = model.tree().children(node);
  for (std::size_t s = 0; s < children.size(); ++s) {
    const double own = model.mass(children[s]);
    pasts[s] = {all, std::max(0.0, all - own), own};
  }
  return pasts;
}

SiblingPasts pasts_of_top(const MultilabelTree& model) noexcept {
  const double all = model.mass_of_rows();
  const double some = model.tree().empty() ? 0.0 : model.mass(model.tree().root());
  SiblingPasts pasts;
  pasts.fill({0, 0, 0});
  pasts[MultilabelTree::any_slot] = {all, std::max(0.0, all - some), some};
  pasts[MultilabelTree::yes_slot] = {some, 0, some};
  pasts[MultilabelTree::no_slot] = {some, some, 0};
  return pasts;
}

// Line by line, all places of a line at once: each is one cache line.
void ask_siblings(std::span<const CountedLine* const> lines, std::span<const float> values,
                  std::size_t n, const SiblingPasts& pasts, const Mixtures& mixtures,
                  const Reading& reading, SiblingOpinions& said) noexcept {
  SiblingNumbers margins{};
  if (reading.mixing) {
    for (std::size_t s = 0; s < n; ++s) said.of[s].inputs.fill(0);
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k] == nullptr) continue;
    const CountedLine& line = *lines[k];
    const float x = values[k];
    for (std::size_t s = 0; s < block_size; ++s) margins[s] += x * line.weight[s];
    if (!reading.mixing) continue;
    for (std::size_t s = 0; s < n; ++s) {
      const Vote vote = vote_of(line.counts[s]);
      said.of[s].inputs[vote.trust] += x * vote.log_odds;
    }
  }
  for (std::size_t s = 0; s < n; ++s) {
    said.of[s].margin = margins[s];
    conclude(pasts[s], mixtures[sibling_mixture(pasts[s])], reading, said.of[s]);
  }
}

namespace {

void step_siblings(std::span<CountedLine* const> lines, std::span<const float> values,
                   const SiblingNumbers& slopes, const Learning& options) noexcept {
  const float rate = options.learning_rate;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    CountedLine& line = *lines[k];
    if (options.optimizer == Optimizer::sgd) {
      for (std::size_t s = 0; s < block_size; ++s) line.weight[s] -= rate * slopes[s] * values[k];
      continue;
    }
    for (std::size_t s = 0; s < block_size; ++s) {
      const float gradient = slopes[s] * values[k];
      const float sum = decode_sum(line.sum_code[s]) + gradient * gradient;
      line.sum_code[s] = encode_sum(sum);
      line.weight[s] -= rate * gradient / std::sqrt(sum + adagrad_floor);
    }
  }
}

// A negative value speaks for the other side; targets of at least a half count as "yes".
void count_siblings(std::span<CountedLine* const> lines, const PreparedRow& row,
                    const SiblingNumbers& targets, const SiblingNumbers& weights) noexcept {
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (row.features[k] == bias_feature) continue;
    for (std::size_t s = 0; s < block_size; ++s) {
      if (weights[s] == 0) continue;
      Counts& counts = lines[k]->counts[s];
      counts = count_example(counts, (targets[s] >= 0.5f) == (row.values[k] > 0));
    }
  }
}

}  // namespace

void teach_siblings(std::span<CountedLine* const> lines, const PreparedRow& row,
                    const SiblingOpinions& said, const SiblingNumbers& targets,
                    const SiblingNumbers& weights, const SiblingPasts& pasts, std::size_t n_mixing,
                    Mixtures& mixtures, const Learning& options) noexcept {
  SiblingNumbers slopes;
  for (std::size_t s = 0; s < block_size; ++s) {
    slopes[s] = weights[s] * (sigmoid(said.of[s].margin) - targets[s]);
  }
  step_siblings(lines, row.values, slopes, options);
  if (!options.reading.mixing || options.again) return;
  count_siblings(lines, row, targets, weights);
  for (std::size_t s = 0; s < n_mixing; ++s) {
    if (weights[s] == 0) continue;
    const float error = sigmoid(said.of[s].log_odds) - targets[s];
    Mixture& mixture = mixtures[sibling_mixture(pasts[s])];
    for (std::size_t i = 0; i < n_mixed; ++i) {
      const float input =
          std::clamp(said.of[s].inputs[i], -sibling_input_limit, sibling_input_limit);
      mixture[i] -= sibling_mixing_rate * std::min(weights[s], 1.0f) * error * input;
    }
  }
}

}  // namespace labeltrees
