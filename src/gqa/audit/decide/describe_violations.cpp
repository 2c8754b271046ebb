#include "gqa/audit/decide/describe_violations.hpp"

#include <fmt/format.h>

#include <vector>

namespace gqa {
namespace {

// "3", "1 and 2", "0, 2 and 5 to 9": rising indices, runs of three or more folded.
std::string list_of(const std::vector<std::int64_t>& indices) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (end - i >= 3) {
      parts.push_back(fmt::format("{} to {}", indices[i], indices[end - 1]));
    } else {
      for (std::size_t k = i; k < end; ++k) parts.push_back(fmt::format("{}", indices[k]));
    }
    i = end;
  }
  constexpr std::size_t longest = 8;
  if (parts.size() > longest) {
    return fmt::format("{}, {}, ... {} ({} in all)", parts[0], parts[1], parts.back(),
                       indices.size());
  }
  std::string text = parts.empty() ? "" : parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

std::vector<std::int64_t> touched(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) indices.push_back(static_cast<std::int64_t>(i));
  }
  return indices;
}

// The heads of one batch entry that hold violations, and how full they are.
struct BatchHeads {
  std::vector<std::int64_t> heads;
  bool full = true;  // every element of those heads violates
};

BatchHeads heads_of(const AuditTally& tally, const OutputAxes& axes, std::int64_t batch) {
  BatchHeads result;
  const std::int64_t elements = axes.rows * axes.columns;
  for (std::int64_t h = 0; h < axes.heads; ++h) {
    const std::int64_t count =
        tally.head_violations[static_cast<std::size_t>(batch * axes.heads + h)];
    if (count == 0) continue;
    result.heads.push_back(h);
    result.full = result.full && count == elements;
  }
  return result;
}

}  // namespace

std::string numbered(const AxisWords& words, const std::vector<std::int64_t>& indices) {
  return fmt::format("{} {}", indices.size() == 1 ? words.singular : words.plural,
                     list_of(indices));
}

std::string describe_violations(const AuditTally& tally, const OutputAxes& axes) {
  if (tally.violations == 0) return "";
  std::string text;
  bool full = true;
  for (std::int64_t b = 0; b < axes.batch; ++b) {
    const BatchHeads found = heads_of(tally, axes, b);
    if (found.heads.empty()) continue;
    full = full && found.full;
    if (!text.empty()) text += "; ";
    text += fmt::format("batch {}, ", b);
    text += static_cast<std::int64_t>(found.heads.size()) == axes.heads
                ? fmt::format("every {}", axes.head.singular)
                : numbered(axes.head, found.heads);
  }
  if (full) return "all of " + text;
  const auto rows = touched(tally.row_violations);
  const auto columns = touched(tally.column_violations);
  text = fmt::format("{} of {} elements in {}", tally.violations, tally.elements, text);
  if (static_cast<std::int64_t>(rows.size()) < axes.rows) {
    text += "; " + numbered(axes.row, rows);
  }
  if (static_cast<std::int64_t>(columns.size()) < axes.columns) {
    text += "; " + numbered(axes.column, columns);
  }
  return text;
}

std::string describe_violations(const AuditTally& tally, const Dimensions& d) {
  return describe_violations(tally, OutputAxes{d.batch, d.q_heads, d.queries, d.value_size});
}

}  // namespace gqa
