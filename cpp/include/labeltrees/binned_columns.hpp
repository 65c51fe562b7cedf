// Features cut into at most 255 bins, column by column, sorted by bin: what split search reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/csr.hpp"
#include "labeltrees/workers.hpp"

namespace labeltrees {

inline constexpr int missing_bin = 255;

// One feature. Bins are numbered upwards by value; zero has bin zero_bin to itself, and its rows
// are not stored. Bin b (other than zero) holds values in [lows[b], highs[b]].
struct Column {
  std::int32_t feature;
  std::size_t begin, end;  // its entries
  int zero_bin;
  std::vector<float> lows, highs;
};

// Entries of a column: the rows whose value is not zero, by bin, then by row. NaN has missing_bin
// and comes last. A feature with as many values as fit has a bin for each; otherwise bins hold
// about equally many entries.
struct BinnedColumns {
  std::vector<Column> columns;  // by feature; features that are zero everywhere are left out
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> bins;
};

// max_bins in [3, 255], the bin of zero among them. O(nnz log nnz) at worst. Values may be NaN.
BinnedColumns bin_columns(const CsrView& X, int max_bins, Workers& workers);

}  // namespace labeltrees
