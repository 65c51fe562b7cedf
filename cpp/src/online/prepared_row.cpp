#include "labeltrees/online/prepared_row.hpp"

#include <cmath>

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

}  // namespace labeltrees
