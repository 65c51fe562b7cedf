// Reads any bytes as XC, svmlight and Vowpal Wabbit rows, and as numbers. The result must be rows
// that keep every promise of formats.hpp, or a ParseError.
#include <cmath>
#include <limits>
#include <string>

#include "input.hpp"
#include "labeltrees/rows/csr.hpp"
#include "labeltrees/text/decimal.hpp"
#include "labeltrees/text/formats.hpp"

using namespace labeltrees;
using fuzz::need;

namespace {

constexpr std::int64_t most_features = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t hashed_features = std::int64_t{1} << 30;

void check_rows(const ParsedRows& rows, const TextBlock& block, std::int64_t n_features) {
  const std::size_t n = rows.n_rows();
  need(is_tidy({rows.row_starts, rows.indices, rows.values}, static_cast<std::size_t>(n_features),
               false),
       "rows are tidy");
  need(n <= block.max_rows && rows.lines.size() == n, "every row has its line");
  need(rows.label_starts.size() == n + 1 && rows.label_starts.front() == 0 &&
           static_cast<std::size_t>(rows.label_starts.back()) == rows.labels.size(),
       "every row has its labels");
  need(rows.weights.empty() || rows.weights.size() == n, "all rows have weights or none");
  for (const float weight : rows.weights) {
    need(weight >= 0 && std::isfinite(weight), "weights are finite and not negative");
  }
  for (std::size_t r = 0; r < n; ++r) {
    need(rows.label_starts[r] <= rows.label_starts[r + 1], "labels follow each other");
    need(rows.lines[r] >= block.first_line && rows.lines[r] < rows.next_line, "lines are there");
  }
  if (rows.label_kind == LabelKind::names) {
    for (const std::int64_t label : rows.labels) {
      need(label >= 0 && static_cast<std::size_t>(label) < rows.label_names.size(),
           "names are there");
    }
  }
  need(rows.end > block.begin && rows.end <= block.text.size(), "reading goes on");
}

// Reads block after block, as the readers do.
template <typename Parse>
void read_all(std::string_view text, std::size_t max_rows, std::int64_t n_features, Parse parse) {
  TextBlock block{text, 0, 1, max_rows};
  while (block.begin < text.size()) {
    const ParsedRows rows = parse(block);
    check_rows(rows, block, n_features);
    block.begin = rows.end;
    block.first_line = rows.next_line;
  }
}

void read_number(std::string_view text) {
  double value = 0;
  const char* end = parse_decimal(text.data(), text.data() + text.size(), value);
  if (end == nullptr) return;
  need(end > text.data() && end <= text.data() + text.size(), "a number ends in the text");
  const std::string alone(text.data(), end);
  need(value == std::strtod(alone.c_str(), nullptr), "a number is the nearest double");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned format = input.choose(4), option = input.choose(256);
  const std::string_view text = input.text();
  const std::size_t max_rows = option % 2 == 0 ? text.size() + 1 : 1 + option / 64;
  const std::int64_t n_features = option & 2 ? 100 : most_features;
  try {
    switch (format) {
      case 0:
        read_all(text, max_rows, n_features, [&](const TextBlock& block) {
          return parse_xc(block, {n_features, option & 4 ? 10 : std::int64_t{1} << 40});
        });
        break;
      case 1:
        read_all(text, max_rows, n_features, [&](const TextBlock& block) {
          return parse_svmlight(block, {n_features, (option & 4) != 0});
        });
        break;
      case 2:
        read_all(text, max_rows, hashed_features, [&](const TextBlock& block) {
          return parse_vw(block, {LabelLists{static_cast<std::uint8_t>(option / 4 % 3)},
                                  LabelKind{static_cast<std::uint8_t>(option / 16 % 3)}});
        });
        break;
      default:
        read_number(text);
    }
  } catch (const ParseError& error) {
    need(error.line() >= 1, "an error names a line");
  }
  return 0;
}
