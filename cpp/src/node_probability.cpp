#include "labeltrees/node_probability.hpp"

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

Margins block_margins(const WeightTable& table, std::uint32_t block, const PreparedRow& row) {
  Margins margins{};
  for (std::size_t k = 0; k < row.size(); ++k) {
    table.prefetch(WeightTable::key(block, row.features[k]));
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    const WeightLine* line = table.find(WeightTable::key(block, row.features[k]));
    if (line == nullptr) continue;
    const float x = row.values[k];
    for (std::size_t slot = 0; slot < margins.size(); ++slot)
      margins[slot] += x * line->value[slot];
  }
  return margins;
}

}  // namespace labeltrees
