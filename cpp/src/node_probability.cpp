#include "labeltrees/node_probability.hpp"

#include <algorithm>
#include <bit>

namespace labeltrees {

void PreparedRow::assign(const SparseRow& row, const Reading& reading) {
  features.clear();
  values.clear();
  float scale = 1.0f;
  if (reading.normalize) {
    double square = 0;
    for (const float value : row.values) square += static_cast<double>(value) * value;
    if (square > 0) scale = static_cast<float>(1.0 / std::sqrt(square));
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row.values[k] == 0.0f) continue;  // a stored zero says nothing, and would cost a line
    features.push_back(static_cast<std::uint32_t>(row.indices[k]));
    values.push_back(row.values[k] * scale);
  }
  if (reading.bias != 0.0f) {
    features.push_back(bias_feature);
    values.push_back(reading.bias);
  }
}

namespace {

constexpr float vote_prior = 0.3f;
constexpr double prior_prior = 0.4;
constexpr std::size_t n_one_sided = 8;

// Logarithms and classes of all counts that can occur.
struct VoteTables {
  std::array<float, 256> log_count;
  std::array<std::uint8_t, 512> one_sided, two_sided;

  VoteTables() {
    for (std::size_t n = 0; n < log_count.size(); ++n) {
      log_count[n] = static_cast<float>(std::log(static_cast<double>(n) + vote_prior));
    }
    for (std::size_t n = 0; n < one_sided.size(); ++n) {
      const auto power = static_cast<std::size_t>(n == 0 ? 0 : std::bit_width(n) - 1);
      const std::size_t once = n < 4 ? (n == 0 ? 0 : n - 1) : power + 1;
      const std::size_t both = power == 0 ? 0 : power - 1;
      one_sided[n] = static_cast<std::uint8_t>(std::min(once, n_one_sided - 1));
      two_sided[n] =
          static_cast<std::uint8_t>(n_one_sided + std::min(both, n_vote_classes - n_one_sided - 1));
    }
  }
};
const VoteTables tables;

}  // namespace

std::size_t vote_class(std::uint8_t left, std::uint8_t right) noexcept {
  const std::size_t n = std::size_t{left} + right;
  return left == 0 || right == 0 ? tables.one_sided[n] : tables.two_sided[n];
}

float vote(std::uint8_t left, std::uint8_t right) noexcept {
  return tables.log_count[right] - tables.log_count[left];
}

void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                BlockLines& lines) {
  for (const std::uint32_t feature : row.features)
    table.prefetch(CountedTable::key(block, feature));
  lines.clear();
  for (const std::uint32_t feature : row.features) {
    lines.push_back(table.find(CountedTable::key(block, feature)));
  }
}

void step_lines(std::span<CountedLine* const> lines, const PreparedRow& row, std::size_t slot,
                float slope, const Learning& options) noexcept {
  const float rate = options.learning_rate;
  if (options.optimizer == Optimizer::sgd) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      lines[k]->weight[slot] -= rate * slope * row.values[k];
    }
    return;
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const float gradient = slope * row.values[k];
    const float sum = lines[k]->sum(slot) + gradient * gradient;
    lines[k]->set_sum(slot, sum);
    lines[k]->weight[slot] -= rate * gradient / std::sqrt(sum + adagrad_floor);
  }
}

NodeOpinion ask_node(const ConditionalTree& model, NodeId node,
                     std::span<const CountedLine* const> lines, const PreparedRow& row,
                     const Reading& reading) noexcept {
  const std::size_t slot = model.place(node).slot;
  NodeOpinion opinion{};
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k] == nullptr) continue;
    const CountedLine& line = *lines[k];
    const float x = row.values[k];
    opinion.margin += x * line.weight[slot];
    if (!reading.mixing || (line.left[slot] | line.right[slot]) == 0) continue;
    opinion.inputs[vote_class(line.left[slot], line.right[slot])] +=
        x * vote(line.left[slot], line.right[slot]);
  }
  opinion.log_odds = opinion.margin;
  float sharpness = 1.0f;
  if (reading.mixing) {
    const NodeId left = model.tree().first_child(node);
    opinion.inputs[n_vote_classes] = opinion.margin;
    opinion.inputs[n_vote_classes + 1] = std::log(static_cast<float>(
        (model.mass(left + 1) + prior_prior) / (model.mass(left) + prior_prior)));
    const Mixture& mixture = model.mixture(node);
    opinion.log_odds = 0;
    for (std::size_t i = 0; i < n_mixed; ++i) opinion.log_odds += mixture[i] * opinion.inputs[i];
    sharpness = reading.sharpness;
  }
  const double sharp = estimate(sharpness * opinion.log_odds, reading.loss);
  opinion.estimate = reading.mixing ? sigmoid(opinion.log_odds) : static_cast<float>(sharp);
  // Written so that a NaN, of weights and values past all measure, becomes the floor.
  opinion.p_node =
      sharp > probability_floor ? std::min(sharp, 1.0 - probability_floor) : probability_floor;
  return opinion;
}

}  // namespace labeltrees
