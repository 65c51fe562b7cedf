#include "tree_queries.hpp"

namespace labeltrees::bindings {

namespace {

OwnedVector<LabelId> greedy(const ConditionalTree& model, Starts starts, Indices indices,
                            Values values, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  std::vector<LabelId> labels(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    greedy_labels(model, X, reading, rows_of(labels, begin, X));
  });
  return give(std::move(labels));
}

}  // namespace

void bind_queries(nb::module_& module) {
  def_tree_queries<ConditionalTree>(module);
  module.def("greedy_labels", &greedy, nb::arg("model"), nb::arg("starts").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("reading"));
}

}  // namespace labeltrees::bindings
