#include <cmath>

#include "labeltrees/extreme/training.hpp"
#include "labeltrees/platform/attention.hpp"
#include "labeltrees/rows/feature_ranks.hpp"

namespace labeltrees {

OwnedRows unit_rows(const CsrView& X) {
  OwnedRows unit;
  unit.row_starts.reserve(X.n_rows() + 1);
  unit.indices.reserve(X.indices.size());
  unit.values.reserve(X.indices.size());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    const SparseRow row = X.row(r);
    double square = 0;
    for (const float value : row.values) square += static_cast<double>(value) * value;
    const double length = std::sqrt(square);
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row.values[k] == 0.0f) continue;
      unit.indices.push_back(row.indices[k]);
      unit.values.push_back(static_cast<float>(static_cast<double>(row.values[k]) / length));
    }
    unit.row_starts.push_back(static_cast<std::int64_t>(unit.indices.size()));
  }
  return unit;
}

PreparedRows number_features(OwnedRows&& unit) {
  const FeatureRanks ranks(unit.indices);
  PreparedRows prepared;
  prepared.names = ranks.names();
  for (std::int32_t& feature : unit.indices) feature = ranks.rank(feature);
  prepared.starts = std::move(unit.row_starts);
  prepared.indices = std::move(unit.indices);
  prepared.values = std::move(unit.values);
  return prepared;
}

PreparedRows prepare_rows(const CsrView& X) { return number_features(unit_rows(X)); }

}  // namespace labeltrees
