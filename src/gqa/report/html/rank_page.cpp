#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/table.hpp"
#include "gqa/report/rank_report.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

Markup ranks_table(const RankReport& report) {
  Table table("The generic rank of each matrix, between its two bounds",
              {{"Generic rank of"},
               {"Verdict"},
               {"Matrix", ColumnKind::number},
               {"At least", ColumnKind::number},
               {"At most", ColumnKind::number},
               {"Why at most", ColumnKind::prose}});
  for (const GenericRank& rank : report.ranks) {
    table.add_row({text(rank.quantity),
                   rank.proved() ? badge(Standing::good, "proved") : badge(Standing::open, "open"),
                   text(fmt::format("{} \u00D7 {}", grouped(rank.rows), grouped(rank.columns))),
                   text(grouped(rank.lower)), text(grouped(rank.upper)), code(rank.bound)});
  }
  return table.markup();
}

Markup witnesses_table(const RankReport& report) {
  Table table("What has the rank of the lower bound",
              {{"Generic rank of"}, {"Witness", ColumnKind::prose}});
  for (const GenericRank& rank : report.ranks) {
    table.add_row({text(rank.quantity), text(rank.witness)});
  }
  return table.markup();
}

Markup groups_table(const RecordedRanks& recording) {
  Table table("The groups, one for each batch entry and KV head",
              {{"Batch, KV head"},
               {"Verdict"},
               {"Query heads"},
               {"Rank proved", ColumnKind::number},
               {"Full rank", ColumnKind::number},
               {"Rank of the recorded output", ColumnKind::number},
               {"Participation ratio", ColumnKind::number},
               {"Stable rank", ColumnKind::number}});
  for (const GroupRank& group : recording.groups) {
    table.add_row(
        {text(fmt::format("{}, {}", group.batch, group.kv_head)),
         group.certified() ? badge(Standing::good, "certified") : badge(Standing::open, "open"),
         text(fmt::format("{}", fmt::join(group.query_heads, ", "))),
         text(grouped(group.certified_rank)), text(grouped(group.full_rank())),
         text(grouped(group.recorded_rank)), text(certain_digits(group.participation_ratio, 8)),
         text(certain_digits(group.stable_rank, 8))});
  }
  return table.markup();
}

}  // namespace

std::string rank_html(const RankReport& report, const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "rank";
  page.title = "Generic ranks of a group that shares its history";
  page.standing = report.proved() ? Standing::good : Standing::open;
  page.verdict = report.proved() ? "Proved" : "Undecided";
  const std::int64_t proved = std::ranges::count_if(report.ranks, &GenericRank::proved);
  page.summary = paragraph(fmt::format(
                     "{} of {} proved: the lower and the upper bound are equal.", grouped(proved),
                     counted(static_cast<std::int64_t>(report.ranks.size()), "rank"))) +
                 paragraph(capitalised(describe(report.configuration)) + ".");
  page.sections.push_back({"ranks", "The ranks", ranks_table(report)});
  page.sections.push_back({"witnesses", "The witnesses", witnesses_table(report)});
  page.footnote = fmt::format(
      "At least: the rank of one integer witness modulo the prime {} (seeds from {} on), which is "
      "never more than its rank over the rationals. At most: the number of dimensions. Generic: of "
      "all operands "
      "but those on which some polynomial vanishes.",
      report.prime, report.seed);
  return page_text(page);
}

std::string rank_html(const std::vector<RecordedRanks>& recordings, const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "rank";
  page.title = fmt::format("Ranks of {}",
                           counted(static_cast<std::int64_t>(recordings.size()), "recorded layer"));
  const bool holds = certified(recordings);
  page.standing = holds ? Standing::good : Standing::open;
  page.verdict = holds ? "Certified" : "Undecided";
  std::int64_t groups = 0;
  std::int64_t full = 0;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const RecordedRanks& recording = recordings[i];
    groups += static_cast<std::int64_t>(recording.groups.size());
    full += std::ranges::count_if(recording.groups, &GroupRank::certified);
    page.sections.push_back(
        {fmt::format("layer-{}", i + 1), file_name(recording.path),
         element("p", "quiet", foreign(recording.path)) + groups_table(recording)});
  }
  page.summary = paragraph(fmt::format("{} of {} are proved to have full rank.", grouped(full),
                                       counted(groups, "group")));
  page.footnote =
      "The rank is that of C = softmax(scale Q K\u1D40) V, the outputs of a group side by side, "
      "times the output projection where one is given. Every digit shown is certain.";
  return page_text(page);
}

}  // namespace gqa
