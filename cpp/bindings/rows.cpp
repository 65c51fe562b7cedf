#include "rows.hpp"

#include "labeltrees/rows/csr.hpp"

namespace labeltrees::bindings {

void bind_csr(nb::module_& module) {
  module.def(
      "is_tidy",
      [](Starts starts, Indices indices, Values values, std::size_t n_features, bool nan_allowed) {
        return is_tidy({view(starts), view(indices), view(values)}, n_features, nan_allowed);
      },
      nb::arg("starts").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
      nb::arg("n_features"), nb::arg("nan_allowed"), "Whether checked rows are made of this.");
}

}  // namespace labeltrees::bindings
