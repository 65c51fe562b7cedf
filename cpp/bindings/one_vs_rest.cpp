#include "labeltrees/baselines/one_vs_rest.hpp"

#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

// Rows and their labels, copied and checked.
struct OneVsRestData {
  OwnedRows rows, labels;
  std::size_t n_features, n_labels;

  OneVsRestProblem problem() const { return {rows.view(), n_features, labels.view(), n_labels}; }
};

void make_data(OneVsRestData* self, Starts starts, Indices indices, Values values,
               std::size_t n_features, Starts y_starts, Indices y_labels, Values y_values,
               std::size_t n_labels) {
  OneVsRestData data{copied_rows(starts, indices, values),
                     copied_rows(y_starts, y_labels, y_values), n_features, n_labels};
  need(data.rows.view().n_rows() == data.labels.view().n_rows(), "X and Y need as many rows");
  need(is_tidy(data.rows.view(), n_features, false), "no such feature");
  need(is_tidy(data.labels.view(), n_labels, false), "no such label");
  for (const float y : data.labels.values) need(y > 0 && y <= 1, "relevance must be in (0, 1]");
  new (self) OneVsRestData(std::move(data));
}

}  // namespace

void bind_one_vs_rest(nb::module_& module) {
  nb::class_<RidgeOptions>(module, "RidgeOptions", "How one-versus-rest weights are trained.")
      .def(
          "__init__",
          [](RidgeOptions* self, NodeLoss loss, float cost, int max_epochs, double tolerance,
             float least_weight, std::uint64_t seed) {
            need(cost > 0 && max_epochs >= 1, "cost or max_epochs out of range");
            new (self) RidgeOptions{loss, cost, max_epochs, tolerance, least_weight, seed};
          },
          nb::kw_only(), nb::arg("loss"), nb::arg("cost"), nb::arg("max_epochs"),
          nb::arg("tolerance"), nb::arg("least_weight"), nb::arg("seed"));
  nb::class_<OneVsRestWeights>(module, "OneVsRestWeights", "Weights of all labels, by feature.")
      .def("starts", [](OneVsRestWeights& w) { return give(std::move(w.starts)); })
      .def("labels", [](OneVsRestWeights& w) { return give(std::move(w.labels)); })
      .def("values", [](OneVsRestWeights& w) { return give(std::move(w.values)); })
      .def("biases", [](OneVsRestWeights& w) { return give(std::move(w.biases)); })
      .def("gaps", [](OneVsRestWeights& w) { return give(std::move(w.gaps)); })
      .def("epochs", [](OneVsRestWeights& w) { return give(std::move(w.epochs)); });
  nb::class_<OneVsRestData>(module, "OneVsRestData", "Rows and their labels, ready for training.")
      .def("__init__", &make_data, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_features"), nb::arg("y_starts").noconvert(),
           nb::arg("y_labels").noconvert(), nb::arg("y_values").noconvert(), nb::arg("n_labels"))
      .def(
          "train_ridge",
          [](const OneVsRestData& data, const RidgeOptions& options, std::size_t n_workers) {
            need(n_workers >= 1, "n_workers must be >= 1");
            const LongWork work;
            return train_ridge(data.problem(), options, n_workers);
          },
          nb::arg("options"), nb::arg("n_workers"))
      .def(
          "train_lasso",
          [](const OneVsRestData& data, float cost, int max_epochs, double tolerance,
             std::size_t n_workers) {
            need(cost > 0 && max_epochs >= 1 && n_workers >= 1, "no such training");
            const LongWork work;
            return train_lasso(data.problem(), {cost, max_epochs, tolerance}, n_workers);
          },
          nb::arg("cost"), nb::arg("max_epochs"), nb::arg("tolerance"), nb::arg("n_workers"));
}

}  // namespace labeltrees::bindings
