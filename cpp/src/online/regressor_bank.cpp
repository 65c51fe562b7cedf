#include "labeltrees/online/regressor_bank.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {
namespace {

// How many regressors block b of the bank has.
std::size_t size_of_block(const Bank& bank, std::uint32_t b) {
  return std::min<std::size_t>(block_size, bank.n_regressors - b * block_size);
}

using Slopes = std::array<float, block_size>;

// One feature's weights in a block; a slope of 0 changes nothing.
void step(WeightLine& line, float x, const Slopes& slopes, Optimizer optimizer, float rate) {
  if (optimizer == Optimizer::sgd) {
    for (std::size_t slot = 0; slot < block_size; ++slot) {
      line.weight(slot) -= rate * slopes[slot] * x;
    }
    return;
  }
  for (std::size_t slot = 0; slot < block_size; ++slot) {
    const float gradient = slopes[slot] * x;
    const float sum = line.sum(slot) += gradient * gradient;
    line.weight(slot) -= rate * gradient / std::sqrt(sum + adagrad_floor);
  }
}

}  // namespace

Margins block_margins(const WeightTable& table, std::uint32_t block, const PreparedRow& row) {
  Margins margins{};
  std::array<const WeightLine*, 32> guesses;  // number of lines that are prefetched at once
  for (std::size_t first = 0; first < row.size(); first += guesses.size()) {
    const std::size_t n = std::min(guesses.size(), row.size() - first);
    const auto key = [&](std::size_t i) {
      return WeightTable::key(block, row.features[first + i]);
    };
    for (std::size_t i = 0; i < n; ++i) table.prefetch_tags(key(i));
    for (std::size_t i = 0; i < n; ++i) guesses[i] = table.guess(key(i));
    for (std::size_t i = 0; i < n; ++i) {
      const WeightLine* line = table.find(key(i), guesses[i]);
      if (line != nullptr) add_line(*line, row.values[first + i], margins);
    }
  }
  return margins;
}

void bank_margins(const WeightTable& table, const Bank& bank, const PreparedRow& row,
                  std::span<float> margins) {
  for (std::uint32_t b = 0; b < bank.n_blocks(); ++b) {
    const Margins block = block_margins(table, bank.first_block + b, row);
    std::copy_n(block.begin(), size_of_block(bank, b), margins.begin() + b * block_size);
  }
}

void BankTrainer::make_room(WeightTable& table, std::size_t n_blocks, const PreparedRow& row) {
  lines_.reserve(row.size());
  table.make_room(n_blocks * row.size());
}

bool may_train(const WeightTable& table, const Bank& bank, const PreparedRow& row,
               std::span<const std::uint8_t> targets, float weight, const Learning& options,
               std::span<float> margins) {
  bank_margins(table, bank, row, margins);
  const float largest = row.largest();
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const float s = weight * slope(margins[i], targets[i] != 0, options.reading.loss);
    if (!may_step(s, largest, options.optimizer, options.learning_rate)) return false;
  }
  return true;
}

bool BankTrainer::train(WeightTable& table, const Bank& bank, const PreparedRow& row,
                        std::span<const std::uint8_t> targets, float weight,
                        const Learning& options, std::span<float> margins) {
  for (std::uint32_t b = 0; b < bank.n_blocks(); ++b) {
    const std::uint32_t block = bank.first_block + b;
    for (const std::uint32_t feature : row.features) {
      table.prefetch(WeightTable::key(block, feature));
    }
    lines_.clear();
    Margins margin{};
    for (std::size_t k = 0; k < row.size(); ++k) {
      WeightLine& line = table.obtain(WeightTable::key(block, row.features[k]));
      lines_.push_back(&line);
      for (std::size_t slot = 0; slot < margin.size(); ++slot) {
        margin[slot] += row.values[k] * line.value[slot];
      }
    }
    Slopes slopes{};
    for (std::size_t slot = 0; slot < size_of_block(bank, b); ++slot) {
      const std::size_t i = b * block_size + slot;
      margins[i] = margin[slot];
      if (!std::isfinite(margin[slot])) return false;
      slopes[slot] = weight * slope(margin[slot], targets[i] != 0, options.reading.loss);
    }
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      step(*lines_[k], row.values[k], slopes, options.optimizer, options.learning_rate);
    }
  }
  return true;
}

void restore_lines(WeightTable& table, std::span<const std::uint64_t> keys,
                   std::span<const float> weights, std::span<const float> sums,
                   std::uint64_t n_blocks) {
  if (weights.size() != keys.size() * block_size || sums.size() != weights.size()) {
    throw TreeError("weights and sums need seven values for every key");
  }
  const auto finite = [](float value) { return std::isfinite(value); };
  const auto not_negative = [](float value) { return value >= 0; };  // an overflowed sum is inf
  if (!std::all_of(weights.begin(), weights.end(), finite) ||
      !std::all_of(sums.begin(), sums.end(), not_negative)) {
    throw TreeError("weights must be finite, sums not negative");
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint32_t block = WeightTable::block_of(keys[i]);
    const bool is_block = block == WeightTable::shared_block || (block > 0 && block <= n_blocks);
    if ((i > 0 && keys[i] <= keys[i - 1]) || !is_block) {
      throw TreeError("key " + std::to_string(i) + " is out of order or names no block");
    }
    table.make_room(1);
    WeightLine line;
    line.key = keys[i];
    for (std::size_t slot = 0; slot < block_size; ++slot) {
      line.weight(slot) = weights[i * block_size + slot];
      line.sum(slot) = sums[i * block_size + slot];
    }
    table.put_back(line);
  }
}

}  // namespace labeltrees
