#include "labeltrees/baselines/one_against_all.hpp"
#include "online_model.hpp"

namespace labeltrees::bindings {
namespace {

void restore_one_against_all(OneAgainstAll* self, Vector<double> mass, Vector<std::uint64_t> keys,
                             Matrix<float> weights, Matrix<float> sums) {
  const Released released;
  new (self) OneAgainstAll(view(mass), view(keys), {weights.data(), weights.size()},
                           {sums.data(), sums.size()});
}

}  // namespace

void bind_one_against_all(nb::module_& module) {
  nb::class_<OneAgainstAll> cls(module, "OneAgainstAll", "One regressor for every label.");
  cls.def(nb::init<>())
      .def("__init__", &restore_one_against_all, nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert())
      .def(
          "grow",
          [](OneAgainstAll& model, std::int32_t n_labels) {
            need(n_labels >= 0, "n_labels must not be negative");
            const Released released;
            const std::unique_lock alone(model.mutex());
            model.grow(static_cast<std::size_t>(n_labels));
          },
          nb::arg("n_labels"))
      .def("learn_scored", learner_of<OneAgainstAll, Learning>(AnyLabel{}, &learn_scored),
           nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("progress"),
           nb::arg("foresee_top"), nb::arg("options"), nb::arg("foresee_label"))
      .def("label_scores", named_of<OneAgainstAll>(&label_scores), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"))
      .def_prop_ro("n_labels",
                   number_of<OneAgainstAll>([](const OneAgainstAll& m) { return m.n_labels(); }));
  def_online_model(cls, AnyLabel{});
}

}  // namespace labeltrees::bindings
