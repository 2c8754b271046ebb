#include "gqa/audit/work/journal.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "audit/random_tally.hpp"
#include "gqa/audit/work/tally_record.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

// In memory where the system has such a folder: a disk takes its time to synchronise.
std::filesystem::path folder_for_journals() {
  const std::filesystem::path memory = "/dev/shm";
  return access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

// A file name of its own, removed at the end.
class JournalPath {
 public:
  JournalPath() : path_(folder_for_journals() / ("gqa-journal-test-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
  }
  ~JournalPath() { std::filesystem::remove(path_); }
  operator const std::filesystem::path&() const { return path_; }  // NOLINT: a name
  std::string name() const { return path_.string(); }

  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

 private:
  std::filesystem::path path_;
};

// Two outputs with a few blocks each, whose tallies depend on nothing but their number.
struct Work {
  static constexpr int jobs = 2;
  std::vector<std::pair<int, std::int64_t>> done = {};  // what was computed, in order
  std::size_t most = 1000;                              // then the work is interrupted
  std::vector<IdentityField> identity = {{"path", "a file"}, {"query", "binary32 [1] 0123"}};

  struct Interrupted {};

  BlockJob job(int number) {
    BlockJob job{"output", identity, 3 + number, AuditTally(1, 2, 30, 2), {}, {}};
    job.identity.push_back({"audited", number == 0 ? "output" : "lse"});
    job.run = [this, number, empty = job.empty](std::span<const std::int64_t> blocks,
                                                const FinishBlock& finish) {
      for (const std::int64_t block : blocks) {
        if (done.size() == most) throw Interrupted();
        test::Random random(static_cast<std::uint64_t>(100 * number + block));
        done.emplace_back(number, block);
        finish(block, test::random_tally(random, empty, 6));
      }
    };
    return job;
  }
  // The tallies of all jobs as text.
  std::string run(BlockRunner& runner) {
    std::string text;
    for (int number = 0; number < jobs; ++number) {
      text += tally_record(runner.run(job(number))).dump() + "\n";
    }
    return text;
  }
  std::string run(const std::filesystem::path& path) {
    Journal journal(path);
    JournalRunner runner(journal);
    return run(runner);
  }
  std::string refusal(const std::filesystem::path& path) {
    return test::refusal_of([&] { run(path); });
  }
};

std::string uninterrupted() {
  std::string text;
  Work work;
  for (int number = 0; number < Work::jobs; ++number) {
    text += tally_record(run_here(work.job(number))).dump() + "\n";
  }
  return text;
}

constexpr std::size_t all_blocks = 3 + 4;

std::vector<std::string> lines_of(const std::string& content) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = content.find('\n', begin) + 1;
    lines.push_back(content.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

}  // namespace

TEST_CASE("journal: an interrupted run goes on where it was, wherever that is") {
  const std::string expected = uninterrupted();
  for (std::size_t most = 0; most <= all_blocks; ++most) {
    CAPTURE(most);
    const JournalPath path;
    Work first{.most = most};
    if (most < all_blocks) {
      CHECK_THROWS_AS(first.run(path), Work::Interrupted);
    } else {
      CHECK(first.run(path) == expected);
    }
    Work second;
    CHECK(second.run(path) == expected);
    CHECK(first.done.size() + second.done.size() == all_blocks);
    Work third;
    CHECK(third.run(path) == expected);
    CHECK(third.done.empty());
  }
}

TEST_CASE("journal: cut at every byte, it loses no whole line and repeats none") {
  const std::string expected = uninterrupted();
  const JournalPath path;
  Work().run(path);
  const std::string whole = path.content();
  const std::vector<std::string> lines = lines_of(whole);
  REQUIRE(lines.size() == 1 + Work::jobs + all_blocks);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    CAPTURE(cut);
    path.write(whole.substr(0, cut));
    std::size_t kept = 0;
    for (const std::string& line : lines_of(whole.substr(0, whole.rfind('\n', cut - 1) + 1))) {
      if (cut > 0 && line.find("\"record\":\"block\"") != std::string::npos) ++kept;
    }
    if (cut == 0) kept = 0;
    Work work;
    CHECK(work.run(path) == expected);
    CHECK(work.done.size() == all_blocks - kept);
    CHECK(path.content() == whole);
  }
}

TEST_CASE("journal: every damaged byte is found, and the file is left alone") {
  const JournalPath path;
  Work().run(path);
  const std::string whole = path.content();
  std::size_t line = 1;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 1 : 0x20));
    path.write(damaged);
    // The last line's end: what is left looks torn, and is.
    if (at + 1 < whole.size()) {
      CHECK(Work().refusal(path) ==
            "journal.damaged at " + path.name() + ": line " + std::to_string(line));
      CHECK(path.content() == damaged);
    }
    if (whole[at] == '\n') ++line;
  }
}

TEST_CASE("journal: one that belongs to something else is refused at the field") {
  const JournalPath path;
  Work().run(path);
  const std::string whole = path.content();
  const auto refused = [&](const Work& changed) {
    Work work = changed;
    const std::string refusal = work.refusal(path);
    CHECK(work.done.empty());
    CHECK(path.content() == whole);
    return refusal;
  };
  const std::string start = "journal.mismatch at " + path.name() + ": ";
  CHECK(refused({.identity = {{"path", "another"}, {"query", "binary32 [1] 0123"}}}) ==
        start + "path");
  CHECK(refused({.identity = {{"path", "a file"}, {"query", "binary32 [1] 0124"}}}) ==
        start + "query");
  CHECK(refused({.identity = {{"path", "a file"}}}) == start + "audited");
  CHECK(refused({.identity = {{"path", "a file"}, {"query", "binary32 [1] 0123"}, {"key", "x"}}}) ==
        start + "key");
}

TEST_CASE("journal: another number of blocks, format or version is refused") {
  const JournalPath path;
  Work().run(path);
  const std::vector<std::string> lines = lines_of(path.content());
  const auto with_line = [&](std::size_t number, const char* field, const nlohmann::json& value) {
    auto record = nlohmann::json::parse(lines[number].substr(9));
    record[field] = value;
    std::string content;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      content += i == number ? JournalFile::line_of(record) : lines[i];
    }
    path.write(content);
    return Work().refusal(path);
  };
  CHECK(with_line(0, "format", "x") == "journal.mismatch at " + path.name() + ": format");
  CHECK(with_line(0, "version", "x") == "journal.mismatch at " + path.name() + ": version");
  CHECK(with_line(0, "record", "x") == "journal.damaged at " + path.name() + ": line 1");
  CHECK(with_line(1, "blocks", 4) == "journal.mismatch at " + path.name() + ": blocks");
  CHECK(with_line(1, "job", 1) == "journal.damaged at " + path.name() + ": line 2");
  CHECK(with_line(2, "job", 1) == "journal.damaged at " + path.name() + ": line 3");
  CHECK(with_line(2, "record", "x") == "journal.damaged at " + path.name() + ": line 3");
  CHECK(with_line(3, "block", 3) == "journal.damaged at " + path.name() + ": line 4");
  CHECK(with_line(3, "block", -1) == "journal.damaged at " + path.name() + ": line 4");
  CHECK(with_line(3, "tally", 1) == "journal.damaged at " + path.name() + ": line 4");
  // The same block twice would be counted twice.
  CHECK(with_line(4, "block", 0) == "journal.damaged at " + path.name() + ": line 5");
}

TEST_CASE("journal: a file that is none is refused and left alone") {
  const JournalPath path;
  for (const char* content : {"notes", "notes\n", "\n", "00000000 {}\n", "0"}) {
    CAPTURE(content);
    path.write(content);
    CHECK(Work().refusal(path) == "journal.damaged at " + path.name() + ": line 1");
    CHECK(path.content() == content);
  }
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  CHECK(Work().refusal(folder) == "journal.unwritable at " + folder.string());
}

TEST_CASE("journal: two audits cannot write one journal at the same time") {
  const JournalPath path;
  const Journal open(path);
  CHECK(Work().refusal(path) == "journal.in_use at " + path.name());
}

TEST_CASE("journal: text that is not UTF-8 goes in and is recognised") {
  const JournalPath path;
  const std::vector<IdentityField> odd{{"path", "\xff\xfe \n \" \\"}};
  const std::string expected = Work{.identity = odd}.run(path);
  Work again{.identity = odd};
  CHECK(again.run(path) == expected);
  CHECK(again.done.empty());
}
