#include <fmt/format.h>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

constexpr std::int64_t most_drawn = 32;

// h mod Hkv is another map than floor(h / (Hq / Hkv)) unless there is one KV head, or one each.
bool maps_differ(std::int64_t q_heads, std::int64_t kv_heads) {
  return kv_heads != 1 && kv_heads != q_heads;
}

Markup pairs_picture(std::int64_t max_heads) {
  constexpr double cell = 26;
  constexpr double left = 60;
  constexpr double top = 44;
  Markup content = label(left - 46, top - 26, "Hq \u2193", "start", "title") +
                   label(left, top - 26, "Hkv \u2192", "start", "title");
  std::int64_t differing = 0;
  std::int64_t pairs = 0;
  for (std::int64_t q = 1; q <= max_heads; ++q) {
    const double y = top + static_cast<double>(q - 1) * cell;
    content += label(left - 14, y + 17, std::to_string(q), "end", "quiet");
    content += label(left + static_cast<double>(q - 1) * cell + cell / 2, top - 8,
                     std::to_string(q), "middle", "quiet");
    for (std::int64_t kv = 1; kv <= q; ++kv) {
      if (q % kv != 0) continue;
      const double x = left + static_cast<double>(kv - 1) * cell;
      const bool differ = maps_differ(q, kv);
      ++pairs;
      differing += differ ? 1 : 0;
      content += rectangle(x + 1, y + 1, cell - 3, cell - 3, differ ? "seen" : "partly",
                           fmt::format("Hq = {}, Hkv = {}: {}", q, kv,
                                       differ ? "the maps differ" : "the maps coincide"));
      if (differ) {
        content += label(x + cell / 2 - 0.5, y + cell / 2 + 4, "\u2260", "middle", "onextra");
      }
    }
  }
  const double size = static_cast<double>(max_heads) * cell;
  const Drawing drawing{
      "pairs",
      "The pairs of head counts",
      fmt::format("{} pairs of Hq and a divisor Hkv; in {} of them the map h mod Hkv differs from "
                  "the contiguous one.",
                  pairs, differing),
      left + size + 10,
      top + size + 6,
      content};
  return figure_of(
      drawing, text("One cell for each pair of Hq and its divisor Hkv. Dark, with \u2260: h mod "
                    "Hkv is another map than \u230Ah / (Hq / Hkv)\u230B, and must be told apart. "
                    "Pale: both maps coincide."));
}

Markup example_maps() {
  HeadMapPicture heads{3, {0, 0, 1, 1, 2, 2}, {0, 1, 2, 0, 1, 2}, {0, 1, 2, 0, 1, 2}};
  return head_map_picture("example", heads, "Control: h mod Hkv");
}

Markup counts_table(const EnumerationResult& r) {
  Table table("What was compared, in exact fractions", {{"Comparison"},
                                                        {"Holds"},
                                                        {"Cases", ColumnKind::number},
                                                        {"As they must be", ColumnKind::number}});
  const auto row = [&table](const char* what, std::int64_t count, std::int64_t of) {
    table.add_row({text(what),
                   badge(count == of ? Standing::good : Standing::bad, count == of ? "yes" : "no"),
                   text(grouped(of)), text(grouped(count))});
  };
  row("Direct group lookup equals consecutive expansion of the histories", r.equal, r.cases);
  row("Where h mod Hkv is another map, its outputs are told apart", r.detected, r.map_differs);
  row("Where both maps coincide, the outputs do too", r.map_coincides - r.false_alarms,
      r.map_coincides);
  return table.markup();
}

}  // namespace

std::string enumeration_html(const EnumerationResult& result, const std::string& engine,
                             const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "enumeration";
  page.title = fmt::format("Every head count from 1 to {}", result.max_heads);
  page.standing = result.holds() ? Standing::good : Standing::bad;
  page.verdict = result.holds() ? "Verified" : "Not verified";
  page.summary = paragraph(fmt::format(
      "{} of {} are exactly equal: {} of Hq and Hkv, {} of softmax weights each. {} of "
      "{} controls are told apart.",
      grouped(result.equal), counted(result.cases, "case"), counted(result.pairs, "pair"),
      counted(result.fixtures, "fixture"), grouped(result.detected), grouped(result.map_differs)));
  Markup counts = counts_table(result) + element("p", "quiet",
                                                 text("Exact arithmetic: " + engine +
                                                      ". Equal means equal "
                                                      "as fractions, not close."));
  if (!result.failures.empty()) {
    std::vector<Markup> failures;
    for (const std::string& failure : result.failures) failures.push_back(text(failure));
    counts += heading(3, "Failures") + bullets(failures);
  }
  page.sections.push_back({"counts", "What was compared", counts});
  if (result.max_heads >= 1 && result.max_heads <= most_drawn) {
    page.sections.push_back({"all-pairs", "The pairs", pairs_picture(result.max_heads)});
  }
  page.sections.push_back(
      {"maps", "The two maps",
       paragraph("Six query heads on three KV heads: the map of grouped-query attention, and the "
                 "control that must be told apart.") +
           example_maps()});
  return page_text(page);
}

}  // namespace gqa
