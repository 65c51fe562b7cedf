// The parsers: worked rows, the rules they share, and that no bytes at all make them misbehave.
#include <algorithm>
#include <random>
#include <string>

#include "../check.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/text/formats.hpp"

using namespace labeltrees;

namespace {

using Ints = std::vector<std::int64_t>;
using Indices = std::vector<std::int32_t>;
using Floats = std::vector<float>;

constexpr XcOptions xc{10, 5};
constexpr SvmlightOptions svmlight{10, true};

constexpr VwOptions vowpal{LabelLists::of_integers, LabelKind::unknown};

TextBlock whole(std::string_view text) { return {text, 0, 1, text.size() + 1}; }

ParsedRows read_xc(const std::string& text) { return parse_xc(whole(text), xc); }
ParsedRows read_svmlight(const std::string& text) { return parse_svmlight(whole(text), svmlight); }
ParsedRows read_vw(const std::string& text, VwOptions options = vowpal) {
  return parse_vw(whole(text), options);
}

template <typename Read>
std::int64_t bad_line(const Read& read, const std::string& text) {
  try {
    read(text);
  } catch (const ParseError& error) {
    return error.line();
  }
  return 0;
}

std::int32_t column(std::string_view space, std::string_view name) {
  return feature_of_hash(combine_hashes(hash_bytes(space), hash_bytes(name)));
}

// What every result promises.
bool is_sound(const ParsedRows& rows, std::size_t text_size) {
  const std::size_t n = rows.n_rows();
  bool sound = rows.label_starts.size() == n + 1 && rows.lines.size() == n &&
               rows.indices.size() == rows.values.size() && rows.end <= text_size;
  for (std::size_t row = 0; row < n && sound; ++row) {
    const auto begin = rows.indices.begin() + rows.row_starts[row];
    const auto end = rows.indices.begin() + rows.row_starts[row + 1];
    sound = begin <= end && std::adjacent_find(begin, end, std::greater_equal<>()) == end &&
            std::all_of(begin, end, [](std::int32_t i) { return i >= 0; });
  }
  return sound;
}

}  // namespace

TEST(xc_rows_by_hand) {
  const ParsedRows rows = read_xc("3,1 0:1.5 4:-2\n 2:1\r\n\n4");
  CHECK((rows.row_starts == Ints{0, 2, 3, 3, 3}));
  CHECK((rows.indices == Indices{0, 4, 2}) && (rows.values == Floats{1.5f, -2, 1}));
  CHECK((rows.label_starts == Ints{0, 2, 2, 2, 3}) && (rows.labels == Ints{3, 1, 4}));
  CHECK((rows.lines == Ints{1, 2, 3, 4}) && rows.next_line == 5 && rows.weights.empty());
}

TEST(svmlight_rows_by_hand) {
  const ParsedRows rows = read_svmlight("# head\n-1,+7 3:0.5 # tail\n\n 2:1#\n");
  CHECK((rows.labels == Ints{-1, 7}) && (rows.label_starts == Ints{0, 2, 2}));
  CHECK((rows.indices == Indices{3, 2}) && (rows.lines == Ints{2, 4}));
  CHECK((parse_svmlight(whole("1 1:1 10:2"), {10, false}).indices == Indices{0, 9}));
  CHECK_THROWS(parse_svmlight(whole("1 0:1"), {10, false}), ParseError);
}

TEST(vw_rows_by_hand) {
  const ParsedRows rows = read_vw("a 2 'tag|n:2 x:1.5 y |m x\n\nb |n y y:3\na 0.5 tag|| z\n");
  CHECK((rows.label_names == std::vector<std::string>{"a", "b"}) && (rows.labels == Ints{0, 1, 0}));
  CHECK((rows.weights == Floats{2, 1, 0.5f}) && (rows.lines == Ints{1, 3, 4}));
  CHECK((rows.row_starts == Ints{0, 3, 4, 5}));
  for (const auto& [space, name, value] :
       {std::tuple{"n", "x", 3.0f}, std::tuple{"n", "y", 2.0f}, std::tuple{"m", "x", 1.0f}}) {
    const auto at = std::find(rows.indices.begin(), rows.indices.begin() + 3, column(space, name));
    CHECK(at != rows.indices.begin() + 3);
    CHECK(rows.values[static_cast<std::size_t>(at - rows.indices.begin())] == value);
  }
  CHECK(rows.indices[3] == column("n", "y") && rows.values[3] == 4);
  CHECK(rows.indices[4] == column("", "z"));
}

TEST(entries_are_sorted_and_summed_and_labels_counted_once) {
  const ParsedRows rows = read_xc("4,4,1,4 7:1 2:0.5 7:2 2:0.25\n");
  CHECK((rows.indices == Indices{2, 7}) && (rows.values == Floats{0.75f, 3}));
  CHECK((rows.labels == Ints{4, 1}));
}

TEST(commas_separate_labels_if_requested) {
  CHECK((read_vw("1,2 |\n").labels == Ints{1, 2}));
  CHECK((read_vw("a,b |\n").label_names == std::vector<std::string>{"a,b"}));
  CHECK((read_vw("a,b |\n", {LabelLists::always, LabelKind::unknown}).labels == Ints{0, 1}));
  CHECK((read_vw("1,2 |\n", {LabelLists::never, LabelKind::unknown}).label_names.size() == 1));
  CHECK((read_vw("1,2 |\n", {LabelLists::always, LabelKind::names}).label_names[1] == "2"));
}

TEST(a_block_is_read_in_parts) {
  const std::string text = "1 1:1\n2 2:1\n3 3:1\n";
  const ParsedRows first = parse_xc({text, 0, 2, 2}, xc);
  CHECK(first.n_rows() == 2 && first.next_line == 4 && first.end == 12);
  const ParsedRows second = parse_xc({text, first.end, first.next_line, 2}, xc);
  CHECK((second.labels == Ints{3}) && (second.lines == Ints{4}) && second.end == text.size());
}

TEST(gathered_rows_are_checked) {
  const Ints starts{0, 2, 3}, lines{5, 9};
  const ParsedRows rows =
      gather_rows(starts, Ints{3, 1, 0}, std::vector<double>{1, 2, 3}, lines, 4);
  CHECK((rows.indices == Indices{1, 3, 0}) && (rows.values == Floats{2, 1, 3}));
  const std::vector<double> ones{1, 1, 1};
  CHECK_THROWS(gather_rows(starts, Ints{3, 1, 4}, ones, lines, 4), ParseError);
  CHECK_THROWS(gather_rows(starts, Ints{3, -1, 0}, ones, lines, 4), ParseError);
  CHECK_THROWS(gather_rows(starts, Ints{3, 1, 0}, std::vector<double>{1, 1e39, 1}, lines, 4),
               ParseError);
  CHECK_THROWS(gather_rows(Ints{0, 4, 3}, Ints{3, 1, 0}, ones, lines, 4), std::invalid_argument);
  CHECK_THROWS(gather_rows(Ints{0, 2}, Ints{3, 1, 0}, ones, lines, 4), std::invalid_argument);
}

TEST(the_first_bad_line_is_named) {
  for (const char* row :
       {"5 1:1", "-1 1:1", "1, 1:1", ",1 1:1", "x", "1 10:1", "1 -1:1", "1 1:", "1 1:nan",
        "1 1:inf", "1 1:1e39", "1 1", "1 :1", "1 1:1x", "1 99999999999999999999:1",
        "99999999999999999999 1:1", "1 18446744073709551617:1", "1 1:3e38 1:3e38", "1 qid:3 1:1"}) {
    CHECK(bad_line(read_xc, std::string("1 1:1\n") + row + "\n1 1:nan") == 2);
  }
  const auto vw = [](const std::string& text) { return read_vw(text); };
  for (const char* row :
       {"x |a", "1", "1|a", "1 -1 |a", "1 nan |a", "1 1 1 |a", "1 |a:x b", "1 |a :1", "1 |a b:1:2",
        "1 |a b:", "1 |a:1e30 b:1e30", "1, |a", ", |a", "1.0 |a"}) {
    CHECK(bad_line(vw, std::string("1 |a\n") + row + "\n1 |a b:nan") == 2);
  }
}

TEST(random_bytes_give_sound_rows_or_an_error) {
  std::mt19937_64 random(7);
  const std::string letters = "0123456789,:. |\t\n\r#'-+ex\xff";
  std::size_t n_rows = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    const auto run = [&](const auto& read) {
      try {
        const ParsedRows rows = read(text);
        CHECK(is_sound(rows, text.size()));
        n_rows += rows.n_rows();
      } catch (const ParseError& error) {
        CHECK(error.line() >= 1 && error.what()[0] != '\0');
      }
    };
    run(read_xc);
    run(read_svmlight);
    run([](const std::string& t) { return read_vw(t); });
  }
  CHECK(n_rows > 1000);
}
