#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "interpreter.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/python_source/examples.hpp"

namespace labeltrees::bindings {
namespace {

std::string_view bytes_of(const nb::bytes& source) {
  return {static_cast<const char*>(source.data()), source.size()};
}

std::vector<std::string_view> names_from(const TokenTable& table, std::size_t first) {
  std::vector<std::string_view> names;
  for (std::size_t token = first; token < table.size(); ++token) {
    names.push_back(table.text(static_cast<TokenId>(token)));
  }
  return names;
}

std::vector<std::string> python_tokens(const nb::bytes& source, bool unfinished) {
  TokenTable table;
  std::vector<TokenId> tokens;
  const SourceEnd end = unfinished ? SourceEnd::of_typed : SourceEnd::of_file;
  const TokeniseOutcome outcome = tokenise_python(bytes_of(source), end, table, tokens);
  if (outcome != TokeniseOutcome::complete) throw nb::value_error(describe(outcome));
  std::vector<std::string> texts;
  for (const TokenId token : tokens) texts.emplace_back(table.text(token));
  return texts;
}

using ExampleArrays = std::tuple<OwnedVector<std::int64_t>, OwnedVector<std::int32_t>,
                                 OwnedVector<TokenId>, OwnedMatrix<TokenId>>;

ExampleArrays rows_at(const PythonCorpus& corpus, Vector<std::int64_t> positions) {
  const auto n_tokens = static_cast<std::int64_t>(corpus.tokens().size());
  const auto places = view(positions);
  ExampleRows rows;
  {
    const LongWork work;
    const auto is_place = [&](std::int64_t place) { return place >= 0 && place < n_tokens; };
    if (!std::all_of(places.begin(), places.end(), is_place))
      throw nb::index_error("no such place");
    rows = corpus.rows(places);
  }
  return {give(std::move(rows.row_starts)), give(std::move(rows.indices)),
          give(std::move(rows.labels)), give(std::move(rows.contexts), context_tokens)};
}

}  // namespace

void bind_python_examples(nb::module_& module) {
  module.attr("HASHED_WIDTH") = hashed_width;
  module.def("python_tokens", &python_tokens, nb::arg("source").noconvert(), nb::arg("unfinished"));
  module.def(
      "next_identifier_features",
      [](const nb::bytes& source) { return give(next_identifier_features(bytes_of(source))); },
      nb::arg("source").noconvert());
  module.def(
      "next_identifier_names",
      [](const nb::bytes& source) { return next_identifier_names(bytes_of(source)); },
      nb::arg("source").noconvert());
  nb::class_<PythonCorpus>(module, "PythonCorpus", "The tokens of many files of Python source.")
      .def(nb::init<>())
      .def(
          "add",
          [](PythonCorpus& corpus, const nb::bytes& source) {
            const std::string_view bytes = bytes_of(source);
            const LongWork work;
            return corpus.add(bytes) == TokeniseOutcome::complete;
          },
          nb::arg("source").noconvert(), "Whether the file was one of tokens, not skipped.")
      .def_prop_ro("n_examples", &PythonCorpus::n_examples)
      .def_prop_ro("n_tokens", [](const PythonCorpus& corpus) { return corpus.tokens().size(); })
      .def(
          "names",
          [](const PythonCorpus& corpus, std::size_t first) {
            return names_from(corpus.table(), first);
          },
          nb::arg("first"), "The texts of the tokens whose ids are first and above.")
      .def(
          "take_positions",
          [](PythonCorpus& corpus, std::size_t n) { return give(corpus.take_positions(n)); },
          nb::arg("n"))
      .def("rows", &rows_at, nb::arg("positions").noconvert(),
           "Row starts, feature indices, label tokens and the three tokens before each.")
      .def("forget_taken", &PythonCorpus::forget_taken);
}

}  // namespace labeltrees::bindings
