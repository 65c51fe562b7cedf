#include "rows.hpp"

#include <nanobind/stl/tuple.h>

#include <cmath>
#include <tuple>

#include "labeltrees/rows/standardize.hpp"

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

// The moments' own memory, or an error if they are none.
Moments held_moments(double total, const Vector<double>& mean, const Vector<double>& squares) {
  Moments moments{total,
                  {mean.data(), mean.data() + mean.shape(0)},
                  {squares.data(), squares.data() + squares.shape(0)}};
  need(moments.mean.size() == moments.squares.size(), "mean and squares differ in length");
  const auto is_finite = [](double value) { return std::isfinite(value); };
  need(std::isfinite(total) && total >= 0 &&
           std::all_of(moments.mean.begin(), moments.mean.end(), is_finite) &&
           std::all_of(moments.squares.begin(), moments.squares.end(),
                       [&](double value) { return is_finite(value) && value >= 0; }),
       "moments must be finite, weights and squares not negative");
  return moments;
}

// Rows whose features no other thread can change; all features are below n_features.
OwnedRows rows_within(const Starts& starts, const Indices& indices, const Values& values,
                      std::size_t n_features) {
  OwnedRows copy = copied_rows(starts, indices, values);
  for (const std::int32_t feature : copy.indices) {
    need(static_cast<std::size_t>(feature) < n_features, "a feature is past the moments");
  }
  return copy;
}

using GivenMoments = std::tuple<double, OwnedVector<double>, OwnedVector<double>>;

GivenMoments given(Moments&& moments) {
  return {moments.total, give(std::move(moments.mean)), give(std::move(moments.squares))};
}

GivenMoments observed(Starts starts, Indices indices, Values values, Values weights, double total,
                      Vector<double> mean, Vector<double> squares) {
  Moments moments = held_moments(total, mean, squares);
  const OwnedRows rows = rows_within(starts, indices, values, moments.n_features());
  const std::vector<float> own(weights.data(), weights.data() + weights.shape(0));
  need(own.empty() || own.size() == rows.view().n_rows(), "there must be one weight per row");
  {
    const LongWork work;
    observe(moments, rows.view(), own);
  }
  return given(std::move(moments));
}

OwnedVector<float> standardized(Starts starts, Indices indices, Values values, double total,
                                Vector<double> mean, Vector<double> squares) {
  const Moments moments = held_moments(total, mean, squares);
  const OwnedRows rows = rows_within(starts, indices, values, moments.n_features());
  std::vector<float> scaled;
  {
    const LongWork work;
    scaled = standardize(moments, rows.view());
  }
  return give(std::move(scaled));
}

std::tuple<OwnedVector<float>, GivenMoments> standardized_and_observed(
    Starts starts, Indices indices, Values values, Values weights, double total,
    Vector<double> mean, Vector<double> squares) {
  Moments moments = held_moments(total, mean, squares);
  const OwnedRows rows = rows_within(starts, indices, values, moments.n_features());
  const std::vector<float> own(weights.data(), weights.data() + weights.shape(0));
  need(own.empty() || own.size() == rows.view().n_rows(), "there must be one weight per row");
  std::vector<float> scaled;
  {
    const LongWork work;
    scaled = standardize_and_observe(moments, rows.view(), own);
  }
  return {give(std::move(scaled)), given(std::move(moments))};
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
  module.def("observe", &observed, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("values").noconvert(), nb::arg("weights").noconvert(), nb::arg("total"),
             nb::arg("mean").noconvert(), nb::arg("squares").noconvert(),
             "The columns' moments after these rows.");
  module.def("standardize", &standardized, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("total"),
             nb::arg("mean").noconvert(), nb::arg("squares").noconvert(),
             "All entries of the rows, by (x - mean) / deviation of their columns.");
  module.def("standardize_and_observe", &standardized_and_observed, nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("total"), nb::arg("mean").noconvert(),
             nb::arg("squares").noconvert(),
             "The same of a stream, each row by those before it, and the moments after all.");
}

}  // namespace labeltrees::bindings
