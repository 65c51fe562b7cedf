// What models that learn row by row are asked: of a row before it is learned, and of any row.
#pragma once

#include <cstdint>
#include <span>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// One answer of a search.
struct Found {
  LabelId label;
  double p_label;
};

// The answers given for a row before learning from it; empty spans are not filled.
struct Prediction {
  std::span<double> p_label;       // probability of the row's own label; 0 if it is new
  std::span<std::uint8_t> is_new;  // 1 if the row's label had not been learned
  std::span<LabelId> top;          // the likeliest label; none while there is no label
  std::span<double> p_top;         // and its probability
};

}  // namespace labeltrees
