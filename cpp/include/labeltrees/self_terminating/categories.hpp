// Categorical features have predicates with a branch for every value that a node has.
//
// A tree's nodes are binary, so such a split is written as several. Its branches are the leaves of
// a small tree of comparisons x <= t of the one feature, whose inner nodes have the parent's
// distribution (factor 1, no labels listed) and the whole split's gain. Values between, below and
// above the node's values end at leaves without rows. These are null children, whose alpha is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/self_terminating/binned_columns.hpp"
#include "labeltrees/self_terminating/branch.hpp"
#include "labeltrees/self_terminating/split_search.hpp"
#include "labeltrees/self_terminating/targets.hpp"

namespace labeltrees {

// One categorical feature; values are whole numbers of a bin each, or missing.
struct Category {
  const Column* column;
  std::int32_t number;             // of the column
  std::vector<std::uint8_t> bins;  // by row; missing values have the bin after the last
  std::uint8_t missing() const noexcept { return column->missing(); }
};

// Returns the `features` that are not the same in all rows. O(rows) each.
std::vector<Category> categories_of(const BinnedColumns& data,
                                    std::span<const std::int32_t> features);

// A branch of a categorical split: values from above `low` up to the `low` of the next piece.
struct Piece {
  float low;
  int bin;  // -1 for a null child
};

// The pieces of the bins that a node has, increasing; `missing` among them is the first piece.
std::vector<Piece> pieces_of(const Category& category, std::span<const std::uint8_t> bins);

struct CategorySplit {
  double gain = 0.0;
  const Category* category = nullptr;
};

// Keeps its memory between calls. One thread at a time.
class CategorySearch {
 public:
  explicit CategorySearch(Criterion criterion) : criterion_(criterion), solver_(criterion) {}

  // The category whose branches decrease the penalised risk most, each branch with a separate
  // penalty; ties go to the first. places: the place of each row's target among the node's labels.
  // n_labels: number of labels of the whole tree. O(rows + bins labels) for each category.
  CategorySplit best(const NodeStatistics& node, std::span<const Category> categories,
                     const Targets& targets, std::size_t n_labels, const Penalty& penalty);

 private:
  double gain(const NodeStatistics& node, const Category& category, const Targets& targets,
              std::size_t n_labels, const Penalty& penalty);
  double branch(const NodeStatistics& node, std::span<const double> masses, std::size_t n_labels,
                const Penalty& penalty);

  Criterion criterion_;
  BranchSolver solver_;
  std::vector<double> masses_;  // bin by bin, a place for each label of the node
  std::vector<std::uint8_t> is_used_;
  std::vector<double> counts_, priors_;
};

}  // namespace labeltrees
