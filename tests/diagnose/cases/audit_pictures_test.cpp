#include "gqa/diagnose/cases/audit_pictures.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/typed.hpp"

using namespace gqa;

namespace {

// One batch entry; the numbers do not matter, the output is theirs to be wrong.
ProblemTensors problem(std::int64_t heads, std::int64_t kv_heads, std::int64_t rows,
                       std::int64_t keys) {
  ProblemTensors tensors;
  tensors.query = test::counting(ElementType::binary32, {1, heads, rows, 2});
  tensors.key = test::counting(ElementType::binary32, {1, kv_heads, keys, 2});
  tensors.value = test::counting(ElementType::binary32, {1, kv_heads, keys, 2});
  tensors.output = test::counting(ElementType::binary32, {1, heads, rows, 2});
  return tensors;
}

Diagnosis named(std::string_view slug) {
  Diagnosis diagnosis;
  diagnosis.status = DiagnosisStatus::named;
  diagnosis.explanations.push_back({{Fault{find_fault(slug), 0}}, 1, 1});
  return diagnosis;
}

AuditPictures pictures(const ProblemTensors& tensors, const Contract& contract,
                       const Diagnosis* diagnosis = nullptr) {
  return audit_pictures(tensors, contract, UlpTolerance{8}, {}, diagnosis);
}

}  // namespace

TEST_CASE("pictures: without a diagnosis only the declared side is there") {
  const AuditPictures shown = pictures(problem(4, 2, 3, 3), {});
  REQUIRE(shown.heads);
  CHECK(shown.heads->declared == std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(shown.heads->found_key.empty());
  REQUIRE(shown.visible_keys);
  CHECK(shown.visible_keys->declared == std::vector<Share>(9, Share::all));
  CHECK(shown.visible_keys->found.empty());
  CHECK(shown.found_by.empty());
}

TEST_CASE("pictures: a named head map is found for K and V, or for one of them") {
  const std::vector<std::int64_t> tiled{0, 1, 0, 1};
  const Diagnosis both = named("head_map.tiled");
  const AuditPictures shown = pictures(problem(4, 2, 3, 3), {}, &both);
  CHECK(shown.heads->found_key == tiled);
  CHECK(shown.heads->found_value == tiled);
  CHECK(shown.found_by == "head_map.tiled");
  const Diagnosis keys = named("head_map.key_tiled");
  CHECK(pictures(problem(4, 2, 3, 3), {}, &keys).heads->found_key == tiled);
  CHECK(pictures(problem(4, 2, 3, 3), {}, &keys).heads->found_value.empty());
}

TEST_CASE("pictures: keys that are not seen are missing, keys that are seen too are extra") {
  Contract causal;
  causal.causal = true;
  const Diagnosis ignored = named("causal.missing");
  REQUIRE(find_fault("causal.missing") != nullptr);
  const AuditPictures shown = pictures(problem(1, 1, 2, 2), causal, &ignored);
  REQUIRE(shown.visible_keys);
  const VisibleKeysPicture& keys = *shown.visible_keys;
  CHECK(keys.declared == std::vector{Share::all, Share::none, Share::all, Share::all});
  CHECK(keys.found == std::vector<Share>(4, Share::all));
  CHECK(keys.is_extra == std::vector<char>{0, 1, 0, 0});
  CHECK(keys.is_missing == std::vector<char>(4, 0));
  const Diagnosis undeclared = named("causal.undeclared");
  const AuditPictures other = pictures(problem(1, 1, 2, 2), {}, &undeclared);
  CHECK(other.visible_keys->is_missing == std::vector<char>{0, 1, 0, 0});
}

TEST_CASE("pictures: many rows and keys come in blocks, whose shares are exact") {
  Contract causal;
  causal.causal = true;
  const AuditPictures shown = pictures(problem(1, 1, 100, 100), causal);
  const VisibleKeysPicture& keys = *shown.visible_keys;
  CHECK(keys.rows_per_cell == 3);
  CHECK(keys.row_cells() == 34);
  CHECK(keys.every_row);
  for (std::int64_t r = 0; r < 34; ++r) {
    for (std::int64_t k = 0; k < 34; ++k) {
      CAPTURE(r);
      CAPTURE(k);
      // The last cell is one row and one key: wholly visible.
      const Share expected = k < r || (k == r && r == 33) ? Share::all
                             : k == r                     ? Share::some
                                                          : Share::none;
      CHECK(keys.declared[static_cast<std::size_t>(r * 34 + k)] == expected);
    }
  }
}

TEST_CASE("pictures: the head and batch entry shown are those of the worst violation") {
  WorstElement worst;
  worst.index = {0, 3, 1, 0};
  worst.within = Uncertain::no();
  const AuditPictures shown =
      audit_pictures(problem(4, 2, 3, 3), {}, UlpTolerance{8}, std::span(&worst, 1), nullptr);
  CHECK(shown.visible_keys->head == 3);
  CHECK(std::ranges::find(shown.bounds, worst.index, &ElementBounds::index) != shown.bounds.end());
}
