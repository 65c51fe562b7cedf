#include <nanobind/stl/tuple.h>

#include <mutex>
#include <tuple>

#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {
namespace {

// p_label, is_new, top, p_top
using Foreseen = std::tuple<OwnedVector<double>, OwnedVector<std::uint8_t>, OwnedVector<LabelId>,
                            OwnedVector<double>>;

Foreseen learn_rows(ConditionalTree& model, Starts starts, Indices indices, Values values,
                    Vector<LabelId> labels, Values weights, Starts order, bool foresee_top,
                    const ConditionalLearning& options) {
  const CsrView X = csr(starts, indices, values);
  const std::size_t n_rows = X.n_rows();
  need(labels.shape(0) == n_rows, "labels need one entry for every row");
  need(weights.shape(0) == 0 || weights.shape(0) == n_rows, "weights need one entry for every row");
  for (const std::int64_t r : view(order)) {
    need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
  }
  for (std::size_t r = 0; r < n_rows; ++r) {
    const bool learned = weights.shape(0) == 0 || weights.data()[r] > 0;
    need(!learned || labels.data()[r] >= 0, "labels must not be negative");
  }
  const std::size_t n = order.shape(0) == 0 ? n_rows : order.shape(0);
  std::vector<double> p_label(n), p_top(foresee_top ? n : 0);
  std::vector<LabelId> top(foresee_top ? n : 0);
  std::vector<std::uint8_t> is_new(n);
  {
    nb::gil_scoped_release unlocked;
    const std::unique_lock alone(model.mutex());
    learn(model, X, view(labels), view(weights), view(order), {p_label, is_new, top, p_top},
          options);
  }
  return {give(std::move(p_label)), give(std::move(is_new)), give(std::move(top)),
          give(std::move(p_top))};
}

OwnedVector<double> label_rows(const ConditionalTree& model, Starts starts, Indices indices,
                               Values values, Vector<LabelId> labels, const Reading& reading,
                               std::size_t n_threads) {
  const CsrView X = csr(starts, indices, values);
  need(labels.shape(0) == X.n_rows(), "labels need one entry for every row");
  std::vector<double> p(X.n_rows());
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    label_probabilities(model, X, view(labels), reading, p, n_threads);
  }
  return give(std::move(p));
}

std::tuple<OwnedMatrix<LabelId>, OwnedMatrix<double>> top_rows(const ConditionalTree& model,
                                                               Starts starts, Indices indices,
                                                               Values values, std::size_t k,
                                                               const Reading& reading,
                                                               std::size_t n_threads) {
  const CsrView X = csr(starts, indices, values);
  std::vector<LabelId> labels(X.n_rows() * k);
  std::vector<double> p(X.n_rows() * k);
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    top_labels(model, X, k, reading, labels, p, n_threads);
  }
  return {give(std::move(labels), k), give(std::move(p), k)};
}

OwnedMatrix<double> all_rows(const ConditionalTree& model, Starts starts, Indices indices,
                             Values values, std::size_t n_columns, const Reading& reading) {
  const CsrView X = csr(starts, indices, values);
  std::vector<double> p(X.n_rows() * n_columns);
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    all_probabilities(model, X, n_columns, reading, p);
  }
  return give(std::move(p), n_columns);
}

// keys, weights, codes of the optimiser's sums, counts left and right; seven columns each
using LineArrays =
    std::tuple<OwnedVector<std::uint64_t>, OwnedMatrix<float>, OwnedMatrix<std::uint16_t>,
               OwnedMatrix<std::uint8_t>, OwnedMatrix<std::uint8_t>>;

LineArrays lines(const ConditionalTree& model) {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights;
  std::vector<std::uint16_t> sums;
  std::vector<std::uint8_t> left, right;
  {
    nb::gil_scoped_release unlocked;
    const std::shared_lock shared(model.mutex());
    for (const CountedLine* line : model.table().sorted_lines()) {
      keys.push_back(line->key);
      weights.insert(weights.end(), line->weight.begin(), line->weight.end());
      sums.insert(sums.end(), line->sum_code.begin(), line->sum_code.end());
      for (const Counts counts : line->counts) {
        left.push_back(static_cast<std::uint8_t>(left_count(counts)));
        right.push_back(static_cast<std::uint8_t>(right_count(counts)));
      }
    }
  }
  return {give(std::move(keys)), give(std::move(weights), block_size),
          give(std::move(sums), block_size), give(std::move(left), block_size),
          give(std::move(right), block_size)};
}

template <typename T>
void copy_row(const Matrix<T>& from, std::size_t row, std::array<T, block_size>& to) {
  std::copy_n(from.data() + row * block_size, block_size, to.begin());
}

void restore(ConditionalTree* self, const LabelTree& tree, Vector<double> mass,
             Vector<std::uint64_t> keys, Matrix<float> weights, Matrix<std::uint16_t> sums,
             Matrix<std::uint8_t> left, Matrix<std::uint8_t> right, Matrix<float> mixtures) {
  const std::size_t n = keys.shape(0);
  const auto fits = [&](const auto& array) {
    return array.shape(0) == n && array.shape(1) == block_size;
  };
  if (!fits(weights) || !fits(sums) || !fits(left) || !fits(right)) {
    throw TreeError("weights, sums and counts need seven values for every key");
  }
  nb::gil_scoped_release unlocked;
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

OwnedMatrix<float> mixtures(const ConditionalTree& model) {
  const std::shared_lock shared(model.mutex());
  std::vector<float> values;
  for (const Mixture& mixture : model.mixtures()) {
    values.insert(values.end(), mixture.begin(), mixture.end());
  }
  return give(std::move(values), n_mixed);
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
  nb::class_<ConditionalTree>(module, "ConditionalTree", "A label tree with node regressors.")
      .def(nb::init<>())
      .def("__init__", &restore, nb::arg("tree"), nb::arg("mass").noconvert(),
           nb::arg("keys").noconvert(), nb::arg("weights").noconvert(), nb::arg("sums").noconvert(),
           nb::arg("left").noconvert(), nb::arg("right").noconvert(),
           nb::arg("mixtures").noconvert())
      .def("learn", &learn_rows, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("labels").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("order").noconvert(), nb::arg("foresee_top"),
           nb::arg("options"))
      .def("label_probabilities", &label_rows, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"), nb::arg("n_threads"))
      .def("top_labels", &top_rows, nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("k"), nb::arg("reading"), nb::arg("n_threads"))
      .def("all_probabilities", &all_rows, nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("tree", [](const ConditionalTree& model) { return LabelTree(model.tree()); })
      .def("masses", [](const ConditionalTree& model) { return give(std::vector(model.masses())); })
      .def("lines", &lines)
      .def(
          "limit_bytes",
          [](ConditionalTree& m, std::size_t n_bytes) { m.table().limit_bytes(n_bytes); },
          nb::arg("n_bytes"))
      .def("mixtures", &mixtures)
      .def_prop_ro("n_labels", [](const ConditionalTree& m) { return m.tree().n_labels(); })
      .def_prop_ro("n_nodes", [](const ConditionalTree& m) { return m.tree().n_nodes(); })
      .def_prop_ro("n_lines", [](const ConditionalTree& m) { return m.table().size(); })
      .def_prop_ro("n_bytes", [](const ConditionalTree& m) { return m.table().n_bytes(); });
  module.def("depth_bound", &depth_bound, nb::arg("n_labels"), nb::arg("alpha"));
}

}  // namespace labeltrees::bindings
