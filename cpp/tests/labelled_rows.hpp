// Rows with one label each.
#pragma once

#include <vector>

#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees::tests {

struct LabelledRows : OwnedRows {
  std::vector<LabelId> labels;

  void add_entry(std::int32_t feature, float value) {
    indices.push_back(feature);
    values.push_back(value);
  }
  void end_row(LabelId label) {
    row_starts.push_back(static_cast<std::int64_t>(indices.size()));
    labels.push_back(label);
  }
};

}  // namespace labeltrees::tests
