// A row as the regressors see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "labeltrees/online/regression.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

// The constant feature; no real feature has this index.
inline constexpr std::uint32_t bias_feature = 0xffffffffu;

// Scaled, without stored zeros, with the constant feature at the end.
struct PreparedRow {
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  std::size_t size() const noexcept { return features.size(); }
  // The largest absolute value; 0 for a row of nothing.
  float largest() const noexcept;

  void assign(const SparseRow& row, const Reading& reading);
};

}  // namespace labeltrees
