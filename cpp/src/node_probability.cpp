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
  return static_cast<float>(std::log(static_cast<double>(n) + vote_prior));
}

// Everything about all counts that can occur, so that no loop has to branch.
struct CountTables {
  std::array<Vote, count_values * count_values> vote;
  std::array<std::array<Counts, count_values * count_values>, 2> next;  // by side

  CountTables() {
    for (std::size_t right = 0; right < count_values; ++right) {
      for (std::size_t left = 0; left < count_values; ++left) {
        const std::size_t at = pack_counts(left, right);
        vote[at] = {log_count(right) - log_count(left), trust_of(left, right)};
        next[0][at] = one_more(left, right, false);
        next[1][at] = one_more(left, right, true);
      }
    }
  }
};
const CountTables tables;

void confirm(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
             BlockLines& lines) {
  for (std::size_t k = 0; k < lines.size(); ++k) {
    lines[k] = table.find(CountedTable::key(block, row.features[k]), lines[k]);
  }
}

}  // namespace

Vote vote_of(Counts counts) noexcept { return tables.vote[counts]; }

Counts count_example(Counts counts, bool right) noexcept {
  return tables.next[right ? 1 : 0][counts];
}

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
  for (const std::uint32_t block : blocks_) {
    for (const std::uint32_t feature : row_.features) {
      model.table().prefetch_tags(CountedTable::key(block, feature));
    }
  }
}

void ExpectedRow::fetch_block(const CountedTable& table) noexcept {
  const std::size_t i = guesses_.size() / std::max<std::size_t>(row_.size(), 1);
  if (i >= blocks_.size()) return;
  for (const std::uint32_t feature : row_.features) {
    guesses_.push_back(table.guess(CountedTable::key(blocks_[i], feature)));
  }
}

std::span<const CountedLine* const> ExpectedRow::guesses(const CountedTable& table, std::size_t i,
                                                         std::uint32_t block) const noexcept {
  const std::size_t n = row_.size();
  const bool asked = i < blocks_.size() && (i + 1) * n <= guesses_.size();
  if (!asked || blocks_[i] != block || n_moves_ != table.n_moves()) return {};
  return std::span(guesses_).subspan(i * n, n);
}

namespace {

// The margin, and with mixing the votes.
template <bool mixing>
void add_features(std::span<const CountedLine* const> lines, const PreparedRow& row,
                  std::size_t slot, NodeOpinion& opinion) noexcept {
  float margin = 0;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k] == nullptr) continue;
    const CountedLine& line = *lines[k];
    const float x = row.values[k];
    margin += x * line.weight[slot];
    if constexpr (mixing) {
      const Vote vote = vote_of(line.counts[slot]);
      opinion.inputs[vote.trust] += x * vote.log_odds;
    }
  }
  opinion.margin = margin;
}

}  // namespace

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

NodeOpinion ask_node(const ConditionalTree& model, NodeId node,
                     std::span<const CountedLine* const> lines, const PreparedRow& row,
                     const Reading& reading) noexcept {
  return ask_slot(model.place(node).slot, lines, row, past_of(model, node), model.mixture(node),
                  reading);
}

NodeOpinion ask_slot(std::size_t slot, std::span<const CountedLine* const> lines,
                     const PreparedRow& row, const NodePast& past, const Mixture& mixture,
                     const Reading& reading) noexcept {
  NodeOpinion opinion{};
  if (reading.mixing) {
    add_features<true>(lines, row, slot, opinion);
  } else {
    add_features<false>(lines, row, slot, opinion);
  }
  opinion.log_odds = opinion.margin;
  float sharpness = 1.0f;
  if (reading.mixing) {
    opinion.inputs[n_vote_classes] = opinion.margin;
    opinion.inputs[n_vote_classes + 1] =
        std::log(static_cast<float>((past.right + prior_prior) / (past.left + prior_prior)));
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
