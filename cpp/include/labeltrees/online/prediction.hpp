// Results of queries: for a row before it is learned, and for any row.
#pragma once

#include <cstdint>
#include <span>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// One result of a search.
struct Found {
  LabelId label;
  double p_label;
};

// The prediction for a row before it is learned; empty spans are not filled.
struct Prediction {
  std::span<double> p_label;       // probability of the row's own label; 0 if it is new
  std::span<std::uint8_t> is_new;  // 1 if the row's label had not been learned
  std::span<LabelId> top;          // the most likely label; none while there is no label
  std::span<double> p_top;         // and its probability
};

}  // namespace labeltrees
