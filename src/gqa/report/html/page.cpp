#include "gqa/report/html/page.hpp"

#include "gqa/report/html/sorting.hpp"
#include "gqa/report/html/style.hpp"
#include "gqa/report/html/table.hpp"
#include "gqa/version.hpp"

namespace gqa::html {
namespace {

struct Mark {
  const char* css_class;
  const char* symbol;
};

Mark mark_of(Standing standing) {
  switch (standing) {
    case Standing::good:
      return {"good", "\u2713"};
    case Standing::bad:
      return {"bad", "\u2717"};
    case Standing::open:
      return {"open", "?"};
    case Standing::broken:
      return {"broken", "!"};
  }
  return {"broken", "!"};
}

Markup mark(Standing standing) {
  return element("span", Attributes{{"class", "mark"}, {"aria-hidden", "true"}},
                 text(mark_of(standing).symbol));
}

std::string policy(const Page& page) {
  std::string allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  if (page.can_be_sorted) {
    allowed += "; script-src 'sha256-" + std::string(sorting_script_digest) + "'";
  }
  return allowed;
}

Markup head(const Page& page) {
  const auto meta = [](const char* name, const char* content) {
    return element("meta", Attributes{{"name", name}, {"content", content}});
  };
  return element("head",
                 element("meta", Attributes{{"charset", "utf-8"}}) +
                     element("meta", Attributes{{"http-equiv", "Content-Security-Policy"},
                                                {"content", policy(page)}}) +
                     meta("viewport", "width=device-width, initial-scale=1") +
                     meta("color-scheme", "light dark") + meta("generator", "gqaverify") +
                     element("title", page.verdict + ": " + page.title + " \u2013 gqaverify") +
                     // Without it a browser asks the server for one.
                     element("link", Attributes{{"rel", "icon"}, {"href", "data:,"}}) +
                     style_sheet(style()));
}

Markup banner(const Page& page) {
  const Markup verdict =
      element("p", "verdict", mark(page.standing) + element("strong", page.verdict));
  return element(
      "header",
      element("p", "product", text("gqaverify ") + element("span", std::string(version))) +
          heading(1, page.title) +
          element("div", std::string("banner ") + mark_of(page.standing).css_class,
                  verdict + page.summary));
}

Markup contents(const Page& page) {
  Markup items;
  for (const Section& section : page.sections) {
    items +=
        element("li", element("a", Attributes{{"href", "#" + section.id}}, text(section.title)));
  }
  return element("nav", Attributes{{"aria-label", "On this page"}}, element("ul", items));
}

// With what a reader needs to make the page again, and to know whether the files are still the
// same.
Markup origin_of(const PageOrigin& origin) {
  std::vector<std::pair<std::string, Markup>> pairs;
  if (!origin.date.empty()) pairs.emplace_back("Date", text(origin.date));
  if (!origin.command.empty()) pairs.emplace_back("Command", code(origin.command));
  if (pairs.empty()) return {};
  pairs.emplace_back("Version", text(std::string("gqaverify ") + version));
  Markup content = definitions(pairs);
  Table inputs("Files that were read", {{"File"}, {"SHA-256", ColumnKind::prose}});
  for (const PageInput& input : origin.inputs) {
    inputs.add_row(
        {foreign(input.path), input.sha256.empty() ? text("not known") : code(input.sha256)});
  }
  if (!inputs.is_empty())
    content += foldable("inputs", text("Inputs and their digests"), inputs.markup());
  return element(
      "section", Attributes{{"id", "origin"}, {"aria-labelledby", "origin-title"}},
      element("h2", Attributes{{"id", "origin-title"}}, text("How this page was made")) + content);
}

Markup body(const Page& page) {
  Markup sections;
  for (const Section& section : page.sections) {
    sections += element(
        "section", Attributes{{"id", section.id}, {"aria-labelledby", section.id + "-title"}},
        element("h2", Attributes{{"id", section.id + "-title"}}, text(section.title)) +
            section.content);
  }
  const Markup footer = element("footer", page.footnote.empty() ? paragraph("Written by gqaverify.")
                                                                : paragraph(page.footnote));
  return element(
      "body",
      element("a", Attributes{{"class", "skip"}, {"href", "#main"}}, text("Skip to the results")) +
          banner(page) + (page.sections.size() > 1 ? contents(page) : Markup()) +
          element("main", Attributes{{"id", "main"}, {"tabindex", "-1"}}, sections) +
          origin_of(page.origin) + footer +
          (page.can_be_sorted ? inline_script(sorting_script) : Markup()));
}

}  // namespace

Standing standing_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return Standing::good;
    case Verdict::fail:
      return Standing::bad;
    case Verdict::undecided:
      return Standing::open;
    case Verdict::error:
      return Standing::broken;
  }
  return Standing::broken;
}

Markup badge(Standing standing, std::string_view word) {
  return element("span", std::string("badge ") + mark_of(standing).css_class,
                 mark(standing) + text(" ") + text(word));
}

Markup badge(Verdict verdict) {
  return badge(standing_of(verdict), name(verdict));
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string page_text(const Page& page) {
  return "<!DOCTYPE html>\n" +
         element("html", Attributes{{"lang", "en"}}, head(page) + body(page)).str() + "\n";
}

}  // namespace gqa::html
