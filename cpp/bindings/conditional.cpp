#include "labeltrees/conditional/tree.hpp"
#include "snapshots.hpp"
#include "tree_queries.hpp"

namespace labeltrees::bindings {
namespace {

template <typename T>
void copy_row(const Matrix<T>& from, std::size_t row, std::array<T, block_size>& to) {
  std::copy_n(from.data() + row * block_size, block_size, to.begin());
}

void restore_conditional(ConditionalTree* self, const LabelTree& tree, Vector<double> mass,
                         Vector<std::uint64_t> keys, Matrix<float> weights,
                         Matrix<std::uint16_t> sums, Matrix<std::uint8_t> left,
                         Matrix<std::uint8_t> right, Matrix<float> mixtures) {
  const std::size_t n = keys.shape(0);
  const auto fits = [&](const auto& array) {
    return array.shape(0) == n && array.shape(1) == block_size;
  };
  if (!fits(weights) || !fits(sums) || !fits(left) || !fits(right)) {
    throw TreeError("weights, sums and counts need seven values for every key");
  }
  const Released released;
  std::vector<CountedLine> lines(n);
  for (std::size_t i = 0; i < n; ++i) {
    lines[i].key = keys.data()[i];
    copy_row(weights, i, lines[i].weight);
    copy_row(sums, i, lines[i].sum_code);
    for (std::size_t slot = 0; slot < block_size; ++slot) {
      const std::size_t at = i * block_size + slot;
      if (left.data()[at] >= count_values || right.data()[at] >= count_values) {
        throw TreeError("a count is too large");
      }
      lines[i].counts[slot] = pack_counts(left.data()[at], right.data()[at]);
    }
  }
  new (self) ConditionalTree(tree, view(mass), lines, {mixtures.data(), mixtures.size()});
}

}  // namespace

void bind_conditional_tree(nb::module_& module) {
  nb::enum_<Insertion>(module, "Insertion")
      .value("objective", Insertion::objective)
      .value("random", Insertion::random);
  nb::enum_<Balance>(module, "Balance")
      .value("labels", Balance::labels)
      .value("examples", Balance::examples);
  nb::class_<ConditionalLearning>(module, "ConditionalLearning", "How a conditional tree learns.")
      .def(
          "__init__",
          [](ConditionalLearning* self, const Reading& reading, Optimizer optimizer,
             float learning_rate, Insertion insertion, Balance balance, double alpha,
             std::uint64_t seed, std::size_t n_threads, bool again) {
            new (self) ConditionalLearning{{reading, optimizer, learning_rate, again},
                                           insertion,
                                           balance,
                                           alpha,
                                           seed,
                                           n_threads};
          },
          nb::kw_only(), nb::arg("reading"), nb::arg("optimizer"), nb::arg("learning_rate"),
          nb::arg("insertion"), nb::arg("balance"), nb::arg("alpha"), nb::arg("seed"),
          nb::arg("n_threads"), nb::arg("again"));
  using Tree = ConditionalTree;
  nb::class_<Tree> cls(module, "ConditionalTree", "A label tree with node regressors.");
  cls.def(nb::init<>())
      .def("__init__", &restore_conditional, nb::arg("tree"), nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert(),
           nb::arg("left").noconvert(), nb::arg("right").noconvert(),
           nb::arg("mixtures").noconvert())
      .def("lines",
           [](const Tree& model) {
             return read_locked(model, [](const Tree& m) { return CountedLines(m.table()); })
                 .given();
           })
      .def("mixtures",
           [](const Tree& model) {
             const auto read = [](const Tree& m) { return mixtures_in(m.mixtures()); };
             return give(read_locked(model, read), n_mixed);
           })
      .def("snapshot", [](const Tree& model) {
        return read_locked(model, [](const Tree& m) { return TreeSnapshot(m); }).given();
      });
  def_tree_model(cls);
  def_table(cls);
  module.def("depth_bound", &depth_bound, nb::arg("n_labels"), nb::arg("alpha"));
}

}  // namespace labeltrees::bindings
