#include "labeltrees/conditional/node_probability.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {

namespace {

constexpr float vote_prior = 0.3f;
constexpr double prior_prior = 0.4;
constexpr std::size_t n_one_sided = 8;

constexpr std::size_t count_limit = 60;

std::uint32_t trust_of(std::size_t left, std::size_t right) {
  const std::size_t n = left + right;
  if (n == 0) return 0;
  const auto power = static_cast<std::size_t>(std::bit_width(n) - 1);
  const std::size_t once = n < 4 ? n - 1 : power + 1;
  const std::size_t both = power == 0 ? 0 : power - 1;
  return static_cast<std::uint32_t>(
      left == 0 || right == 0 ? std::min(once, n_one_sided - 1)
                              : n_one_sided + std::min(both, n_vote_classes - n_one_sided - 1));
}

Counts one_more(std::size_t left, std::size_t right, bool to_right) {
  std::size_t& same = to_right ? right : left;
  std::size_t& other = to_right ? left : right;
  if (same >= count_limit) {
    same /= 2;
    other /= 2;
  }
  ++same;
  if (other > 2) other = 1 + other / 2;
  return pack_counts(left, right);
}

float log_count(std::size_t n) {
  return static_cast<float>(elementary::log(static_cast<double>(n) + vote_prior));
}

void confirm(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
             BlockLines& lines) {
  for (std::size_t k = 0; k < lines.size(); ++k) {
    lines[k] = table.find(CountedTable::key(block, row.features[k]), lines[k]);
  }
}

}  // namespace

CountTables::CountTables() {
  for (std::size_t right = 0; right < count_values; ++right) {
    for (std::size_t left = 0; left < count_values; ++left) {
      const std::size_t at = pack_counts(left, right);
      vote[at] = {log_count(right) - log_count(left), trust_of(left, right)};
      next[0][at] = one_more(left, right, false);
      next[1][at] = one_more(left, right, true);
    }
  }
}
const CountTables count_tables;

void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                BlockLines& lines) {
  lines.clear();
  for (const std::uint32_t feature : row.features) {
    lines.push_back(table.guess(CountedTable::key(block, feature)));
  }
  confirm(table, block, row, lines);
}

void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                std::span<const CountedLine* const> guesses, BlockLines& lines) {
  if (guesses.empty()) return find_lines(table, block, row, lines);
  lines.assign(guesses.begin(), guesses.end());
  confirm(table, block, row, lines);
}

void ExpectedRow::assign(const ConditionalTree& model, const SparseRow& row, NodeId leaf,
                         const Reading& reading) {
  row_.assign(row, reading);
  path_.clear();
  blocks_.clear();
  guesses_.clear();
  n_moves_ = model.table().n_moves();
  for (NodeId node = leaf; node != none; node = model.tree().parent(node)) path_.push_back(node);
  for (std::size_t i = path_.size(); i-- > 1;) {
    const std::uint32_t block = model.place(path_[i]).block;
    if (blocks_.empty() || blocks_.back() != block) blocks_.push_back(block);
  }
  guesses_.reserve(blocks_.size() * row_.size());  // fetch_block must not throw
  for (const std::uint32_t block : blocks_) {
    for (const std::uint32_t feature : row_.features) {
      model.table().prefetch_tags(CountedTable::key(block, feature));
    }
  }
}

void ExpectedRow::fetch_block(const CountedTable& table) noexcept {
  const std::size_t i = guesses_.size() / std::max<std::size_t>(row_.size(), 1);
  if (i >= blocks_.size()) return;
  const std::size_t first = guesses_.size();
  guesses_.resize(first + row_.size());
  for (std::size_t k = 0; k < row_.size(); ++k) {
    const std::uint64_t key = CountedTable::key(blocks_[i], row_.features[k]);
    guesses_[first + k] = may_add_ ? table.guess_place(key) : table.guess(key);
  }
}

std::span<const CountedLine* const> ExpectedRow::guesses(const CountedTable& table, std::size_t i,
                                                         std::uint32_t block) const noexcept {
  const std::size_t n = row_.size();
  const bool is_expected = i < blocks_.size() && (i + 1) * n <= guesses_.size();
  if (!is_expected || blocks_[i] != block || n_moves_ != table.n_moves()) return {};
  return std::span(guesses_).subspan(i * n, n);
}

NodePast past_of(const ConditionalTree& model, NodeId node) noexcept {
  const NodeId left = model.tree().first_child(node);
  return {model.mass(node), model.mass(left), model.mass(left + 1)};
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

NodeOutput evaluate_node(const ConditionalTree& model, NodeId node,
                         std::span<const CountedLine* const> lines, const PreparedRow& row,
                         const Reading& reading) noexcept {
  NodeOutput output;
  evaluate_slot(model.place(node).slot, lines, row.values, past_of(model, node),
                model.mixture(node), reading, output);
  return output;
}

namespace {

// The margin, and with mixing the votes.
template <bool mixing>
float add_features(std::span<const CountedLine* const> lines, std::span<const float> values,
                   std::size_t slot, Mixture& votes) noexcept {
  float margin = 0;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k] == nullptr) continue;
    const CountedLine& line = *lines[k];
    const float x = values[k];
    margin += x * line.weight[slot];
    if constexpr (mixing) {
      const Vote vote = vote_of(line.counts[slot]);
      votes[vote.trust] += x * vote.log_odds;
    }
  }
  return margin;
}

}  // namespace

// Four sums at once, always in this order.
float mixed(const Mixture& mixture, const Mixture& inputs) noexcept {
  std::array<float, 4> sum{};
  for (std::size_t i = 0; i < n_vote_classes; i += 4) {
    for (std::size_t j = 0; j < 4; ++j) sum[j] += mixture[i + j] * inputs[i + j];
  }
  const float votes = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  return votes + (mixture[n_vote_classes] * inputs[n_vote_classes] +
                  mixture[n_vote_classes + 1] * inputs[n_vote_classes + 1]);
}
static_assert(n_vote_classes % 4 == 0 && n_mixed == n_vote_classes + 2);

void evaluate_slot(std::size_t slot, std::span<const CountedLine* const> lines,
                   std::span<const float> values, const NodePast& past, const Mixture& mixture,
                   const Reading& reading, NodeOutput& output) noexcept {
  if (reading.mixing) {
    std::memset(output.inputs.data(), 0, sizeof output.inputs);
    output.margin = add_features<true>(lines, values, slot, output.inputs);
  } else {
    output.margin = add_features<false>(lines, values, slot, output.inputs);
  }
  conclude(past, mixture, reading, output);
}

void conclude(const NodePast& past, const Mixture& mixture, const Reading& reading,
              NodeOutput& output) noexcept {
  float sharpness = 1.0f;
  if (reading.mixing) {
    Mixture& inputs = output.inputs;
    inputs[n_vote_classes] = output.margin;
    inputs[n_vote_classes + 1] =
        elementary::log(static_cast<float>((past.right + prior_prior) / (past.left + prior_prior)));
    output.log_odds = mixed(mixture, inputs);
    sharpness = reading.sharpness;
  } else {
    output.log_odds = output.margin;
  }
  const double sharp = estimate(sharpness * output.log_odds, reading.loss);
  // Written so that a NaN, of weights and values past all measure, becomes the floor.
  output.p_node =
      sharp > probability_floor ? std::min(sharp, 1.0 - probability_floor) : probability_floor;
}

}  // namespace labeltrees
