// Sparse rows as the bindings take them: three arrays that must fit together.
#pragma once

#include <algorithm>

#include "bindings.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees::bindings {

using Starts = Vector<std::int64_t>;
using Indices = Vector<std::int32_t>;
using Values = Vector<float>;

inline void need(bool fits, const char* what) {
  if (!fits) throw nb::value_error(what);
}

// The arrays' contents are checked in Python; here only what would read outside them. Entries past
// the last row are left out.
inline CsrView csr(const Starts& starts, const Indices& indices, const Values& values) {
  const auto s = view(starts);
  need(!s.empty() && s.front() == 0 && std::is_sorted(s.begin(), s.end()) &&
           static_cast<std::size_t>(s.back()) <= indices.shape(0) &&
           indices.shape(0) == values.shape(0),
       "starts, indices and values do not fit together");
  const auto n = static_cast<std::size_t>(s.back());
  return {s, view(indices).first(n), view(values).first(n)};
}

}  // namespace labeltrees::bindings
