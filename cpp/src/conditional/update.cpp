#include "labeltrees/conditional/update.hpp"

#include <algorithm>

namespace labeltrees {
namespace {

constexpr float mixing_rate = 0.002f;
constexpr float input_limit = 8.0f;

// A negative value speaks for the other side.
void count(std::span<CountedLine* const> lines, std::size_t slot, const PreparedRow& row,
           bool right) noexcept {
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (row.features[k] == bias_feature) continue;
    Counts& counts = lines[k]->counts[slot];
    counts = count_example(counts, right == (row.values[k] > 0));
  }
}

// Moves the mixture along its gradient, so that inputs of proven worth count for more.
void update_mixture(Mixture& mixture, const NodeOutput& output, bool right, float weight) noexcept {
  const float error = sigmoid(output.log_odds) - (right ? 1.0f : 0.0f);
  for (std::size_t i = 0; i < n_mixed; ++i) {
    const float input = std::clamp(output.inputs[i], -input_limit, input_limit);
    mixture[i] -= mixing_rate * weight * error * input;
  }
}

}  // namespace

void update_node(std::span<CountedLine* const> lines, std::size_t slot, const PreparedRow& row,
                 const NodeOutput& output, bool right, float weight, Mixture& mixture,
                 const Learning& options) noexcept {
  step_lines(lines, row, slot, weight * slope(output.margin, right, options.reading.loss), options);
  if (!options.reading.mixing || options.again) return;
  count(lines, slot, row, right);
  update_mixture(mixture, output, right, std::min(weight, 1.0f));
}

bool may_update_path(const ConditionalTree& model, NodeId leaf, const PreparedRow& row,
                     float weight, const Learning& options, BlockLines& lines) {
  const LabelTree& tree = model.tree();
  const float largest = row.largest();
  const auto may = [&](float slope) {
    return may_step(slope, largest, options.optimizer, options.learning_rate);
  };
  std::uint32_t block = 0;
  for (NodeId below = leaf, node = tree.parent(leaf); node != none; node = tree.parent(node)) {
    if (model.place(node).block != block) {
      block = model.place(node).block;
      find_lines(model.table(), block, row, lines);
    }
    const float margin = evaluate_node(model, node, lines, row, options.reading).margin;
    const bool right = below != tree.first_child(node);
    if (!may(weight * slope(margin, right, options.reading.loss))) return false;
    below = node;
  }
  return may(weight);  // of a node without weights yet
}

}  // namespace labeltrees
