#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "interpreter.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/text/formats.hpp"

namespace labeltrees::bindings {
namespace {

// ParsedRows whose arrays belong to NumPy.
struct RowArrays {
  OwnedVector<std::int64_t> row_starts, label_starts, labels, lines;
  OwnedVector<std::int32_t> indices;
  OwnedVector<float> values, weights;
  std::vector<std::string> label_names;
  LabelKind label_kind;
  std::size_t end;
  std::int64_t next_line;
};

RowArrays give_rows(ParsedRows&& rows) {
  return {give(std::move(rows.row_starts)),
          give(std::move(rows.label_starts)),
          give(std::move(rows.labels)),
          give(std::move(rows.lines)),
          give(std::move(rows.indices)),
          give(std::move(rows.values)),
          give(std::move(rows.weights)),
          std::move(rows.label_names),
          rows.label_kind,
          rows.end,
          rows.next_line};
}

TextBlock block_of(const nb::bytes& text, std::size_t begin, std::int64_t first_line,
                   std::size_t max_rows) {
  return {{text.c_str(), text.size()}, begin, first_line, max_rows};
}

// Calls a parser without the GIL: bytes are immutable and the caller holds them.
template <typename Options>
RowArrays parse(ParsedRows (*parser)(const TextBlock&, const Options&), const TextBlock& block,
                const Options& options) {
  ParsedRows rows;
  {
    const LongWork work;
    rows = parser(block, options);
  }
  return give_rows(std::move(rows));
}

// ParseError reaches Python with args (line, reason).
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ParseError& error) {
    const nb::object args = nb::make_tuple(error.line(), error.what());
    PyErr_SetObject(static_cast<PyObject*>(type), args.ptr());
  }
}

template <typename Array>
auto shared(Array RowArrays::* member) {
  return [member](const RowArrays& rows) { return rows.*member; };
}

}  // namespace

void bind_text_formats(nb::module_& module) {
  // The translator registered last is tried first.
  const nb::exception<ParseError> type(module, "ParseError", PyExc_ValueError);
  nb::register_exception_translator(&translate, type.ptr());

  nb::enum_<LabelKind>(module, "LabelKind")
      .value("unknown", LabelKind::unknown)
      .value("integers", LabelKind::integers)
      .value("names", LabelKind::names);
  nb::enum_<LabelLists>(module, "LabelLists")
      .value("never", LabelLists::never)
      .value("of_integers", LabelLists::of_integers)
      .value("always", LabelLists::always);
  nb::class_<RowArrays>(module, "ParsedRows", "Rows of a text block, as arrays.")
      .def_prop_ro("row_starts", shared(&RowArrays::row_starts), nb::rv_policy::automatic)
      .def_prop_ro("indices", shared(&RowArrays::indices), nb::rv_policy::automatic)
      .def_prop_ro("values", shared(&RowArrays::values), nb::rv_policy::automatic)
      .def_prop_ro("label_starts", shared(&RowArrays::label_starts), nb::rv_policy::automatic)
      .def_prop_ro("labels", shared(&RowArrays::labels), nb::rv_policy::automatic)
      .def_prop_ro("weights", shared(&RowArrays::weights), nb::rv_policy::automatic)
      .def_prop_ro("lines", shared(&RowArrays::lines), nb::rv_policy::automatic)
      .def_ro("label_names", &RowArrays::label_names)
      .def_ro("label_kind", &RowArrays::label_kind)
      .def_ro("end", &RowArrays::end)
      .def_ro("next_line", &RowArrays::next_line);

  module.def(
      "parse_xc",
      [](const nb::bytes& text, std::size_t begin, std::int64_t first_line, std::size_t max_rows,
         std::int64_t n_features, std::int64_t n_labels) {
        return parse(&parse_xc, block_of(text, begin, first_line, max_rows),
                     XcOptions{n_features, n_labels});
      },
      nb::arg("text"), nb::arg("begin"), nb::arg("first_line"), nb::arg("max_rows"),
      nb::arg("n_features"), nb::arg("n_labels"));
  module.def(
      "parse_svmlight",
      [](const nb::bytes& text, std::size_t begin, std::int64_t first_line, std::size_t max_rows,
         std::int64_t n_features, bool zero_based) {
        return parse(&parse_svmlight, block_of(text, begin, first_line, max_rows),
                     SvmlightOptions{n_features, zero_based});
      },
      nb::arg("text"), nb::arg("begin"), nb::arg("first_line"), nb::arg("max_rows"),
      nb::arg("n_features"), nb::arg("zero_based"));
  module.def(
      "parse_vw",
      [](const nb::bytes& text, std::size_t begin, std::int64_t first_line, std::size_t max_rows,
         LabelLists lists, LabelKind label_kind) {
        return parse(&parse_vw, block_of(text, begin, first_line, max_rows),
                     VwOptions{lists, label_kind});
      },
      nb::arg("text"), nb::arg("begin"), nb::arg("first_line"), nb::arg("max_rows"),
      nb::arg("lists"), nb::arg("label_kind"));
  module.def(
      "gather_rows",
      [](Vector<std::int64_t> row_starts, Vector<std::int64_t> indices, Vector<double> values,
         Vector<std::int64_t> lines, std::int64_t n_features) {
        ParsedRows rows;
        {
          const LongWork work;
          rows =
              gather_rows(view(row_starts), view(indices), view(values), view(lines), n_features);
        }
        return give_rows(std::move(rows));
      },
      nb::arg("row_starts").noconvert(), nb::arg("indices").noconvert(),
      nb::arg("values").noconvert(), nb::arg("lines").noconvert(), nb::arg("n_features"));
  module.def(
      "hash_names",
      [](const std::vector<std::string_view>& names) { return give(hash_names(names)); },
      nb::arg("names"));
  module.attr("HASHED_WIDTH") = hashed_width;
}

}  // namespace labeltrees::bindings
