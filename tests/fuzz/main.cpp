// Runs every fuzz target on mutated fixtures, without libFuzzer: the short run of the test suite,
// and under sanitizers the long one.
//
// usage: test_fuzz PROJECT_DIR [RUNS [SEED [TARGET]]]
// A target that finds a fault aborts; the input is then in the file fuzz-TARGET.input.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"

namespace gqa::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Entry {
  std::string name;
  std::string suffix;
  Target target;
};

std::vector<Entry>& table() {
  static std::vector<Entry> entries;
  return entries;
}

std::vector<Bytes> seeds_of(const std::filesystem::path& folder, const std::string& suffix) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(suffix)) {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  std::vector<Bytes> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.size() <= 100'000) seeds.push_back(std::move(bytes));
  }
  if (seeds.empty()) seeds.emplace_back();
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  Bytes mutated(const std::vector<Bytes>& seeds) {
    Bytes bytes = seeds[below(seeds.size())];
    const std::size_t steps = 1 + below(4);
    for (std::size_t step = 0; step < steps; ++step) change(bytes, seeds);
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : engine_() % count; }

  void change(Bytes& bytes, const std::vector<Bytes>& seeds) {
    static constexpr std::array words{"0",
                                      "-1",
                                      "18446744073709551615",
                                      "9223372036854775807",
                                      "1e20000",
                                      "1e-20000",
                                      "null",
                                      "{}",
                                      "[]",
                                      "\"\"",
                                      "1/0",
                                      "nan",
                                      "\\u0000",
                                      "true",
                                      "[[[[",
                                      "ln(2)"};
    if (bytes.empty()) bytes.push_back(static_cast<std::uint8_t>(engine_()));
    const std::size_t at = below(bytes.size());
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(8)) {
      case 0:
        bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        bytes[at] = static_cast<std::uint8_t>(engine_());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(below(bytes.size() - at)));
        break;
      case 4: {
        const std::string word = words[below(words.size())];
        bytes.insert(place, word.begin(), word.end());
        break;
      }
      case 5: {  // a number becomes another one
        const auto digit =
            std::find_if(place, bytes.end(), [](std::uint8_t c) { return c >= '0' && c <= '9'; });
        if (digit == bytes.end()) break;
        const auto end = std::find_if_not(digit, bytes.end(),
                                          [](std::uint8_t c) { return c >= '0' && c <= '9'; });
        const std::string word = words[below(5)];
        const auto to = bytes.erase(digit, end);
        bytes.insert(to, word.begin(), word.end());
        break;
      }
      case 6: {  // a part of another seed
        const Bytes& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size());
        const std::size_t size = below(std::min<std::size_t>(other.size() - from, 64));
        bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + size));
        break;
      }
      default: {  // eight bytes of a length
        for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i) {
          bytes[i] = below(2) == 0 ? 0xff : 0;
        }
      }
    }
  }

  std::mt19937_64 engine_;
};

void keep(const std::string& name, const Bytes& bytes) {
  std::ofstream file("fuzz-" + name + ".input", std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

const Entry* running = nullptr;
const Bytes* input = nullptr;

void on_abort(int) {
  if (running != nullptr && input != nullptr) keep(running->name, *input);
  std::signal(SIGABRT, SIG_DFL);
}

// The slowest input of a target must be far from what a person would wait for.
bool run(const Entry& entry, const std::filesystem::path& project, std::uint64_t runs,
         std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Bytes> seeds = seeds_of(project / "fixtures", entry.suffix);
  Mutator mutator(seed);
  double slowest = 0;
  const auto start = Clock::now();
  running = &entry;
  for (std::uint64_t i = 0; i < runs + seeds.size(); ++i) {
    const Bytes bytes = i < seeds.size() ? seeds[i] : mutator.mutated(seeds);
    input = &bytes;
    const auto begin = Clock::now();
    entry.target(bytes.data(), bytes.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds > slowest) slowest = seconds;
    if (seconds > 20) {
      keep(entry.name, bytes);
      std::printf("%s: one input took %.1f s\n", entry.name.c_str(), seconds);
      return false;
    }
  }
  input = nullptr;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%-16s %8llu inputs from %zu seeds in %.1f s, the slowest %.3f s\n",
              entry.name.c_str(), static_cast<unsigned long long>(runs), seeds.size(), seconds,
              slowest);
  return true;
}

}  // namespace

Registration::Registration(const char* name, const char* suffix, Target target) {
  table().push_back({name, suffix, target});
}

}  // namespace gqa::fuzz

int main(int count, char** arguments) {
  using namespace gqa::fuzz;
  if (count < 2 || count > 5) {
    std::fprintf(stderr, "usage: test_fuzz PROJECT_DIR [RUNS [SEED [TARGET]]]\n");
    return 64;
  }
  const std::uint64_t runs = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 300;
  const std::uint64_t seed = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1;
  std::signal(SIGABRT, on_abort);
  bool all = true;
  std::size_t ran = 0;
  for (const Entry& entry : table()) {
    if (count > 4 && entry.name != arguments[4]) continue;
    ++ran;
    all = run(entry, arguments[1], runs, seed) && all;
  }
  return all && ran > 0 ? 0 : 1;
}
