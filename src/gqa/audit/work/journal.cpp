#include "gqa/audit/work/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "gqa/audit/work/tally_record.hpp"
#include "gqa/error.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

using nlohmann::json;

constexpr std::string_view format_name = "gqaverify.journal/1";

json header() {
  return {{"record", "journal"}, {"format", format_name}, {"version", version}};
}

// What is not UTF-8 is compared as the file keeps it.
json as_stored(const json& record) {
  return json::parse(record.dump(-1, ' ', false, json::error_handler_t::replace));
}

json job_record(std::size_t number, const BlockJob& job) {
  json identity = json::array();
  for (const IdentityField& field : job.identity) {
    identity.push_back(json::array({field.name, field.value}));
  }
  return as_stored(
      {{"record", "job"}, {"job", number}, {"identity", identity}, {"blocks", job.count}});
}

bool is_kind(const json& record, std::string_view kind) {
  const auto found = record.find("record");
  return found != record.end() && *found == kind;
}

// A member as text, whatever it is.
std::string text_at(const json& record, const char* member) {
  const auto found = record.find(member);
  if (found == record.end()) return "nothing";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Long values, such as contracts, are told by where they begin to differ.
std::string shortened(const std::string& text, const std::string& other) {
  constexpr std::size_t longest = 80;
  if (text.size() <= longest) return text;
  const auto [at, other_at] = std::ranges::mismatch(text, other);
  const auto differs = static_cast<std::size_t>(at - text.begin());
  const std::size_t begin = differs > longest / 2 ? differs - longest / 2 : 0;
  return (begin > 0 ? "..." : "") + text.substr(begin, longest) +
         (begin + longest < text.size() ? "..." : "");
}

}  // namespace

Journal::Journal(const std::filesystem::path& path) : file_(path) {
  const std::vector<json>& records = file_.records();
  if (records.empty()) {
    // Cut off while the first line was written; anything else is somebody else's file.
    if (!JournalFile::line_of(header()).starts_with(file_.torn())) {
      damaged(1, "is not the first line of a journal");
    }
    file_.append(header());
    return;
  }
  if (!is_kind(records[0], "journal")) damaged(1, "is not the first record of a journal");
  for (const char* field : {"format", "version"}) {
    const std::string stored = text_at(records[0], field);
    const std::string wanted = text_at(header(), field);
    if (stored != wanted) mismatch(field, stored, wanted);
  }
  for (std::size_t i = 1; i < records.size(); ++i) read_line(i + 1, records[i]);
  file_.forget_records();
}

void Journal::read_line(std::size_t line, json record) {
  if (is_kind(record, "job")) {
    if (text_at(record, "job") != std::to_string(jobs_.size())) damaged(line, "is out of order");
    jobs_.push_back({std::move(record), {}});
  } else if (is_kind(record, "block") && !jobs_.empty() &&
             text_at(record, "job") == std::to_string(jobs_.size() - 1)) {
    jobs_.back().blocks.push_back({line, std::move(record)});
  } else {
    damaged(line, "is not a record that may stand here");
  }
}

void Journal::require_same(const json& stored, const json& record) const {
  const json& ours = record.at("identity");
  const json theirs = stored.value("identity", json::array());
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const json none = json::array({"", "nothing"});
    const json& here = i < ours.size() ? ours[i] : none;
    const json& there = i < theirs.size() ? theirs[i] : none;
    if (here == there) continue;
    const std::string field = i < ours.size() ? here[0] : there[0];
    mismatch(field, i < ours.size() && there[0] != here[0] ? "nothing" : there[1].dump(),
             here[1].dump());
  }
  if (stored != record) mismatch("blocks", text_at(stored, "blocks"), text_at(record, "blocks"));
}

std::vector<Journal::Block> Journal::start(const BlockJob& job) {
  const std::size_t number = started_++;
  const json record = job_record(number, job);
  if (number >= jobs_.size()) {
    file_.append(record);
    return {};
  }
  require_same(jobs_[number].record, record);
  if (number + 1 < jobs_.size() &&
      jobs_[number].blocks.size() < static_cast<std::size_t>(job.count)) {
    mismatch("blocks", "a job with blocks missing before another", "all blocks");
  }
  std::vector<Block> blocks;
  for (const StoredBlock& stored : jobs_[number].blocks) {
    const auto block = stored.record.find("block");
    const auto tally = stored.record.find("tally");
    if (block == stored.record.end() || !block->is_number_integer() ||
        tally == stored.record.end()) {
      damaged(stored.line, "is not the record of a block");
    }
    const auto index = block->get<std::int64_t>();
    if (index < 0 || index >= job.count) damaged(stored.line, "has a block that does not exist");
    try {
      blocks.push_back({index, read_tally(*tally, job.empty)});
    } catch (const InputError& error) {
      damaged(stored.line, error.what());
    }
  }
  std::ranges::sort(blocks, {}, &Block::block);
  const auto twice = std::ranges::adjacent_find(blocks, {}, &Block::block);
  if (twice != blocks.end()) {
    damaged(jobs_[number].blocks.back().line,
            fmt::format("or before: block {} is there twice", twice->block));
  }
  jobs_[number].blocks.clear();
  return blocks;
}

void Journal::append(std::int64_t block, const AuditTally& tally) {
  file_.append({{"record", "block"},
                {"job", started_ - 1},
                {"block", block},
                {"tally", tally_record(tally)}});
}

void Journal::damaged(std::size_t line, const std::string& message) const {
  throw InputError("journal.damaged", fmt::format("{}: line {}", file_.name(), line), message);
}

void Journal::mismatch(const std::string& field, const std::string& stored,
                       const std::string& wanted) const {
  throw InputError("journal.mismatch", fmt::format("{}: {}", file_.name(), field),
                   fmt::format("the journal is of another audit: it has {}, this audit {}; "
                               "name another file, or remove this one",
                               shortened(stored, wanted), shortened(wanted, stored)));
}

AuditTally JournalRunner::run(const BlockJob& job) {
  BlockMerge merge(job);
  std::vector<std::int64_t> finished;
  for (const Journal::Block& block : journal_.start(job)) {
    merge.add(block.tally);
    finished.push_back(block.block);
  }
  const std::vector<std::int64_t> pending = pending_blocks(job, finished);
  if (pending.empty()) return merge.take();
  std::mutex mutex;
  job.run(pending, [&](std::int64_t block, const AuditTally& tally) {
    const std::lock_guard lock(mutex);
    journal_.append(block, tally);
    merge.add(tally);
  });
  return merge.take();
}

}  // namespace gqa
