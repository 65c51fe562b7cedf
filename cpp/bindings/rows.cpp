#include "rows.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

namespace labeltrees::bindings {
namespace {

std::tuple<OwnedVector<std::int64_t>, OwnedVector<std::int32_t>, OwnedVector<float>> taken_rows(
    Starts starts, Indices indices, Values values, Starts rows) {
  const HeldRows held_rows(starts, indices, values);
  const CsrView X = held_rows.all();
  for (const std::int64_t r : view(rows)) {
    need(r >= 0 && static_cast<std::size_t>(r) < X.n_rows(), "rows names a row that is not there");
  }
  OwnedRows taken;
  {
    const LongWork work;
    taken = take_rows(X, view(rows));
  }
  return {give(std::move(taken.row_starts)), give(std::move(taken.indices)),
          give(std::move(taken.values))};
}

}  // namespace

void bind_csr(nb::module_& module) {
  module.def(
      "is_tidy",
      [](Starts starts, Indices indices, Values values, std::size_t n_features, bool nan_allowed) {
        return is_tidy({view(starts), view(indices), view(values)}, n_features, nan_allowed);
      },
      nb::arg("starts").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
      nb::arg("n_features"), nb::arg("nan_allowed"), "Whether checked rows are made of this.");
  module.def("take_rows", &taken_rows, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("rows").noconvert(), "The rows with these numbers, in their order.");
}

}  // namespace labeltrees::bindings
