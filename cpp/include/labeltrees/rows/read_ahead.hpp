// Advises the system of rows of mapped files that are read soon.
#pragma once

#include <span>

#include "labeltrees/platform/system.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

// Advises the system that these rows of a mapped file are read soon. Does nothing if there are too
// many rows, because the first would be evicted before they are read.
template <typename Row>
void read_ahead(const CsrView& X, std::span<const Row> rows) {
  constexpr std::size_t most_entries = std::size_t{1} << 22;  // 32 MiB
  std::size_t n = 0;
  for (const Row r : rows) n += X.row(static_cast<std::size_t>(r)).size();
  if (n > most_entries) return;
  for (const Row r : rows) {
    const SparseRow row = X.row(static_cast<std::size_t>(r));
    system::read_soon(row.indices.data(), row.indices.size_bytes());
    system::read_soon(row.values.data(), row.values.size_bytes());
  }
}

}  // namespace labeltrees
