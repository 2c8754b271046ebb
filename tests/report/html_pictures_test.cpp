#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "gqa/report/html/pictures.hpp"
#include "support/text.hpp"

using namespace gqa;
using namespace gqa::html;
using gqa::test::contains;

namespace {

std::int64_t count(const std::string& text, const std::string& part) {
  std::int64_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// The tag that ends before `mark`, from its "<" on.
std::string tag_before(const std::string& text, const std::string& mark) {
  const std::size_t end = text.find(mark);
  REQUIRE(end != std::string::npos);
  return text.substr(text.rfind('<', end - 1), end - text.rfind('<', end - 1));
}

// The number behind `label` in the text.
double number_behind(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + label.size()));
}

}  // namespace

TEST_CASE("heat map: one cell for each head and row, violations marked by a line as well") {
  ErrorMap map(2, 3);
  map.add_error(0, 0, 0.5);
  map.add_error(0, 1, 0);
  map.add_error(1, 2, 1000);
  map.add_violation(1, 2);
  const std::string picture = heat_map_picture("m", map, {2}).str();
  CHECK(contains(picture, "<title>b0 h0, row 0: 0.5 ulp</title>"));
  CHECK(contains(picture, "<title>b0 h0, row 1: 0 ulp</title>"));
  CHECK(contains(picture, ", 1 violation</title>"));
  CHECK(contains(picture, "The largest error is"));
  CHECK(contains(picture, "1 of 6 cells hold violations."));
  // One in the picture, one in the legend.
  CHECK(count(picture, "class=\"violation\"") == 2);
  CHECK(contains(picture, "not measured"));
  CHECK(heat_map_picture("m", ErrorMap(), {2}).is_empty());
}

TEST_CASE("heat map: an element that is no number leaves a cell without one, but marked") {
  ErrorMap map(1, 1);
  map.add_violation(0, 0);
  CHECK(contains(heat_map_picture("m", map, {1}).str(), "row 0: no number, 1 violation"));
}

TEST_CASE("heat map: long rows come in blocks, and each part enlarged") {
  ErrorMap map(1, 300);
  map.add_error(0, 299, 7);
  map.add_error(0, 0, 1);
  const std::string picture = heat_map_picture("m", map, {1}).str();
  CHECK(contains(picture, "query rows across, 5 to a cell."));
  CHECK(contains(picture, "Rows 0 to 63, by row: at most 1 ulp"));
  CHECK(contains(picture, "Rows 256 to 299, by row: at most 7 ulp"));
  CHECK(count(picture, "<details>") == 5);
  CHECK(count(picture, "role=\"img\"") == 6);
}

TEST_CASE("heat map: a block shows its largest error and all violations, wherever they are in it") {
  ErrorMap map(1, 300);
  for (const auto& [row, error] : {std::pair{0, 1.0}, {2, 9.0}, {4, 2.0}}) {
    map.add_error(0, row, error);
  }
  map.add_violation(0, 1);
  map.add_violation(0, 2);
  CHECK(contains(heat_map_picture("m", map, {1}).str(),
                 "<title>b0 h0, rows 0 to 4: 9 ulp, 2 violations</title>"));
}

TEST_CASE("heat map: the larger the error, the darker its shade") {
  ErrorMap map(1, 3);
  map.add_error(0, 0, 0.1);
  map.add_error(0, 1, 40);
  map.add_error(0, 2, 9000);
  const std::string picture = heat_map_picture("m", map, {1}).str();
  int before = -1;
  for (const int row : {0, 1, 2}) {
    const std::string tag = tag_before(picture, fmt::format("<title>b0 h0, row {}:", row));
    CAPTURE(tag);
    const int shade = static_cast<int>(number_behind(tag, "class=\"h"));
    CHECK(shade > before);
    before = shade;
  }
  CHECK(before == 7);  // the darkest of eight
}

TEST_CASE("heat map: very many heads and rows still give a small page") {
  ErrorMap map(4096, 100'000);
  for (std::int64_t head = 0; head < 4096; ++head) map.add_error(head, head * 20, 3);
  CHECK(heat_map_picture("m", map, {64}).str().size() < 400'000);
}

TEST_CASE("histogram: every element is in a bar, and both bounds of a model are drawn") {
  ErrorMap map(1, 1);
  for (int i = 0; i < 5; ++i) map.add_error(0, 0, 0.4);
  map.add_error(0, 0, 900);
  const std::vector<ElementBounds> bounds{{{0, 0, 0, 0}, 3, 40}, {{0, 0, 0, 1}, 5, 60}};
  const Tolerance model = ModelTolerance{&f32_model};
  const std::string picture = histogram_picture("h", map, model, bounds, 7).str();
  CHECK(contains(picture, "5 elements of up to 0.5 ulp. 1 element of up to 1.02"));
  CHECK(contains(picture,
                 "Likely bound: 3 to 5 ulp; worst-case bound: 40 to 60 ulp over the 2 "
                 "elements that were asked for theirs."));
  CHECK(count(picture, "class=\"edge\"") == 2);
  CHECK(count(picture, "class=\"edge worst\"") == 2);
  CHECK(contains(picture, "1 element without a number on one side is not in it."));
}

TEST_CASE("histogram: a bound stands at the right end of the bar that ends with it") {
  ErrorMap map(1, 1);
  for (const double error : {1.0, 8.0, 64.0}) map.add_error(0, 0, error);
  const std::string picture = histogram_picture("h", map, UlpTolerance{8}, {}, 3).str();
  const std::string bar = tag_before(picture, "<title>up to 8 ulp: 1 element</title>");
  const std::string edge = tag_before(picture, " class=\"edge\"");
  CHECK(number_behind(edge, "d=\"M") ==
        doctest::Approx(number_behind(bar, " x=\"") + number_behind(bar, "width=\"") + 1));
  // What is beyond the bound is marked, and nothing before it.
  CHECK_FALSE(contains(bar, "beyond"));
  CHECK(contains(tag_before(picture, "<title>up to 64 ulp: 1 element</title>"), "beyond"));
}

TEST_CASE("histogram: the largest count is told beside the powers of ten below it") {
  ErrorMap map(1, 1);
  for (int i = 0; i < 250; ++i) map.add_error(0, 0, 0.4);
  map.add_error(0, 0, 3);
  const std::string picture = histogram_picture("h", map, UlpTolerance{8}, {}, 251).str();
  for (const char* tick : {">1<", ">10<", ">250<"}) {
    CAPTURE(tick);
    CHECK(contains(picture, tick));
  }
  // 100 would stand too near to 250 in a scale of logarithms only if it covered it.
  CHECK(contains(picture, ">100<"));
  map = ErrorMap(1, 1);
  for (int i = 0; i < 11; ++i) map.add_error(0, 0, 0.4);
  const std::string small = histogram_picture("h", map, UlpTolerance{8}, {}, 11).str();
  CHECK(contains(small, ">11<"));
  CHECK_FALSE(contains(small, ">10<"));  // there is no room for both
}

TEST_CASE("histogram: the smallest errors share the first bar") {
  ErrorMap map(1, 1);
  for (const double error : {0x1p-28, 0x1p-20, 0x1p-6, 1.0}) map.add_error(0, 0, error);
  CHECK(contains(histogram_picture("h", map, UlpTolerance{8}, {}, 4).str(),
                 "<title>up to 0.0156 ulp: 3 elements</title>"));
}

TEST_CASE("histogram: a tolerance in ulp is one line; infinite errors and bounds are no trouble") {
  ErrorMap map(1, 1);
  map.add_error(0, 0, std::numeric_limits<double>::infinity());
  map.add_error(0, 0, 0);
  const std::string picture = histogram_picture("h", map, UlpTolerance{8}, {}, 2).str();
  CHECK(contains(picture, "Tolerance: 8 ulp."));
  CHECK(count(picture, "class=\"edge\"") == 1);
  CHECK(contains(picture, "1 element of up to more than 2^31 ulp."));
  const std::vector<ElementBounds> open{{{0, 0, 0, 0}, 1, std::numeric_limits<double>::infinity()}};
  const Tolerance model = ModelTolerance{&f32_model};
  CHECK(contains(histogram_picture("h", map, model, open, 2).str(), "worst-case bound: infinite"));
  CHECK(contains(histogram_picture("h", ErrorMap(1, 1), model, {}, 2).str(),
                 "No element has an error in ulp"));
}

TEST_CASE("head map: the found map is drawn beside the declared one, its own wires dashed") {
  const HeadMapPicture heads{2, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 0, 1}};
  const std::string picture = head_map_picture("x", heads, found_title("head_map.tiled")).str();
  CHECK(count(picture, "role=\"img\"") == 2);
  CHECK(count(picture, "class=\"wire differs\"") == 2);
  CHECK(contains(picture, "query heads 1, 2 read another KV head than declared (dashed)"));
  CHECK(contains(picture,
                 "KV head 0 is read by query heads 0, 1; KV head 1 is read by query "
                 "heads 2, 3."));
  CHECK(contains(picture, "KV head 0 is read by query heads 0, 2;"));
  // Keys alone.
  const std::string keys =
      head_map_picture("x", HeadMapPicture{2, {0, 0, 1, 1}, {0, 1, 0, 1}, {}}, found_title("k"))
          .str();
  CHECK(contains(keys, "Found (k), keys"));
  CHECK_FALSE(contains(keys, ", values"));
}

TEST_CASE("visible keys: a key too many and a key too few have signs of their own") {
  VisibleKeysPicture keys;
  keys.rows = 1;
  keys.keys = 3;
  keys.declared = {Share::all, Share::all, Share::none};
  keys.found = {Share::all, Share::none, Share::all};
  keys.is_missing = {0, 1, 0};
  keys.is_extra = {0, 0, 1};
  const std::string picture = visible_keys_picture("k", keys, "causal.x").str();
  CHECK(count(picture, "role=\"img\"") == 2);
  CHECK(contains(picture, "class=\"onextra\">+</text>"));
  CHECK(contains(picture, "class=\"onmissing\">\u2212</text>"));
  // The cell too many is the third, the one too few the second.
  CHECK(number_behind(tag_before(picture, " class=\"extra\""), "d=\"M") >
        number_behind(tag_before(picture, " class=\"missing\""), "d=\"M"));
  CHECK(contains(picture, "1 hold keys that should not be seen, 1 lack keys that should."));
}

TEST_CASE("segment: the ends are hollow, and points off it are crossed") {
  SegmentPicture picture{{4, 0}, {0, 8}, {{{3, 2}, true}, {{5, -2}, false}}};
  const std::string drawn = segment_picture("s", picture).str();
  CHECK(contains(drawn,
                 "The open segment between the values (4, 0) and (0, 8). (3, 2) is on it. "
                 "(5, -2) is not on it."));
  CHECK(count(drawn, "class=\"node\"") == 2);
  CHECK(count(drawn, "class=\"seen\"") == 1);
  CHECK(count(drawn, "class=\"cross\"") == 2);
}
