#include "labeltrees/filter_tree.hpp"

#include <nanobind/stl/tuple.h>

#include <limits>
#include <mutex>

#include "views.hpp"

namespace labeltrees::bindings {
namespace {

using Starts = Vector<std::int64_t>;
using Indices = Vector<std::int32_t>;
using Values = Vector<float>;
using Foreseen = std::tuple<OwnedVector<double>, OwnedVector<std::uint8_t>, OwnedVector<LabelId>,
                            OwnedVector<double>>;

Foreseen learn_rows(ConditionalTree& model, Starts starts, Indices indices, Values values,
                    Vector<LabelId> labels, Values weights, Starts order, bool foresee_top,
                    const Learning& options, bool foresee_label) {
  const CsrView X = csr_view(starts, indices, values);
  const std::size_t n_rows = X.n_rows();
  need(labels.shape(0) == n_rows, "labels need one entry for every row");
  need(weights.shape(0) == 0 || weights.shape(0) == n_rows, "weights need one entry for every row");
  for (std::size_t r = 0; r < n_rows; ++r) {
    const bool learned = weights.shape(0) == 0 || weights.data()[r] > 0;
    const LabelId label = labels.data()[r];
    need(!learned || (label >= 0 && label < std::numeric_limits<LabelId>::max()),
         "a label cannot be learned");
  }
  for (const std::int64_t r : view(order)) {
    need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
  }
  const std::size_t n = order.shape(0) == 0 ? n_rows : order.shape(0);
  std::vector<double> p_label(foresee_label ? n : 0), p_top(foresee_top ? n : 0);
  std::vector<LabelId> top(foresee_top ? n : 0);
  std::vector<std::uint8_t> is_new(n);
  {
    nb::gil_scoped_release unlocked;
    const std::unique_lock alone(model.mutex());
    learn_tournament(model, X, view(labels), view(weights), view(order),
                     {p_label, is_new, top, p_top}, options);
  }
  return {give(std::move(p_label)), give(std::move(is_new)), give(std::move(top)),
          give(std::move(p_top))};
}

OwnedVector<LabelId> winners(const ConditionalTree& model, Starts starts, Indices indices,
                             Values values, const Reading& reading) {
  const CsrView X = csr_view(starts, indices, values);
  std::vector<LabelId> labels(X.n_rows());
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    tournament_winners(model, X, reading, labels);
  }
  return give(std::move(labels));
}

OwnedVector<double> named(const ConditionalTree& model, Starts starts, Indices indices,
                          Values values, Vector<LabelId> labels, const Reading& reading) {
  const CsrView X = csr_view(starts, indices, values);
  need(labels.shape(0) == X.n_rows(), "labels need one entry for every row");
  std::vector<double> p(X.n_rows());
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    tournament_probabilities(model, X, view(labels), reading, p);
  }
  return give(std::move(p));
}

std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>> top(const ConditionalTree& model,
                                                          Starts starts, Indices indices,
                                                          Values values, std::size_t k,
                                                          const Reading& reading) {
  const CsrView X = csr_view(starts, indices, values);
  std::vector<LabelId> labels(X.n_rows() * k);
  std::vector<double> p(X.n_rows() * k);
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    tournament_top(model, X, k, reading, labels, p);
  }
  return {give(std::move(labels), k), give(std::move(p), k)};
}

OwnedMatrix<double> all(const ConditionalTree& model, Starts starts, Indices indices, Values values,
                        std::size_t n_columns, const Reading& reading) {
  const CsrView X = csr_view(starts, indices, values);
  std::vector<double> p(X.n_rows() * n_columns);
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    tournament_all(model, X, n_columns, reading, p);
  }
  return give(std::move(p), n_columns);
}

}  // namespace

void bind_filter_tree(nb::module_& module) {
  const auto model = nb::arg("model");
  const auto starts = nb::arg("starts").noconvert();
  const auto indices = nb::arg("indices").noconvert();
  const auto values = nb::arg("values").noconvert();
  const auto labels = nb::arg("labels").noconvert();
  module.def("learn_tournament", &learn_rows, model, starts, indices, values, labels,
             nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("foresee_top"),
             nb::arg("options"), nb::arg("foresee_label"));
  module.def("tournament_winners", &winners, model, starts, indices, values, nb::arg("reading"));
  module.def("tournament_probabilities", &named, model, starts, indices, values, labels,
             nb::arg("reading"));
  module.def("tournament_top", &top, model, starts, indices, values, nb::arg("k"),
             nb::arg("reading"));
  module.def("tournament_all", &all, model, starts, indices, values, nb::arg("n_columns"),
             nb::arg("reading"));
}

}  // namespace labeltrees::bindings
