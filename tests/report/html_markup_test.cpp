#include <doctest/doctest.h>

#include <limits>

#include "gqa/report/html/markup.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/style.hpp"
#include "gqa/report/html/svg.hpp"
#include "gqa/report/html/table.hpp"
#include "support/text.hpp"

using namespace gqa;
using namespace gqa::html;
using gqa::test::contains;

namespace {

constexpr const char* attack = "<script>alert(1)</script>\"'&";
constexpr const char* harmless = "&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;";

// Names may break between lines.
std::string without_breaks(std::string text) {
  const std::string mark = "<wbr/>";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
    text.erase(at, mark.size());
  }
  return text;
}

// Every place where foreign text may go, one after the other.
std::vector<Markup> everywhere() {
  Table table(attack, {{attack}, {attack, ColumnKind::number}});
  table.add_row({text(attack), foreign(attack)}, attack);
  const Drawing drawing{
      attack, attack, attack,
      10,     10,     label(0, 0, attack, attack, attack) + rectangle(0, 0, 1, 1, attack, attack)};
  return {text(attack),
          foreign(attack),
          code(attack),
          heading(2, attack),
          paragraph(attack),
          element("p", Attributes{{"title", attack}}, {}),
          element("p", attack, Markup()),
          table.markup(),
          scrolled(attack, {}),
          definitions({{attack, text(attack)}}),
          foldable(attack, text(attack), text(attack)),
          svg(drawing),
          figure_of(drawing, text(attack))};
}

}  // namespace

TEST_CASE("html: foreign text stays text in elements, attributes and pictures") {
  for (const Markup& markup : everywhere()) {
    CAPTURE(markup.str());
    CHECK_FALSE(contains(markup.str(), "<script"));
    CHECK_FALSE(contains(markup.str(), "\"'&"));
    CHECK(contains(without_breaks(markup.str()), harmless));
  }
}

TEST_CASE("html: text that is not UTF-8 and forbidden characters become U+FFFD") {
  CHECK(text(std::string_view("a\0b\xFF", 4)).str() ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
}

TEST_CASE("html: void elements have no end tag, all others have one") {
  CHECK(element("meta", Attributes{{"charset", "utf-8"}}).str() == "<meta charset=\"utf-8\"/>");
  CHECK(element("div", Markup()).str() == "<div></div>");
  CHECK(element("p", "quiet", text("a")).str() == "<p class=\"quiet\">a</p>");
}

TEST_CASE("html: a name from outside is isolated, so that its direction marks stay its own") {
  CHECK(foreign("a\u202Eb").str() == "<bdi>a\u202Eb</bdi>");
  CHECK(foreign("a/b_c_").str() == "<bdi>a/<wbr/>b_<wbr/>c_</bdi>");
}

TEST_CASE("html: tables have a caption, and headers with a scope") {
  Table table("All", {{"Name"}, {"Count", ColumnKind::number}});
  table.add_row({text("a"), text("1")});
  CHECK(table.markup().str() ==
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"All\"><table>"
        "<caption>All</caption><thead><tr><th scope=\"col\">Name</th>"
        "<th class=\"number\" scope=\"col\">Count</th></tr></thead><tbody><tr>"
        "<th scope=\"row\">a</th><td class=\"number\">1</td></tr></tbody></table></div>");
}

TEST_CASE("html: a picture is named and described for those who do not see it") {
  const std::string picture = svg({"x", "What", "In words", 30, 20.5, {}}).str();
  CHECK(contains(picture, "role=\"img\" aria-labelledby=\"x-title x-desc\""));
  CHECK(contains(picture, "<title id=\"x-title\">What</title><desc id=\"x-desc\">In words</desc>"));
  CHECK(contains(picture, "viewBox=\"0 0 30 20.5\""));
}

TEST_CASE("html: a badge says in a word what its mark and colour say") {
  for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::undecided, Verdict::error}) {
    CHECK(contains(badge(verdict).str(), std::string(name(verdict)) + "</span>"));
    CHECK(contains(badge(verdict).str(), "aria-hidden=\"true\""));
  }
}

TEST_CASE("html: a page forbids scripts and everything from elsewhere, and escapes its title") {
  Page page;
  page.title = attack;
  page.verdict = attack;
  page.sections = {{"one", attack, {}}, {"two", "Two", {}}};
  const std::string text = page_text(page);
  CHECK(text.starts_with("<!DOCTYPE html>\n<html lang=\"en\"><head>"));
  CHECK(contains(text, "content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"));
  CHECK_FALSE(contains(text, "<script"));
  CHECK_FALSE(contains(text, "http:"));
  CHECK_FALSE(contains(text, "https:"));
  CHECK_FALSE(contains(text, "url("));
  CHECK(text == page_text(page));
}

TEST_CASE("html: the style sheet holds nothing that an XML reader would take for markup") {
  CHECK(style().find_first_of("<&") == std::string_view::npos);
  CHECK(contains(std::string(style()), "prefers-color-scheme:dark"));
}

TEST_CASE("html: numbers for people") {
  CHECK(figure(0.49612) == "0.496");
  CHECK(figure(3.2412e7) == "3.24\u00D710\u2077");
  CHECK(figure(std::numeric_limits<double>::infinity()) == "infinite");
  CHECK(figure(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(power_of_two(0) == "1");
  CHECK(power_of_two(10) == "1024");
  CHECK(power_of_two(-3) == "1/8");
  CHECK(power_of_two(25) == "2\u00B2\u2075");
  CHECK(power_of_two(-7) == "2\u207B\u2077");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(counted(1, "entry") == "1 entry");
  CHECK(counted(2, "entry") == "2 entries");
  CHECK(counted(0, "case") == "0 cases");
}
