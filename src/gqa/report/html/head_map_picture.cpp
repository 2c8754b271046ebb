#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"

namespace gqa::html {
namespace {

constexpr std::int64_t most_heads = 64;
constexpr double query_y = 16;
constexpr double kv_y = 96;
constexpr double left = 78;

using HeadMap = std::vector<std::int64_t>;

struct Wiring {
  std::string id;
  std::string title;
  const HeadMap& map;
  const HeadMap& declared;
  std::int64_t kv_heads;

  bool differs(std::size_t head) const { return map[head] != declared[head]; }
};

std::string wires_text(const Wiring& wiring) {
  std::vector<std::string> parts;
  for (std::int64_t kv = 0; kv < wiring.kv_heads; ++kv) {
    std::vector<std::size_t> readers;
    for (std::size_t h = 0; h < wiring.map.size(); ++h) {
      if (wiring.map[h] == kv) readers.push_back(h);
    }
    parts.push_back(readers.empty()
                        ? fmt::format("KV head {} is read by none", kv)
                        : fmt::format("KV head {} is read by query head{} {}", kv,
                                      readers.size() == 1 ? "" : "s", fmt::join(readers, ", ")));
  }
  return fmt::format("{}.", fmt::join(parts, "; "));
}

Markup nodes(const Wiring& wiring, double step, double kv_step, double kv_left) {
  Markup content = label(left - 22, query_y + 4, "query", "end", "quiet") +
                   label(left - 22, kv_y + 4, "KV", "end", "quiet");
  for (std::size_t h = 0; h < wiring.map.size(); ++h) {
    const double x = left + static_cast<double>(h) * step;
    const bool differs = wiring.differs(h);
    content += circle(x, query_y, 11, differs ? "node differs" : "node");
    content += label(x, query_y + 4, std::to_string(h), "middle",
                     differs ? "differs-text" : std::string_view());
  }
  for (std::int64_t kv = 0; kv < wiring.kv_heads; ++kv) {
    const double x = kv_left + static_cast<double>(kv) * kv_step;
    content += rectangle(x - 11, kv_y - 11, 22, 22, "node");
    content += label(x, kv_y + 4, std::to_string(kv), "middle");
  }
  return content;
}

Markup panel(const Wiring& wiring) {
  constexpr double step = 34;
  const auto heads = static_cast<double>(wiring.map.size());
  const double width = left + (heads - 1) * step + 26;
  // KV heads stand under the middle of as many query heads each.
  const double kv_step = heads * step / static_cast<double>(wiring.kv_heads);
  const double kv_left = left - step / 2 + kv_step / 2;
  Markup wires;
  for (std::size_t h = 0; h < wiring.map.size(); ++h) {
    const double x2 = kv_left + static_cast<double>(wiring.map[h]) * kv_step;
    wires += line(left + static_cast<double>(h) * step, query_y, x2, kv_y,
                  wiring.differs(h) ? "wire differs" : "wire");
  }
  const Drawing drawing{wiring.id, wiring.title, wires_text(wiring),
                        width,     kv_y + 20,    wires + nodes(wiring, step, kv_step, kv_left)};
  std::vector<std::size_t> different;
  for (std::size_t h = 0; h < wiring.map.size(); ++h) {
    if (wiring.differs(h)) different.push_back(h);
  }
  Markup caption = element("strong", wiring.title);
  if (!different.empty()) {
    caption += text(fmt::format(": query head{} {} read{} another KV head than declared (dashed)",
                                different.size() == 1 ? "" : "s", fmt::join(different, ", "),
                                different.size() == 1 ? "s" : ""));
  }
  return figure_of(drawing, caption);
}

std::string list_text(const HeadMap& map) {
  return fmt::format("{}", fmt::join(map, ", "));
}

}  // namespace

std::string found_title(const std::string& found_by) {
  return found_by.empty() ? "" : fmt::format("Found ({})", found_by);
}

Markup head_map_picture(const std::string& id, const HeadMapPicture& heads,
                        const std::string& found) {
  if (static_cast<std::int64_t>(heads.declared.size()) > most_heads || heads.kv_heads < 1) {
    Markup content = paragraph("Declared: " + list_text(heads.declared));
    if (!heads.found_key.empty()) content += paragraph("Keys found: " + list_text(heads.found_key));
    if (!heads.found_value.empty()) {
      content += paragraph("Values found: " + list_text(heads.found_value));
    }
    return content;
  }
  const auto draw = [&](const char* suffix, std::string title, const HeadMap& map) {
    return panel({id + suffix, std::move(title), map, heads.declared, heads.kv_heads});
  };
  Markup panels = draw("-declared", "Declared head map", heads.declared);
  if (!heads.found_key.empty() && heads.found_key == heads.found_value) {
    panels += draw("-found", found, heads.found_key);
  } else {
    if (!heads.found_key.empty()) panels += draw("-keys", found + ", keys", heads.found_key);
    if (!heads.found_value.empty()) {
      panels += draw("-values", found + ", values", heads.found_value);
    }
  }
  Markup words;
  if (!found.empty() && heads.found_key.empty() && heads.found_value.empty()) {
    words = element("p", "quiet", text("The output reads the same heads."));
  }
  return words + element("div", "pictures", panels);
}

}  // namespace gqa::html
