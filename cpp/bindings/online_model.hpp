// The methods that models on a weight table have in common, whatever their shape.
#pragma once

#include <nanobind/stl/tuple.h>

#include <limits>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "labeltrees/online/answers.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/online/weight_table.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {

// p_label, is_new, top, p_top
using Foreseen = std::tuple<OwnedVector<double>, OwnedVector<std::uint8_t>, OwnedVector<LabelId>,
                            OwnedVector<double>>;

// Of models that take labels as they come.
struct AnyLabel {
  bool operator()(const auto&, LabelId label) const noexcept {
    return label >= 0 && label < std::numeric_limits<LabelId>::max();
  }
};

// can_learn(model, label) tells whether a row of that label may be learned by kernel(model, X,
// labels, weights, order, foresight, options).
template <typename Model, typename Options, typename CanLearn, typename Kernel>
auto learner_of(CanLearn can_learn, Kernel kernel) {
  return [can_learn, kernel](Model& model, Starts starts, Indices indices, Values values,
                             Vector<LabelId> labels, Values weights, Starts order, bool foresee_top,
                             const Options& options, bool foresee_label) -> Foreseen {
    const CsrView X = csr(starts, indices, values);
    const std::size_t n_rows = X.n_rows();
    need(labels.shape(0) == n_rows, "labels need one entry for every row");
    need(weights.shape(0) == 0 || weights.shape(0) == n_rows,
         "weights need one entry for every row");
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
      for (std::size_t r = 0; r < n_rows; ++r) {
        const bool learned = weights.shape(0) == 0 || weights.data()[r] > 0;
        need(!learned || can_learn(model, labels.data()[r]), "a label cannot be learned");
      }
      kernel(model, X, view(labels), view(weights), view(order),
             Foresight{p_label, is_new, top, p_top}, options);
    }
    return {give(std::move(p_label)), give(std::move(is_new)), give(std::move(top)),
            give(std::move(p_top))};
  };
}

// kernel(model, X, labels, reading, out, more...): one number for the label of every row.
template <typename Model, typename... More, typename Kernel>
auto named_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values,
                  Vector<LabelId> labels, const Reading& reading, More... more) {
    const CsrView X = csr(starts, indices, values);
    need(labels.shape(0) == X.n_rows(), "labels need one entry for every row");
    std::vector<double> p(X.n_rows());
    {
      nb::gil_scoped_release unlocked;
      const std::shared_lock shared(model.mutex());
      kernel(model, X, view(labels), reading, std::span<double>(p), more...);
    }
    return give(std::move(p));
  };
}

// kernel(model, X, k, reading, labels, p, more...): row-major (n_rows, k).
template <typename Model, typename... More, typename Kernel>
auto top_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values, std::size_t k,
                  const Reading& reading, More... more) {
    const CsrView X = csr(starts, indices, values);
    std::vector<LabelId> labels(X.n_rows() * k);
    std::vector<double> p(X.n_rows() * k);
    {
      nb::gil_scoped_release unlocked;
      const std::shared_lock shared(model.mutex());
      kernel(model, X, k, reading, std::span<LabelId>(labels), std::span<double>(p), more...);
    }
    return std::tuple(give(std::move(labels), k), give(std::move(p), k));
  };
}

// kernel(model, X, n_columns, reading, p): row-major (n_rows, n_columns).
template <typename Model, typename Kernel>
auto all_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values,
                  std::size_t n_columns, const Reading& reading) {
    const CsrView X = csr(starts, indices, values);
    std::vector<double> p(X.n_rows() * n_columns);
    {
      nb::gil_scoped_release unlocked;
      const std::shared_lock shared(model.mutex());
      kernel(model, X, n_columns, reading, std::span<double>(p));
    }
    return give(std::move(p), n_columns);
  };
}

template <typename Model>
std::tuple<OwnedVector<std::uint64_t>, OwnedMatrix<float>, OwnedMatrix<float>> lines_of(
    const Model& model) {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights, sums;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    for (const WeightLine* line : model.table().sorted_lines()) {
      keys.push_back(line->key);
      weights.insert(weights.end(), line->value.begin(), line->value.begin() + block_size);
      sums.insert(sums.end(), line->value.begin() + block_size, line->value.end());
    }
  }
  return {give(std::move(keys)), give(std::move(weights), block_size),
          give(std::move(sums), block_size)};
}

// What all tables of lines have.
template <typename Model>
void def_table(nb::class_<Model>& cls) {
  cls.def("masses", [](const Model& model) { return give(std::vector(model.masses())); })
      .def(
          "limit_bytes", [](Model& m, std::size_t n_bytes) { m.table().limit_bytes(n_bytes); },
          nb::arg("n_bytes"))
      .def_prop_ro("n_lines", [](const Model& m) { return m.table().size(); })
      .def_prop_ro("n_bytes", [](const Model& m) { return m.table().n_bytes(); });
}

template <typename Options = Learning, typename Model, typename CanLearn>
void def_online_model(nb::class_<Model>& cls, CanLearn can_learn) {
  const auto teach = [](Model& model, auto&&... arguments) { learn(model, arguments...); };
  const auto named = [](const Model& model, auto&&... arguments) {
    label_probabilities(model, arguments...);
  };
  const auto top = [](const Model& model, auto&&... arguments) { top_labels(model, arguments...); };
  const auto all = [](const Model& model, auto&&... arguments) {
    all_probabilities(model, arguments...);
  };
  cls.def("learn", learner_of<Model, Options>(can_learn, teach), nb::arg("starts").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("order").noconvert(), nb::arg("foresee_top"), nb::arg("options"),
          nb::arg("foresee_label"))
      .def("label_probabilities", named_of<Model>(named), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"))
      .def("top_labels", top_of<Model>(top), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
           nb::arg("reading"))
      .def("all_probabilities", all_of<Model>(all), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("lines", &lines_of<Model>);
  def_table(cls);
}

}  // namespace labeltrees::bindings
