#include "labeltrees/rows/csr.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {

OwnedRows take_rows(const CsrView& X, std::span<const std::int64_t> rows) {
  OwnedRows taken;
  taken.row_starts.reserve(rows.size() + 1);
  std::int64_t n = 0;
  for (const std::int64_t r : rows) {
    n += static_cast<std::int64_t>(X.row(static_cast<std::size_t>(r)).size());
    taken.row_starts.push_back(n);
  }
  taken.indices.reserve(static_cast<std::size_t>(n));
  taken.values.reserve(static_cast<std::size_t>(n));
  for (const std::int64_t r : rows) {
    const SparseRow row = X.row(static_cast<std::size_t>(r));
    taken.indices.insert(taken.indices.end(), row.indices.begin(), row.indices.end());
    taken.values.insert(taken.values.end(), row.values.begin(), row.values.end());
  }
  return taken;
}

bool is_tidy(const CsrView& X, std::size_t n_features, bool nan_allowed) noexcept {
  const auto starts = X.row_starts;
  const std::size_t n = X.indices.size();
  if (starts.empty() || starts.front() != 0 || !std::is_sorted(starts.begin(), starts.end()) ||
      static_cast<std::size_t>(starts.back()) != n || X.values.size() != n) {
    return false;
  }
  for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
    std::int64_t before = -1;
    for (const std::int32_t index : X.row(r).indices) {
      if (index <= before) return false;
      before = index;
    }
    if (before >= static_cast<std::int64_t>(n_features)) return false;
  }
  return std::all_of(X.values.begin(), X.values.end(), [&](float value) {
    return std::isfinite(value) || (nan_allowed && std::isnan(value));
  });
}

}  // namespace labeltrees
