#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"

namespace gqa::html {
namespace {

constexpr double plot_height = 150;
constexpr double plot_left = 72;
constexpr double top = 46;
constexpr int last_bucket = static_cast<int>(ErrorMap::buckets) - 1;

// What one bound is over the elements that were asked.
struct Range {
  std::string name;
  bool is_worst = false;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  bool is_empty() const { return least > most; }
  double top() const { return is_worst ? 30 : 14; }  // of its name
  std::string text() const {
    if (std::isinf(least)) return "infinite";
    return least == most ? fmt::format("{} ulp", figure(least))
                         : fmt::format("{} to {} ulp", figure(least), figure(most));
  }
};

std::vector<Range> ranges_of(const Tolerance& tolerance, std::span<const ElementBounds> bounds) {
  const bool is_model = std::holds_alternative<ModelTolerance>(tolerance);
  Range allowed{is_model ? "likely bound" : "tolerance"};
  Range worst{"worst-case bound", true};
  for (const ElementBounds& element : bounds) {
    allowed.add(element.allowed);
    if (element.worst) worst.add(*element.worst);
  }
  if (const auto* ulps = std::get_if<UlpTolerance>(&tolerance)) allowed.add(ulps->ulps.get_d());
  std::vector<Range> ranges;
  for (const Range& range : {allowed, worst}) {
    if (!range.is_empty()) ranges.push_back(range);
  }
  return ranges;
}

// Buckets that are drawn.
struct Span {
  int first = last_bucket;
  int last = 0;

  int count() const { return last - first + 1; }
  double bar_width() const { return std::clamp(780.0 / count(), 14.0, 30.0); }
};

Span span_of(const ErrorMap& map, const std::vector<Range>& ranges) {
  Span span;
  for (int b = 0; b <= last_bucket; ++b) {
    if (map.histogram[static_cast<std::size_t>(b)] == 0) continue;
    span.first = std::min(span.first, b);
    span.last = std::max(span.last, b);
  }
  for (const Range& range : ranges) {
    for (const double value : {range.least, range.most}) {
      if (!std::isfinite(value)) continue;
      const auto bucket = static_cast<int>(ErrorMap::bucket_of(value));
      span.first = std::min(span.first, bucket);
      span.last = std::max(span.last, bucket);
    }
  }
  // Tiny errors all look alike: not more than 20 buckets below the largest on the left of 1/4.
  span.first = std::max(span.first, std::min(ErrorMap::zero_bucket - 6, span.last));
  return span;
}

std::int64_t count_of(const ErrorMap& map, const Span& span, int bucket) {
  std::int64_t count = 0;
  for (int b = bucket == span.first ? 0 : bucket; b <= bucket; ++b) {
    count += map.histogram[static_cast<std::size_t>(b)];
  }
  return count;
}

double x_of(const Span& span, double ulps) {
  const double at = std::log2(std::max(ulps, 1e-300)) + ErrorMap::zero_bucket;
  return plot_left + std::clamp(at - span.first + 1, 0.0, 1.0 * span.count()) * span.bar_width();
}

double height_of(std::int64_t count, std::int64_t largest) {
  if (count == 0) return 0;
  return plot_height * std::log10(1.0 + static_cast<double>(count)) /
         std::log10(1.0 + static_cast<double>(largest));
}

Markup bars(const ErrorMap& map, const Span& span, std::int64_t largest, double allowed) {
  Markup content;
  const double base = top + plot_height;
  const double bar_width = span.bar_width();
  const int labelled = bar_width < 20 ? 4 : span.count() > 16 ? 2 : 1;  // every so many
  for (int b = span.first; b <= span.last; ++b) {
    const std::int64_t count = count_of(map, span, b);
    const double x = plot_left + (b - span.first) * bar_width;
    const double height = height_of(count, largest);
    const double end = ErrorMap::bucket_end(static_cast<std::size_t>(b));
    const std::string where =
        std::isinf(end) ? "more than 2\u00B3\u00B9 ulp" : fmt::format("up to {} ulp", figure(end));
    if (count > 0) {
      // Of a bound's own bucket a part is within, so only what lies wholly beyond is coloured.
      const bool is_beyond =
          b > 0 && ErrorMap::bucket_end(static_cast<std::size_t>(b) - 1) >= allowed;
      content +=
          rectangle(x + 1, base - height, bar_width - 2, height, is_beyond ? "bar beyond" : "bar",
                    fmt::format("{}: {}", where, counted(count, "element")));
    }
    const std::string tick = end == 0 ? "0" : std::isinf(end) ? "" : power_of_two(std::ilogb(end));
    if ((b - ErrorMap::zero_bucket) % labelled == 0) {
      content += label(x + bar_width, base + 17, tick, "middle", "quiet");
    }
  }
  return content;
}

Markup count_axis(const Span& span, std::int64_t largest) {
  Markup content;
  const double right = plot_left + span.count() * span.bar_width();
  const auto tick = [&](std::int64_t count) {
    const double y = top + plot_height - height_of(count, largest);
    content += line(plot_left, y, right, y, "rule");
    content += label(plot_left - 8, y + 4, grouped(count), "end", "quiet");
  };
  // Powers of ten below the largest count, which is told too: one has a height to compare with.
  for (std::int64_t count = 1; height_of(count, largest) + 14 < plot_height; count *= 10) {
    tick(count);
  }
  tick(largest);
  const double base = top + plot_height;
  content += turned_label(12, base - plot_height / 2, "elements", "title");
  content += label(right, base + 33, "certified error, ulp", "end", "title");
  return content + line(plot_left, base, right, base, "axis");
}

// From the smallest to the largest of a bound that was asked: behind the bars.
Markup bands(const Span& span, const std::vector<Range>& ranges) {
  Markup content;
  for (const Range& range : ranges) {
    if (!std::isfinite(range.most)) continue;
    const double x = x_of(span, range.least);
    content +=
        rectangle(x, range.top() + 4, x_of(span, range.most) - x,
                  top + plot_height - range.top() - 4, range.is_worst ? "band worst" : "band");
  }
  return content;
}

double name_width(const Range& range) {
  return 6.6 * static_cast<double>(range.name.size());
}

// How wide a picture is with the names on the right of their bands.
double width_with_names(const Span& span, const std::vector<Range>& ranges) {
  double width = plot_left + span.count() * span.bar_width() + 24;
  for (const Range& range : ranges) {
    if (!std::isfinite(range.least)) continue;
    const double x = x_of(span, std::isfinite(range.most) ? range.most : range.least);
    width = std::max(width, x + name_width(range) + 12);
  }
  return width;
}

// The ends of the bands, and their names: over the bars.
Markup edges(const Span& span, const std::vector<Range>& ranges) {
  Markup content;
  for (const Range& range : ranges) {
    if (!std::isfinite(range.least)) continue;
    const double x1 = x_of(span, range.least);
    const double x2 = std::isfinite(range.most) ? x_of(span, range.most) : x1;
    const char* css_class = range.is_worst ? "edge worst" : "edge";
    content += line(x1, range.top() + 4, x1, top + plot_height, css_class);
    if (x2 > x1) content += line(x2, range.top() + 4, x2, top + plot_height, css_class);
    // The one on the left of its band, the other on the right of its own: they never meet.
    const bool on_the_right = range.is_worst || x1 - name_width(range) < 0;
    content += label(on_the_right ? x2 + 5 : x1 - 5, range.top() + 13, range.name,
                     on_the_right ? "start" : "end");
  }
  return content;
}

std::string bounds_text(const std::vector<Range>& ranges, std::size_t asked) {
  std::string text;
  for (const Range& range : ranges) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", range.name, range.text());
  }
  if (ranges.empty()) return "";
  text = capitalised(text);
  return asked > 0 ? fmt::format(" {} over the {} that were asked for theirs.", text,
                                 counted(static_cast<std::int64_t>(asked), "element"))
                   : fmt::format(" {}.", text);
}

}  // namespace

Markup histogram_picture(const std::string& id, const ErrorMap& map, const Tolerance& tolerance,
                         std::span<const ElementBounds> bounds, std::int64_t elements) {
  if (!map.is_kept()) return {};
  std::int64_t measured = 0;
  for (const std::int64_t count : map.histogram) measured += count;
  const std::vector<Range> ranges = ranges_of(tolerance, bounds);
  if (measured == 0) {
    return paragraph("No element has an error in ulp: nothing is finite on both sides.");
  }
  const Span span = span_of(map, ranges);
  std::int64_t largest = 1;
  for (int b = span.first; b <= span.last; ++b) {
    largest = std::max(largest, count_of(map, span, b));
  }
  Drawing drawing;
  drawing.id = id;
  drawing.title = "Histogram of certified errors in ulp";
  for (int b = span.first; b <= span.last; ++b) {
    const std::int64_t count = count_of(map, span, b);
    if (count == 0) continue;
    const double end = ErrorMap::bucket_end(static_cast<std::size_t>(b));
    drawing.description += fmt::format("{} of up to {} ulp. ", counted(count, "element"),
                                       std::isinf(end) ? "more than 2^31" : figure(end));
  }
  const double allowed =
      ranges.empty() ? std::numeric_limits<double>::infinity() : ranges.front().most;
  drawing.width = std::max(width_with_names(span, ranges), 300.0);
  drawing.height = top + plot_height + 40;
  drawing.content = count_axis(span, largest) + bands(span, ranges) +
                    bars(map, span, largest, allowed) + edges(span, ranges);
  std::string caption =
      fmt::format("Certified errors of {} in ulp, by powers of two; heights are logarithmic.",
                  counted(measured, "element"));
  caption += bounds_text(ranges, bounds.size());
  if (elements > measured) {
    caption += fmt::format(" {} without a number on one side {} not in it.",
                           counted(elements - measured, "element"),
                           elements - measured == 1 ? "is" : "are");
  }
  return figure_of(drawing, text(caption));
}

}  // namespace gqa::html
