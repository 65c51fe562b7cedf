// What the files of conditional trees, of refined ones and of trees for many labels hold.
#pragma once

#include "labeltrees/conditional/tree.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {

// The lines of the table in order of their keys: weights, codes of the optimiser's sums, counts
// left and right have seven columns each.
struct CountedLines {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights;
  std::vector<std::uint16_t> sums;
  std::vector<std::uint8_t> left, right;

  explicit CountedLines(const CountedTable& table) {
    const std::size_t n = table.size();
    keys.reserve(n);
    weights.reserve(n * block_size);
    sums.reserve(n * block_size);
    left.reserve(n * block_size);
    right.reserve(n * block_size);
    for (const CountedLine* line : table.sorted_lines()) {
      keys.push_back(line->key);
      weights.insert(weights.end(), line->weight.begin(), line->weight.end());
      sums.insert(sums.end(), line->sum_code.begin(), line->sum_code.end());
      for (const Counts counts : line->counts) {
        left.push_back(static_cast<std::uint8_t>(left_count(counts)));
        right.push_back(static_cast<std::uint8_t>(right_count(counts)));
      }
    }
  }
  auto given() && {
    return std::tuple(give(std::move(keys)), give(std::move(weights), block_size),
                      give(std::move(sums), block_size), give(std::move(left), block_size),
                      give(std::move(right), block_size));
  }
};

// The rerankers' pairs of label and feature, in order of their keys.
struct Pairs {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights;
  std::vector<std::uint16_t> sums;
  std::vector<std::uint8_t> others, own;  // examples counted

  explicit Pairs(const PairTable& table) {
    const std::size_t n = table.size();
    keys.reserve(n);
    weights.reserve(n);
    sums.reserve(n);
    others.reserve(n);
    own.reserve(n);
    for (const PairLine* line : table.sorted_lines()) {
      keys.push_back(line->key);
      weights.push_back(line->weight);
      sums.push_back(line->sum_code);
      others.push_back(static_cast<std::uint8_t>(left_count(line->counts)));
      own.push_back(static_cast<std::uint8_t>(right_count(line->counts)));
    }
  }
  auto given() && {
    return std::tuple(give(std::move(keys)), give(std::move(weights)), give(std::move(sums)),
                      give(std::move(others)), give(std::move(own)));
  }
};

inline std::vector<float> mixtures_in(const Mixtures& mixtures) {
  std::vector<float> values;
  for (const Mixture& mixture : mixtures) {
    values.insert(values.end(), mixture.begin(), mixture.end());
  }
  return values;
}

// All of a conditional tree at one moment.
struct TreeSnapshot {
  LabelTree tree;
  std::vector<double> masses;
  CountedLines lines;
  std::vector<float> mixtures;

  explicit TreeSnapshot(const ConditionalTree& model)
      : tree(model.tree()),
        masses(model.masses()),
        lines(model.table()),
        mixtures(mixtures_in(model.mixtures())) {}

  // tree, masses, lines, mixtures
  auto given() && {
    return std::tuple(std::move(tree), give(std::move(masses)), std::move(lines).given(),
                      give(std::move(mixtures), n_mixed));
  }
};

}  // namespace labeltrees::bindings
