#include "labeltrees/multilabel/siblings.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {
namespace {

constexpr float sibling_mixing_rate = 0.002f;
constexpr float sibling_input_limit = 8.0f;
constexpr double balance_prior = 0.4;
constexpr float sibling_first_steps = 0.1f;  // added to AdaGrad's sums, so that one row does not
                                             // decide

std::size_t sibling_mixture(const NodePast& past) noexcept { return mixture_of(past.right); }

// The rest of an opinion, where the margin is there already.
void conclude_sibling(const NodePast& past, const Mixture& mixture, const Reading& reading,
                      SiblingOutput& output) noexcept {
  float sharpness = 1.0f;
  output.log_odds = output.margin;
  if (reading.mixing) {
    output.balance = elementary::log(
        static_cast<float>((past.right + balance_prior) / (past.left + balance_prior)));
    output.log_odds =
        mixture[margin_trust] * output.margin + mixture[balance_trust] * output.balance;
    sharpness = reading.sharpness;
  }
  const double sharp = estimate(sharpness * output.log_odds, Loss::logistic);
  // Written so that a NaN, of weights and values past all measure, becomes the floor.
  output.p_node =
      sharp > probability_floor ? std::min(sharp, 1.0 - probability_floor) : probability_floor;
}

void update_trust(Mixture& mixture, const SiblingOutput& output, float target,
                  float weight) noexcept {
  const float error = sigmoid(output.log_odds) - target;
  const float step = sibling_mixing_rate * std::min(weight, 1.0f) * error;
  const auto limited = [](float input) {
    return std::clamp(input, -sibling_input_limit, sibling_input_limit);
  };
  mixture[margin_trust] -= step * limited(output.margin);
  mixture[balance_trust] -= step * limited(output.balance);
}

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

// Line by line, all places of a line at once, because each line is one cache line.
void evaluate_siblings(std::span<const CountedLine* const> lines, std::span<const float> values,
                       std::size_t n, const SiblingPasts& pasts, const Mixtures& mixtures,
                       const Reading& reading, SiblingOutputs& output) noexcept {
  SiblingNumbers margins{};
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k] == nullptr) continue;
    const CountedLine& line = *lines[k];
    const float x = values[k];
    for (std::size_t s = 0; s < block_size; ++s) margins[s] += x * line.weight[s];
  }
  for (std::size_t s = 0; s < n; ++s) {
    output.of[s].margin = margins[s];
    conclude_sibling(pasts[s], mixtures[sibling_mixture(pasts[s])], reading, output.of[s]);
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
      line.weight[s] -= rate * gradient / std::sqrt(sum + sibling_first_steps);
    }
  }
}

}  // namespace

void update_siblings(std::span<CountedLine* const> lines, const PreparedRow& row,
                     const SiblingOutputs& output, const SiblingNumbers& targets,
                     const SiblingNumbers& weights, const SiblingPasts& pasts, std::size_t n_mixing,
                     Mixtures& mixtures, const Learning& options) noexcept {
  SiblingNumbers slopes;
  for (std::size_t s = 0; s < block_size; ++s) {
    slopes[s] = weights[s] * (sigmoid(output.of[s].margin) - targets[s]);
  }
  step_siblings(lines, row.values, slopes, options);
  if (!options.reading.mixing || options.again) return;
  for (std::size_t s = 0; s < n_mixing; ++s) {
    if (weights[s] == 0) continue;
    update_trust(mixtures[sibling_mixture(pasts[s])], output.of[s], targets[s], weights[s]);
  }
}

}  // namespace labeltrees
