#include <fmt/format.h>

#include <algorithm>

#include "gqa/exact/segment.hpp"
#include "gqa/report/fixture_report.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

Markup fixture_badge(const FixtureReport& report) {
  return report.passed ? badge(Standing::good, "pass") : badge(Standing::bad, "fail");
}

std::string outputs_text(const FixtureReport& report) {
  if (report.negative) return "refused: " + report.observed_error;
  if (!report.exact || report.exact->extent(3) == 0) return "";
  const auto width = static_cast<std::size_t>(report.exact->extent(3));
  constexpr std::size_t most = 12;
  const std::size_t rows = report.exact->size() / width;
  std::string all;
  for (std::size_t row = 0; row < std::min(rows, most); ++row) {
    all += row > 0 ? " (" : "(";
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t i = row * width + c;
      all += (c > 0 ? ", " : "") +
             (report.is_nan[i] != 0 ? std::string("NaN") : to_text(report.exact->data()[i]));
    }
    all += ")";
  }
  return rows > most ? all + fmt::format(" \u2026 {} rows", rows) : all;
}

Markup fixture_table(const std::vector<FixtureReport>& reports) {
  Table table("Every fixture, failures first", {{"Fixture"},
                                                {"Verdict"},
                                                {"Statement", ColumnKind::prose},
                                                {"Exact outputs", ColumnKind::prose}});
  std::vector<const FixtureReport*> order;
  for (const FixtureReport& report : reports) order.push_back(&report);
  std::ranges::stable_sort(order, {}, [](const FixtureReport* r) { return r->passed ? 1 : 0; });
  for (const FixtureReport* report : order) {
    Markup statement = text(report->statement);
    std::vector<Markup> failures;
    for (const std::string& failure : report->failures) failures.push_back(text(failure));
    if (!failures.empty()) statement += bullets(failures);
    table.add_row({foreign(report->name), fixture_badge(*report), statement,
                   element("span", "outputs", text(outputs_text(*report)))});
  }
  return table.markup();
}

// One history of two different values in the plane.
bool is_two_values(const FixtureReport& report) {
  return report.value && report.exact && report.value->shape() == Shape{1, 1, 2, 2} &&
         !std::ranges::equal(report.value->matrix(0, 0).row(0), report.value->matrix(0, 0).row(1));
}

SegmentPicture picture_of(const FixtureReport& report) {
  const std::vector<Rational>& v = report.value->data();
  SegmentPicture picture{{v[0], v[1]}, {v[2], v[3]}, {}};
  const auto add = [&picture](const std::vector<Rational>& point) {
    const auto same = [&point](const SegmentPicture::Point& p) { return p.at == point; };
    if (std::ranges::any_of(picture.points, same)) return;
    picture.points.push_back({point, on_open_segment(picture.first, picture.second, point)});
  };
  for (const SegmentExpectation& expectation : report.segment) add(expectation.point);
  const std::vector<Rational>& output = report.exact->data();
  for (std::size_t i = 0; i + 1 < output.size(); i += 2) {
    if (report.is_nan[i] == 0 && report.is_nan[i + 1] == 0) add({output[i], output[i + 1]});
  }
  return picture;
}

Markup segments(const std::vector<FixtureReport>& reports) {
  // Those that ask about points first; many fixtures share one history.
  constexpr std::size_t most = 6;
  std::vector<const FixtureReport*> chosen;
  for (const FixtureReport& report : reports) {
    if (is_two_values(report)) chosen.push_back(&report);
  }
  std::ranges::stable_sort(chosen, {}, [](const FixtureReport* r) { return r->segment.empty(); });
  if (chosen.size() > most) chosen.resize(most);
  Markup content;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    content += element(
        "div", heading(3, chosen[i]->name) + paragraph(chosen[i]->statement) +
                   segment_picture(fmt::format("segment-{}", i + 1), picture_of(*chosen[i])));
  }
  return content.is_empty() ? content : element("div", "pictures", content);
}

Markup floats(const std::vector<FixtureReport>& reports,
              const std::optional<EnumerationCrossCheck>& cases) {
  std::vector<CrossCheck> joined;
  for (const FixtureReport& report : reports) {
    for (std::size_t f = 0; f < report.floats.size(); ++f) {
      if (joined.size() <= f) joined.push_back(CrossCheck{report.floats[f].format});
      joined[f].merge(report.floats[f]);
    }
  }
  Table table("The same problems in floating point, against the exact values",
              {{"Format"},
               {"Problems"},
               {"Within"},
               {"Largest error", ColumnKind::number},
               {"Its derived tolerance", ColumnKind::number},
               {"Largest share of a tolerance", ColumnKind::number}});
  const auto add = [&table](const CrossCheck& check, const char* what) {
    table.add_row(
        {text(name(check.format)), text(what),
         badge(check.within ? Standing::good : Standing::bad, check.within ? "yes" : "no"),
         text(figure(check.max_error)), text(figure(check.tolerance)),
         text(figure(check.max_ratio))});
  };
  for (const CrossCheck& check : joined) {
    if (check.elements > 0) add(check, "fixtures");
  }
  if (cases) {
    for (const CrossCheck& check : cases->worst) add(check, "enumeration");
  }
  return table.is_empty() ? Markup() : table.markup();
}

}  // namespace

std::string fixtures_html(const std::vector<FixtureReport>& reports,
                          const std::optional<EnumerationCrossCheck>& cases,
                          const PageOrigin& origin) {
  const FixtureSummary summary = summarise(reports, cases);
  Page page;
  page.origin = origin;
  page.kind = "fixtures";
  page.title = "Exact fixtures";
  page.standing = summary.holds() ? Standing::good : Standing::bad;
  page.verdict = summary.holds() ? "Verified" : "Not verified";
  page.summary = paragraph(fmt::format(
      "{} of {} are right, in exact fractions, by two engines.", grouped(summary.passed),
      counted(static_cast<std::int64_t>(reports.size()), "fixture")));
  const Markup pictures = segments(reports);
  if (!pictures.is_empty())
    page.sections.push_back({"segments", "Two values, one segment", pictures});
  page.sections.push_back({"fixtures", "Fixtures", fixture_table(reports)});
  const Markup checks = floats(reports, cases);
  if (!checks.is_empty()) page.sections.push_back({"floats", "In floating point", checks});
  return page_text(page);
}

}  // namespace gqa
