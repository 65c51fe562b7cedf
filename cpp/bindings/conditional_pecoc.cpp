#include "labeltrees/conditional/pecoc_tree.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

void restore_pecoc(PecocTree* self, const LabelTree& tree, Vector<double> mass,
                   Vector<std::uint64_t> keys, Matrix<float> weights, Matrix<float> sums) {
  const Released released;
  new (self) PecocTree(tree, view(mass), view(keys), {weights.data(), weights.size()},
                       {sums.data(), sums.size()});
}

OwnedVector<double> decoded(Vector<double> outputs) {
  std::vector<double> p(outputs.data(), outputs.data() + outputs.shape(0));
  need(std::has_single_bit(p.size()), "the number of outputs must be a power of two");
  decode(p);
  return give(std::move(p));
}

OwnedVector<double> projected(Vector<double> values, double floor) {
  std::vector<double> p(values.data(), values.data() + values.shape(0)), sorted;
  need(!p.empty() && floor >= 0 && floor * static_cast<double>(p.size()) <= 1,
       "floor must be in [0, 1 / n]");
  project_on_simplex(p, floor, sorted);
  return give(std::move(p));
}

OwnedVector<std::uint8_t> targets_of(std::size_t outcome, std::size_t n_outcomes) {
  need(outcome < n_outcomes, "outcome must be below n_outcomes");
  std::vector<std::uint8_t> targets(code_size(n_outcomes) - 1);
  code_targets(outcome, targets);
  return give(std::move(targets));
}

}  // namespace

void bind_pecoc_tree(nb::module_& module) {
  nb::class_<PecocTree> cls(module, "PecocTree", "A fixed label tree with a code at every node.");
  cls.def("__init__", &restore_pecoc, nb::arg("tree"), nb::arg("mass").noconvert(),
          nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert())
      .def("tree", &tree_of<PecocTree>)
      .def("tree_and_masses", &tree_and_masses<PecocTree>)
      .def_prop_ro("n_labels", [](const PecocTree& m) { return m.tree().n_labels(); })
      .def_prop_ro("n_regressors", &PecocTree::n_regressors);
  def_online_model(
      cls, [](const PecocTree& m, LabelId label) { return m.tree().leaf_of(label) != none; });
  module.def("pecoc_decode", &decoded, nb::arg("outputs").noconvert());
  module.def("pecoc_targets", &targets_of, nb::arg("outcome"), nb::arg("n_outcomes"));
  module.def("project_on_simplex", &projected, nb::arg("values").noconvert(), nb::arg("floor"));
}

}  // namespace labeltrees::bindings
