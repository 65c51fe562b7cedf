// The view of a user's rows, checked only for what would read outside its arrays.
#pragma once

#include <algorithm>

#include "bindings.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees::bindings {

inline void need(bool fits, const char* what) {
  if (!fits) throw nb::value_error(what);
}

// The arrays' contents are checked in Python.
inline CsrView csr_view(const Vector<std::int64_t>& starts, const Vector<std::int32_t>& indices,
                        const Vector<float>& values) {
  const auto s = view(starts);
  need(!s.empty() && s.front() == 0 && std::is_sorted(s.begin(), s.end()) &&
           static_cast<std::size_t>(s.back()) <= indices.shape(0) &&
           indices.shape(0) == values.shape(0),
       "starts, indices and values do not fit together");
  return {s, view(indices), view(values)};
}

}  // namespace labeltrees::bindings
