// A read-only view of compressed sparse rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labeltrees {

struct SparseRow {
  std::span<const std::int32_t> indices;  // strictly increasing, >= 0
  std::span<const float> values;          // finite
  std::size_t size() const noexcept { return indices.size(); }
};

// Row r holds entries row_starts[r] .. row_starts[r + 1] of indices and values.
// The caller owns the memory and has checked the arrays; kernels do not check again.
struct CsrView {
  std::span<const std::int64_t> row_starts;
  std::span<const std::int32_t> indices;
  std::span<const float> values;

  std::size_t n_rows() const noexcept { return row_starts.size() - 1; }
  SparseRow row(std::size_t r) const noexcept {
    const auto begin = static_cast<std::size_t>(row_starts[r]);
    const auto count = static_cast<std::size_t>(row_starts[r + 1]) - begin;
    return {indices.subspan(begin, count), values.subspan(begin, count)};
  }
};

// Rows that own their memory.
struct OwnedRows {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  CsrView view() const noexcept { return {row_starts, indices, values}; }
};

// Row i of the result is row rows[i] of X, which must exist. O(rows + their nnz).
OwnedRows take_rows(const CsrView& X, std::span<const std::int64_t> rows);

// Whether starts begin at 0, never decrease and stay within the arrays, indices increase in every
// row and are below n_features, and values are finite, or NaN where that is allowed. O(nnz).
bool is_tidy(const CsrView& X, std::size_t n_features, bool nan_allowed) noexcept;

}  // namespace labeltrees
