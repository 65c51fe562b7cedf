#include "between_rows.hpp"
#include "bindings.hpp"
#include "labeltrees/online/regression.hpp"

namespace labeltrees::bindings {
namespace {

// Diverged reaches Python with args (message, row).
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Diverged& error) {
    const nb::object args = nb::make_tuple(error.what(), error.row());
    PyErr_SetObject(static_cast<PyObject*>(type), args.ptr());
  }
}

}  // namespace

void bind_regression(nb::module_& module) {
  // The translator registered last is tried first.
  const nb::exception<Diverged> type(module, "Diverged", PyExc_ArithmeticError);
  nb::register_exception_translator(&translate, type.ptr());
  nb::enum_<Loss>(module, "Loss").value("logistic", Loss::logistic).value("squared", Loss::squared);
  nb::enum_<Optimizer>(module, "Optimizer")
      .value("adagrad", Optimizer::adagrad)
      .value("sgd", Optimizer::sgd);
  nb::class_<Reading>(module, "Reading", "How rows are read.")
      .def(
          "__init__",
          [](Reading* self, Loss loss, bool normalize, float bias, bool mixing, float sharpness) {
            new (self) Reading{loss, normalize, bias, mixing, sharpness};
          },
          nb::kw_only(), nb::arg("loss"), nb::arg("normalize"), nb::arg("bias"), nb::arg("mixing"),
          nb::arg("sharpness"));
  nb::class_<Learning>(module, "Learning", "How regressors learn.")
      .def(
          "__init__",
          [](Learning* self, const Reading& reading, Optimizer optimizer, float learning_rate,
             bool again) { new (self) Learning{reading, optimizer, learning_rate, again}; },
          nb::kw_only(), nb::arg("reading"), nb::arg("optimizer"), nb::arg("learning_rate"),
          nb::arg("again"));
  nb::class_<Progress>(module, "Progress", "How far a call of learn has come.")
      .def(nb::init<>())
      .def_ro("n_rows", &Progress::n_rows);
}

}  // namespace labeltrees::bindings
