// The methods that models on a weight table have in common, regardless of their shape.
#pragma once

#include <nanobind/stl/tuple.h>

#include <chrono>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "between_rows.hpp"
#include "labeltrees/online/prediction.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/online/weight_table.hpp"
#include "rows.hpp"

namespace labeltrees::bindings {

// p_label, is_new, top, p_top
using Predicted = std::tuple<OwnedVector<double>, OwnedVector<std::uint8_t>, OwnedVector<LabelId>,
                             OwnedVector<double>>;

// Accepts any label; for models that add labels when they first occur.
struct AnyLabel {
  bool operator()(const auto&, LabelId label) const noexcept {
    return label >= 0 && label < std::numeric_limits<LabelId>::max();
  }
};

// can_learn(model, label) returns whether a row of that label may be learned by kernel(model, X,
// labels, weights, order, prediction, options, watch).
template <typename Model, typename Options, typename CanLearn, typename Kernel>
auto learner_of(CanLearn can_learn, Kernel kernel) {
  return [can_learn, kernel](Model& model, Starts starts, Indices indices, Values values,
                             Vector<LabelId> labels, Values given_weights, Starts order,
                             Progress& progress, bool predict_top, const Options& options,
                             bool predict_label) -> Predicted {
    const HeldRows rows(starts, indices, values);
    const std::size_t n_rows = rows.n_rows();
    // Copied, because which labels are looked at depends on them.
    const std::vector<float> weights(given_weights.data(),
                                     given_weights.data() + given_weights.shape(0));
    need(labels.shape(0) == n_rows, "labels need one entry for every row");
    need(weights.empty() || weights.size() == n_rows, "weights need one entry for every row");
    for (const std::int64_t r : view(order)) {
      need(r >= 0 && static_cast<std::size_t>(r) < n_rows, "order names a row that is not there");
    }
    const std::size_t n = order.shape(0) == 0 ? n_rows : order.shape(0);
    std::vector<double> p_label(predict_label ? n : 0), p_top(predict_top ? n : 0);
    std::vector<LabelId> top(predict_top ? n : 0);
    std::vector<std::uint8_t> is_new(n);
    {
      const Released released;
      std::unique_lock alone(model.mutex());
      for (std::size_t r = 0; r < n_rows; ++r) {
        const bool learned = weights.empty() || weights[r] > 0;
        need(!learned || can_learn(model, labels.data()[r]), "a label cannot be learned");
      }
      BetweenRows watch(alone, progress);
      kernel(model, rows.all(), view(labels), std::span<const float>(weights), view(order),
             Prediction{p_label, is_new, top, p_top}, options, &watch);
    }
    return {give(std::move(p_label)), give(std::move(is_new)), give(std::move(top)),
            give(std::move(p_top))};
  };
}

// Returns read(model) while no thread changes the model. `read` must not need the GIL.
template <typename Model, typename Read>
auto read_locked(const Model& model, Read read) {
  const Released released;
  const std::shared_lock shared(model.mutex());
  return read(model);
}

// Calls query(X, begin) for consecutive parts of the rows, so that learners can take their turn
// between parts and signals are handled. Each row sees one state of the model, but different rows
// may see different states.
template <typename Model, typename Query>
void query_in_parts(const Model& model, const HeldRows& rows, Query query) {
  using Clock = std::chrono::steady_clock;
  constexpr auto soon = std::chrono::milliseconds(10);
  const LongWork work;
  for (std::size_t begin = 0, count = 0, most = 4; begin < rows.n_rows(); begin += count) {
    count = std::min(most, rows.n_rows() - begin);
    const Clock::time_point start = Clock::now();
    {
      const std::shared_lock shared(model.mutex());
      query(rows.part(begin, count), begin);
    }
    if (Clock::now() - start < soon) most *= 4;
    look_up();
  }
}

template <typename T>
std::span<T> rows_of(std::vector<T>& answers, std::size_t begin, const CsrView& X,
                     std::size_t n_columns = 1) {
  return std::span(answers).subspan(begin * n_columns, X.n_rows() * n_columns);
}

// Appends sparse results to earlier ones.
template <typename Sparse>
void append(const Sparse& more, Sparse& found) {
  const auto n_before = static_cast<std::int64_t>(found.labels.size());
  for (std::size_t r = 1; r < more.starts.size(); ++r) {
    found.starts.push_back(n_before + more.starts[r]);
  }
  found.labels.insert(found.labels.end(), more.labels.begin(), more.labels.end());
  found.p.insert(found.p.end(), more.p.begin(), more.p.end());
}

// kernel(model, X, labels, reading, out, more...) writes one number for the label of every row.
template <typename Model, typename... More, typename Kernel>
auto named_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values,
                  Vector<LabelId> labels, const Reading& reading, More... more) {
    const HeldRows rows(starts, indices, values);
    need(labels.shape(0) == rows.n_rows(), "labels need one entry for every row");
    std::vector<double> p(rows.n_rows());
    query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
      kernel(model, X, view(labels).subspan(begin, X.n_rows()), reading, rows_of(p, begin, X),
             more...);
    });
    return give(std::move(p));
  };
}

// kernel(model, X, k, reading, labels, p, more...): row-major (n_rows, k).
template <typename Model, typename... More, typename Kernel>
auto top_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values, std::size_t k,
                  const Reading& reading, More... more) {
    const HeldRows rows(starts, indices, values);
    std::vector<LabelId> labels(rows.n_rows() * k);
    std::vector<double> p(rows.n_rows() * k);
    query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
      kernel(model, X, k, reading, rows_of(labels, begin, X, k), rows_of(p, begin, X, k), more...);
    });
    return std::tuple(give(std::move(labels), k), give(std::move(p), k));
  };
}

// kernel(model, X, n_columns, reading, p): row-major (n_rows, n_columns).
template <typename Model, typename Kernel>
auto all_of(Kernel kernel) {
  return [kernel](const Model& model, Starts starts, Indices indices, Values values,
                  std::size_t n_columns, const Reading& reading) {
    const HeldRows rows(starts, indices, values);
    std::vector<double> p(rows.n_rows() * n_columns);
    query_in_parts(model, rows, [&](const CsrView& X, std::size_t begin) {
      kernel(model, X, n_columns, reading, rows_of(p, begin, X, n_columns));
    });
    return give(std::move(p), n_columns);
  };
}

// The lines of a table in order of their keys. weights and sums have seven columns.
struct PlainLines {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights, sums;

  explicit PlainLines(const WeightTable& table) {
    for (const WeightLine* line : table.sorted_lines()) {
      keys.push_back(line->key);
      weights.insert(weights.end(), line->value.begin(), line->value.begin() + block_size);
      sums.insert(sums.end(), line->value.begin() + block_size, line->value.end());
    }
  }
  auto given() && {
    return std::tuple(give(std::move(keys)), give(std::move(weights), block_size),
                      give(std::move(sums), block_size));
  }
};

template <typename Model>
auto lines_of(const Model& model) {
  return read_locked(model, [](const Model& m) { return PlainLines(m.table()); }).given();
}

// Reads a number while no thread changes the model.
template <typename Model, typename Read>
auto number_of(Read read) {
  return [read](const Model& model) { return read_locked(model, read); };
}

template <typename Model>
auto masses_of(const Model& model) {
  return give(read_locked(model, [](const Model& m) { return std::vector<double>(m.masses()); }));
}

// For models on a label tree.
template <typename Model>
LabelTree tree_of(const Model& model) {
  return read_locked(model, [](const Model& m) { return LabelTree(m.tree()); });
}

// Reads both at the same moment, so that there is a mass for every node.
template <typename Model>
auto tree_and_masses(const Model& model) {
  auto [tree, masses] = read_locked(model, [](const Model& m) {
    return std::tuple(LabelTree(m.tree()), std::vector<double>(m.masses()));
  });
  return std::tuple(std::move(tree), give(std::move(masses)));
}

// Returns masses and lines as of the same moment.
template <typename Model>
auto masses_and_lines(const Model& model) {
  auto [masses, lines] = read_locked(model, [](const Model& m) {
    return std::tuple(std::vector<double>(m.masses()), PlainLines(m.table()));
  });
  return std::tuple(give(std::move(masses)), std::move(lines).given());
}

// What all tables of lines have.
template <typename Model>
void def_table(nb::class_<Model>& cls) {
  cls.def("masses", &masses_of<Model>)
      .def(
          "limit_bytes",
          [](Model& m, std::size_t n_bytes) {
            const Released released;
            const std::unique_lock alone(m.mutex());
            m.table().limit_bytes(n_bytes);
          },
          nb::arg("n_bytes"))
      .def_prop_ro("n_lines", number_of<Model>([](const Model& m) { return m.table().size(); }))
      .def_prop_ro("n_bytes", number_of<Model>([](const Model& m) { return m.table().n_bytes(); }));
}

template <typename Options = Learning, typename Model, typename CanLearn>
void def_online_model(nb::class_<Model>& cls, CanLearn can_learn) {
  const auto update = [](Model& model, auto&&... arguments) { learn(model, arguments...); };
  const auto named = [](const Model& model, auto&&... arguments) {
    label_probabilities(model, arguments...);
  };
  const auto top = [](const Model& model, auto&&... arguments) { top_labels(model, arguments...); };
  const auto all = [](const Model& model, auto&&... arguments) {
    all_probabilities(model, arguments...);
  };
  cls.def("learn", learner_of<Model, Options>(can_learn, update), nb::arg("starts").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("order").noconvert(), nb::arg("progress"), nb::arg("predict_top"),
          nb::arg("options"), nb::arg("predict_label"))
      .def("label_probabilities", named_of<Model>(named), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("reading"))
      .def("top_labels", top_of<Model>(top), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("k"),
           nb::arg("reading"))
      .def("all_probabilities", all_of<Model>(all), nb::arg("starts").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"),
           nb::arg("reading"))
      .def("lines", &lines_of<Model>)
      .def("masses_and_lines", &masses_and_lines<Model>);
  def_table(cls);
}

}  // namespace labeltrees::bindings
