// Features cut into at most 255 bins, column by column, as split search reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/platform/workers.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

inline constexpr int missing_bin = 255;

// One feature. Bins are numbered upwards by value; zero has bin zero_bin to itself. Bin b (other
// than zero) holds values in [lows[b], highs[b]]. A feature with as many values as fit has a bin
// for each; otherwise bins hold about equally many entries. NaN has missing_bin, in a
// dense column the bin after the last.
struct Column {
  std::int32_t feature;
  bool dense;
  std::size_t begin, end;  // its entries
  int zero_bin;
  std::vector<float> lows, highs;
  // The bin of NaN in a dense column: the one after the last.
  std::uint8_t missing() const noexcept { return static_cast<std::uint8_t>(lows.size()); }
};

// A column is dense if at least a third of its values are not zero. Its entries are dense_bins, one
// for each row. The entries of other columns are the rows whose value is not zero, by bin, then by
// row, in rows and bins.
struct BinnedColumns {
  std::size_t n_rows = 0;
  std::vector<Column> columns;  // by feature; features that are zero everywhere are left out
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> bins;
  std::vector<std::uint8_t> dense_bins;
};

// max_bins in [3, 255], the bin of zero among them. O(nnz log nnz) at worst. Values may be NaN.
BinnedColumns bin_columns(const CsrView& X, int max_bins, Workers& workers);

}  // namespace labeltrees
