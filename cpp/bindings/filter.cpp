#include "labeltrees/filter/tree.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

OwnedVector<LabelId> winners(const ConditionalTree& model, Starts starts, Indices indices,
                             Values values, const Reading& reading) {
  const HeldRows rows(starts, indices, values);
  std::vector<LabelId> labels(rows.n_rows());
  query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
    tournament_winners(model, X, reading, rows_of(labels, begin, X));
  });
  return give(std::move(labels));
}

}  // namespace

void bind_filter_tree(nb::module_& module) {
  const auto model = nb::arg("model");
  const auto starts = nb::arg("starts").noconvert();
  const auto indices = nb::arg("indices").noconvert();
  const auto values = nb::arg("values").noconvert();
  const auto labels = nb::arg("labels").noconvert();
  const auto reading = nb::arg("reading");
  module.def("learn_tournament",
             learner_of<ConditionalTree, ConditionalLearning>(AnyLabel{}, &learn_tournament), model,
             starts, indices, values, labels, nb::arg("weights").noconvert(),
             nb::arg("order").noconvert(), nb::arg("progress"), nb::arg("predict_top"),
             nb::arg("options"), nb::arg("predict_label"));
  module.def("tournament_winners", &winners, model, starts, indices, values, reading);
  module.def("tournament_probabilities", named_of<ConditionalTree>(&tournament_probabilities),
             model, starts, indices, values, labels, reading);
  module.def("tournament_top", top_of<ConditionalTree>(&tournament_top), model, starts, indices,
             values, nb::arg("k"), reading);
  module.def("tournament_all", all_of<ConditionalTree>(&tournament_all), model, starts, indices,
             values, nb::arg("n_columns"), reading);
}

}  // namespace labeltrees::bindings
