// Text files of sparse examples, a block of lines at a time.
//
// Every parser reads whole lines and returns arrays that own their memory. In each row the feature
// indices are strictly increasing. Entries may come in any order, and entries of one feature are
// summed. A label that occurs twice in a row counts once. Cost is O(bytes), plus O(n log n) for a
// row of n entries that is not sorted. The parsers share no state, so any number of threads may
// run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace labeltrees {

// Thrown at the first line that cannot be read; what() is the reason, in ASCII.
class ParseError : public std::runtime_error {
 public:
  ParseError(std::int64_t line, const std::string& reason)
      : std::runtime_error(reason), line_(line) {}
  std::int64_t line() const noexcept { return line_; }

 private:
  std::int64_t line_;
};

// The lines of text from byte `begin`, where line `first_line` of the file starts. Lines end with
// \n or \r\n; the last one need not. Reading stops after max_rows rows.
struct TextBlock {
  std::string_view text;
  std::size_t begin;
  std::int64_t first_line;
  std::size_t max_rows;
};

enum class LabelKind : std::uint8_t { unknown, integers, names };

struct ParsedRows {
  std::vector<std::int64_t> row_starts{0};    // n_rows + 1
  std::vector<std::int32_t> indices;          // strictly increasing in each row
  std::vector<float> values;                  // finite
  std::vector<std::int64_t> label_starts{0};  // n_rows + 1
  std::vector<std::int64_t> labels;           // integers, or positions in label_names
  std::vector<std::string> label_names;       // distinct, in order of appearance
  std::vector<float> weights;                 // n_rows, or empty if the format has none
  std::vector<std::int64_t> lines;            // n_rows entries; the line of each row
  LabelKind label_kind = LabelKind::unknown;
  std::size_t end = 0;         // where in the text the next row starts
  std::int64_t next_line = 1;  // and its line

  std::size_t n_rows() const noexcept { return row_starts.size() - 1; }
};

struct XcOptions {
  std::int64_t n_features;  // in [0, 2^31)
  std::int64_t n_labels;
};

// XC repository rows, after the header: "label,label feature:value feature:value ...". All ids
// are from 0. A row without labels starts with a blank; an empty line is a row with nothing.
ParsedRows parse_xc(const TextBlock& block, const XcOptions& options);

struct SvmlightOptions {
  std::int64_t n_features;  // in [0, 2^31)
  bool zero_based;          // else feature 1 is column 0
};

// svmlight rows: "label,label feature:value ... # comment". Labels are integers of any sign.
// Lines without content are skipped. "qid:" is refused.
ParsedRows parse_svmlight(const TextBlock& block, const SvmlightOptions& options);

enum class LabelLists : std::uint8_t {
  never,        // a comma is part of a name
  of_integers,  // "1,2" is two labels, "a,b" is one
  always
};

struct VwOptions {
  LabelLists lists;
  LabelKind label_kind;  // unknown if the first label decides
};

// Vowpal Wabbit rows: "label importance 'tag|namespace:scale feature:value ... |namespace ...".
// A feature without value has 1; its value is multiplied by the scale of its namespace. Its
// column is feature_of_hash(combine_hashes(hash_bytes(namespace), hash_bytes(feature))). Empty
// lines are skipped; a row may have no label.
ParsedRows parse_vw(const TextBlock& block, const VwOptions& options);

// Rows from entries that are already numbers. Row r has entries row_starts[r] .. row_starts[r + 1],
// and is line lines[r] of its file. Throws ParseError for an index outside [0, n_features) or a
// value that is not finite as a float, std::invalid_argument for arrays that do not fit together.
ParsedRows gather_rows(std::span<const std::int64_t> row_starts,
                       std::span<const std::int64_t> indices, std::span<const double> values,
                       std::span<const std::int64_t> lines, std::int64_t n_features);

// The columns of features in the namespace without a name.
std::vector<std::int64_t> hash_names(std::span<const std::string_view> names);

}  // namespace labeltrees
