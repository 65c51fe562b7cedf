// Runs a fuzzer where the compiler has no libFuzzer: its corpus, then random changes of it. Takes
// libFuzzer's options of time, seed and where to leave findings, and prints the same count. The
// input at work is always in the findings' folder, so a crash leaves it there.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "input.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t max_length = 4096;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

void change_once(Bytes& input, const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  static const std::string telling = "\n\r\t :,|#'\"\\0123456789eE.+-naif\xc3\xff";
  const std::size_t at = input.empty() ? 0 : random() % input.size();
  const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 6) {
    case 0:
      if (!input.empty()) *place = static_cast<std::uint8_t>(random());
      break;
    case 1:
      input.insert(place, static_cast<std::uint8_t>(telling[random() % telling.size()]));
      break;
    case 2:
      if (!input.empty()) input.erase(place);
      break;
    case 3:  // a part again
      if (!input.empty()) {
        const std::size_t length = 1 + random() % std::min<std::size_t>(32, input.size() - at);
        const Bytes part(place, place + static_cast<std::ptrdiff_t>(length));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(random() % input.size()),
                     part.begin(), part.end());
      }
      break;
    case 4:  // the start of one, the end of another
      if (!input.empty()) {
        const Bytes& other = corpus[random() % corpus.size()];
        input.resize(at);
        const std::size_t from = other.empty() ? 0 : random() % other.size();
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      }
      break;
    default:
      if (!input.empty()) *place ^= static_cast<std::uint8_t>(1u << random() % 8);
  }
  input.resize(std::min(input.size(), max_length));
}

// Keeps the input at work in a file, which a crash leaves behind.
class Notebook {
 public:
  explicit Notebook(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {}
  ~Notebook() { std::filesystem::remove(path_); }

  void run(const Bytes& input) {
    file_.seekp(0);
    file_.write(reinterpret_cast<const char*>(input.data()),
                static_cast<std::streamsize>(input.size()));
    file_.flush();
    std::filesystem::resize_file(path_, input.size());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace

int main(int n_arguments, char** arguments) {
  double seconds = 0;
  std::uint64_t seed = 1, n_run = 0;
  std::string findings;
  std::vector<Bytes> corpus;
  for (int i = 1; i < n_arguments; ++i) {
    const std::string argument = arguments[i];
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("-max_total_time=")) {
      seconds = std::stod(value);
    } else if (argument.starts_with("-seed=")) {
      seed = std::stoull(value);
    } else if (argument.starts_with("-artifact_prefix=")) {
      findings = value;
    } else if (!argument.starts_with("-") && std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        corpus.push_back(read_file(entry.path()));
      }
    }
  }
  std::sort(corpus.begin(), corpus.end());
  if (corpus.empty()) corpus.emplace_back();
  Notebook notebook(findings + "crash-last");
  for (const Bytes& input : corpus) {
    notebook.run(input);
    ++n_run;
  }
  std::mt19937_64 random(seed);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    Bytes input = corpus[random() % corpus.size()];
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n) change_once(input, corpus, random);
    notebook.run(input);
    ++n_run;
  }
  std::fprintf(stderr, "stat::number_of_executed_units: %llu\n",
               static_cast<unsigned long long>(n_run));
}
