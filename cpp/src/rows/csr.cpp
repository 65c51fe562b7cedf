#include "labeltrees/rows/csr.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {

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
