#include <chrono>
#include <random>
#include <string>

#include "../check.hpp"
#include "labeltrees/python_source/tokens.hpp"
#include "labeltrees/python_source/word_characters.hpp"

using namespace labeltrees;
using namespace std::string_literals;

namespace {

// The tokens with a space after each, or why there are none.
std::string split(std::string_view source, SourceEnd end = SourceEnd::of_file) {
  TokenTable table;
  std::vector<TokenId> tokens;
  const TokeniseOutcome outcome = tokenise_python(source, end, table, tokens);
  if (outcome != TokeniseOutcome::complete) return describe(outcome);
  std::string text;
  for (const TokenId token : tokens) text.append(table.text(token)).push_back(' ');
  return text;
}

std::string split_typed(std::string_view source) { return split(source, SourceEnd::of_typed); }

std::string repeat(std::string_view text, std::size_t n) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all.append(text);
  return all;
}

const std::string sample =
    "class A(B):\n\tx = 0x1f + 1_000.5e-3j  # why\n\n\tdef f(s, *a):\n\t\treturn rb'''a\nb''' \\\n"
    "\t\t\tif not s else {f\"{a}\": [1, 2]}\nprint(\"\\\"\", 'a\\\nb')\n";

}  // namespace

TEST(a_function_is_its_tokens) {
  CHECK(split("def f(x):\n    return x + 1\n") ==
        "def f ( x ) : <nl> <ind> return x + <num> <nl> <ded> ");
  CHECK(split(sample) ==
        "class A ( B ) : <nl> <ind> x = <num> + <num> <nl> def f ( s , * a ) : <nl> <ind> return "
        "<str> if not s else { <str> : [ <num> , <num> ] } <nl> <ded> <ded> print ( <str> , <str> "
        ") <nl> ");
}

TEST(numbers_end_where_tokenize_ends_them) {
  CHECK(split("0x_1F 0b1_0 0o17 1_000 1e5j 1.j .5 1.e-3 00\n") ==
        "<num> <num> <num> <num> <num> <num> <num> <num> <num> <nl> ");
  CHECK(split("1if x\n") == "<num> if x <nl> ");
  CHECK(split("1else 2\n") == "<num> else <num> <nl> ");
  CHECK(split("0777 0b12 0x 1__0 1..real\n") ==
        "<num> <num> <num> <num> <num> x <num> __0 <num> . real <nl> ");
}

TEST(operators_are_the_longest_there_are) {
  CHECK(split("a**=b//c->d:=e...f!=g<<=h<>i~=j\n") ==
        "a **= b // c -> d := e ... f != g <<= h < > i ~ = j <nl> ");
}

TEST(string_prefixes_belong_to_the_string) {
  CHECK(split("Rb'' bR\"\" f'{a}' U'x' ur'x' xb'y' ''\n") ==
        "<str> <str> <str> <str> ur <str> xb <str> <str> <nl> ");
}

TEST(an_unclosed_quote_is_dropped_and_the_line_continues) {
  CHECK(split("x = 'a b\ny\n") == "x = a b <nl> y <nl> ");
  CHECK(split("x = 'a\\\nb c\nd\n") == "x = d <nl> ");  // the second line is lost with the string
}

TEST(every_kind_of_newline_is_one) {
  CHECK(split("a\r\nb\rc\n") == "a <nl> b <nl> c <nl> ");
  CHECK(split("x = '''\r\n'''\r") == "x = <str> <nl> ");
}

TEST(a_character_that_starts_no_token_gives_none) {
  CHECK(split("\xef\xbb\xbf"s + "a ? $ ! `\0\x1c b\n"s) == "a b <nl> ");
}

TEST(words_are_unicode) {
  CHECK(split("\xc3\xa9t\xc3\xa9 = \xe2\x82\xac x\xc2\xb2\n") ==
        "\xc3\xa9t\xc3\xa9 = x\xc2\xb2 <nl> ");
  CHECK(is_identifier("\xc3\xa9t\xc3\xa9") && is_identifier("if") && is_identifier("_1"));
  CHECK(!is_identifier("x\xc2\xb2") && !is_identifier("1x") && !is_identifier(""));
}

TEST(a_form_feed_starts_the_column_again) {
  CHECK(split("if a:\n  \f  b\n  c\n") == "if a : <nl> <ind> b <nl> c <nl> <ded> ");
}

TEST(files_that_are_not_python_report_why) {
  CHECK(split("x = (1,\n") == "a bracket or continued line is not closed");
  CHECK(split("x)\n") == "a bracket or continued line is not closed");
  CHECK(split("x = \\\n") == "a bracket or continued line is not closed");
  CHECK(split("x = '''a\n") == "a string is not closed");
  CHECK(split("if a:\n    b\n  c\n") == "a dedent matches no outer indentation");
  for (const char* bytes : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
                            "\xf0\x80\x80\x80", "\xe0\x80\x80", "abcdefgh\x80"}) {
    CHECK(split(bytes) == "not UTF-8");
  }
}

TEST(a_rejected_source_leaves_the_tokens_as_they_were) {
  TokenTable table;
  std::vector<TokenId> tokens{id_of(TokenMark::newline)};
  CHECK(tokenise_python("a (", SourceEnd::of_file, table, tokens) ==
        TokeniseOutcome::open_statement);
  CHECK(tokens == std::vector<TokenId>{id_of(TokenMark::newline)});
}

TEST(the_end_of_a_file_closes_its_line_and_blocks) {
  CHECK(split("if a:\n  b") == "if a : <nl> <ind> b <nl> <ded> ");
  CHECK(split("a\n# b") == "a <nl> ");
  CHECK(split("if a:\n  b\n   ") == "if a : <nl> <ind> b <nl> <ded> ");
  CHECK(split("").empty() && split("\n\n  \n").empty() && split("   ").empty());
}

TEST(typed_text_is_left_open) {
  CHECK(split_typed("for i in range(") == "for i in range ( ");
  CHECK(split_typed("if a:\n  b") == "if a : <nl> <ind> b ");
  CHECK(split_typed("if a:\n  b\n") == "if a : <nl> <ind> b <nl> ");
  CHECK(split_typed("if a:\n    ") == "if a : <nl> <ind> ");
  CHECK(split_typed("if a:\n    b\n  ") == "if a : <nl> <ind> b <nl> <ded> ");
  CHECK(split_typed("x = '''a\nb") == "x = ");
  CHECK(split_typed("x + \\\n") == "x + ");
}

TEST(a_table_numbers_texts_as_they_come) {
  TokenTable table;
  const std::size_t n_marks = table.size();
  for (int i = 0; i < 5000; ++i) table.intern("name" + std::to_string(i));
  CHECK(table.size() == n_marks + 5000);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = "name" + std::to_string(i);
    const TokenId token = table.intern(text);
    CHECK(token == static_cast<TokenId>(n_marks) + i && table.text(token) == text);
  }
  CHECK(table.intern("<num>") == id_of(TokenMark::number));
  CHECK(table.text(id_of(TokenMark::file_break)) == "<file>");
}

TEST(random_bytes_and_damaged_sources_are_tokens_or_an_outcome) {
  std::mt19937_64 random(0);
  const std::string pieces[] = {"'",  "\"", "'''", "\"\"\"", "\\", "\n", "\r", "(",        ")",
                                "\t", " ",  "0x",  "1e",     "_",  ".",  "#",  "\xc3\xa9", "\xf0"};
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 20000; ++round) {
    std::string source = round % 2 == 0 ? sample.substr(draw(sample.size())) : std::string();
    for (std::size_t i = draw(30); i > 0; --i) {
      const std::size_t at = draw(source.size() + 1);
      if (draw(3) == 0) {
        source.insert(at, 1, static_cast<char>(draw(256)));
      } else if (draw(2) == 0) {
        source.erase(at, draw(3));
      } else {
        source.insert(at, pieces[draw(std::size(pieces))]);
      }
    }
    split(source);
    split_typed(source);
  }
}

TEST(long_lines_and_deep_nesting_take_linear_time) {
  constexpr std::size_t n = 1 << 18;
  const auto start = std::chrono::steady_clock::now();
  for (const char* piece : {"\\'", "'\"\\", "(", "\"\"\"", "\\", " ", "1_", "b'\\\"", "\xc2\xa0"}) {
    split(repeat(piece, n));
    split("x" + repeat(piece, n) + "\\\n");
  }
  // Under sanitizers this takes about half a second; quadratic time would be many minutes.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}
