// Sparse rows as the bindings receive them. The three arrays must fit together.
#pragma once

#include <algorithm>

#include "bindings.hpp"
#include "interpreter.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees::bindings {

using Starts = Vector<std::int64_t>;
using Indices = Vector<std::int32_t>;
using Values = Vector<float>;

inline void need(bool fits, const char* what) {
  if (!fits) throw nb::value_error(what);
}

// Rows whose starts no other thread can change. They are copied before they are checked, so that
// what has been checked stays true while the GIL is released. Other threads may still change
// features and values during the call, to any values. Use this class where features are looked up,
// not where they are array indices. Entries past the last row are left out.
class HeldRows {
 public:
  HeldRows(const Starts& starts, const Indices& indices, const Values& values)
      : starts_(starts.data(), starts.data() + starts.shape(0)) {
    need(!starts_.empty() && starts_.front() == 0 &&
             std::is_sorted(starts_.begin(), starts_.end()) &&
             static_cast<std::size_t>(starts_.back()) <= indices.shape(0) &&
             indices.shape(0) == values.shape(0),
         "starts, indices and values do not fit together");
    const auto n = static_cast<std::size_t>(starts_.back());
    indices_ = view(indices).first(n);
    values_ = view(values).first(n);
  }

  std::size_t n_rows() const noexcept { return starts_.size() - 1; }
  CsrView all() const noexcept { return {starts_, indices_, values_}; }
  CsrView part(std::size_t begin, std::size_t count) const noexcept {
    return {std::span(starts_).subspan(begin, count + 1), indices_, values_};
  }

 private:
  std::vector<std::int64_t> starts_;
  std::span<const std::int32_t> indices_;
  std::span<const float> values_;
};

// Rows that no other thread can change.
inline OwnedRows copied_rows(const Starts& starts, const Indices& indices, const Values& values) {
  const HeldRows held(starts, indices, values);
  const CsrView X = held.all();
  OwnedRows copy{{X.row_starts.begin(), X.row_starts.end()},
                 {X.indices.begin(), X.indices.end()},
                 {X.values.begin(), X.values.end()}};
  for (const std::int32_t feature : copy.indices) need(feature >= 0, "a feature is negative");
  return copy;
}

}  // namespace labeltrees::bindings
