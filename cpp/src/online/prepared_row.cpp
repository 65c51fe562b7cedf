#include "labeltrees/online/prepared_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace labeltrees {

void PreparedRow::assign(const SparseRow& row, const Reading& reading) {
  features.clear();
  values.clear();
  float scale = reading.normalize ? 1.0f : reading.scale;
  double wide_scale = 0;  // where a float cannot hold it
  if (reading.normalize) {
    double square = 0;
    for (const float value : row.values) square += static_cast<double>(value) * value;
    if (square > 0) {
      const double exact = 1.0 / std::sqrt(square);
      using Range = std::numeric_limits<float>;
      const bool fits = exact >= double{Range::min()} && exact <= double{Range::max()};
      if (fits) {
        scale = static_cast<float>(exact);
      } else {
        wide_scale = exact;
      }
    }
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row.values[k] == 0.0f) continue;  // a stored zero has no effect, and would cost a line
    features.push_back(static_cast<std::uint32_t>(row.indices[k]));
    values.push_back(wide_scale == 0 ? row.values[k] * scale
                                     : static_cast<float>(row.values[k] * wide_scale));
  }
  if (reading.bias != 0.0f) {
    features.push_back(bias_feature);
    values.push_back(reading.bias);
  }
}

float PreparedRow::largest() const noexcept {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace labeltrees
