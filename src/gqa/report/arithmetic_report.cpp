#include "gqa/report/arithmetic_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gqa {
namespace {

std::string entry_line(const ArithmeticEntry& entry, std::size_t width) {
  const char* mark = entry.status == ReadingStatus::known  ? " "
                     : entry.status == ReadingStatus::open ? "?"
                                                           : "-";
  std::string found = fmt::format("{}", fmt::join(entry.values, ", or "));
  if (found.empty()) found = "not identifiable";
  if (!entry.note.empty()) found += fmt::format(" ({})", entry.note);
  return fmt::format("{} {:<{}}  {}\n", mark, entry.entry, width, found);
}

// "1 and of 64 query rows".
std::string rows_text(const std::vector<std::int64_t>& rows) {
  return fmt::format("{} query row{}", fmt::join(rows, " and of "), rows.back() == 1 ? "" : "s");
}

}  // namespace

std::string arithmetic_text(const KernelArithmetic& arithmetic) {
  if (arithmetic.entries.empty()) {
    return fmt::format("arithmetic not read: {}\n", arithmetic.reason);
  }
  std::size_t width = 0;
  for (const ArithmeticEntry& entry : arithmetic.entries)
    width = std::max(width, entry.entry.size());
  std::string text = fmt::format("  {:<{}}  read off in {} calls of {}\n", "arithmetic", width,
                                 arithmetic.calls, rows_text(arithmetic.query_rows));
  for (const ArithmeticEntry& entry : arithmetic.entries) text += entry_line(entry, width);
  return text;
}

nlohmann::ordered_json arithmetic_json(const KernelArithmetic& arithmetic) {
  nlohmann::ordered_json json;
  json["entries"] = nlohmann::ordered_json::array();
  for (const ArithmeticEntry& entry : arithmetic.entries) {
    json["entries"].push_back({{"entry", entry.entry},
                               {"status", name(entry.status)},
                               {"values", entry.values},
                               {"shown_by", entry.shown_by},
                               {"note", entry.note}});
  }
  json["query_rows"] = arithmetic.query_rows;
  json["calls"] = arithmetic.calls;
  json["reason"] = arithmetic.reason;
  return json;
}

}  // namespace gqa
