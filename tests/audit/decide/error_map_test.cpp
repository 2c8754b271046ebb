#include "gqa/audit/decide/error_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "audit/filter_problems.hpp"
#include "audit/gradient_support.hpp"
#include "audit/random_tally.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/work/tally_record.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

using namespace gqa;
using gqa::test::infinity;
using nlohmann::json;

namespace {

AuditTally empty_mapped_tally() {
  AuditTally tally(2, 3, 1000, 4);
  tally.error_map = ErrorMap(6, 1000);
  return tally;
}

// What random_tally adds to the counts, by place.
AuditTally mapped_tally(test::Random& random, std::int64_t elements) {
  AuditTally tally = empty_mapped_tally();
  for (std::int64_t n = 0; n < elements; ++n) {
    const std::int64_t head = random.integer(0, 5);
    const std::int64_t row = random.integer(0, 999);
    tally.error_map.add_error(head, row, std::abs(random.corner_double()));
    if (random.one_in(3)) tally.add_violation(head, row, random.integer(0, 3));
  }
  return tally;
}

bool same(const ErrorMap& a, const ErrorMap& b) {
  return a.largest == b.largest && a.violations == b.violations && a.histogram == b.histogram;
}

AttentionProblem random_problem(std::uint64_t seed) {
  gqa_test::Random random(static_cast<unsigned>(seed));
  gqa_test::RandomProblem drawn(random);
  const Dimensions d = make_problem(drawn.tensors, drawn.contract).dimensions;
  const std::int64_t count = d.batch * d.q_heads * d.queries * d.value_size;
  drawn.tensors.output = gqa_test::tensor_of(
      {d.batch, d.q_heads, d.queries, d.value_size},
      gqa_test::draw(random, gqa_test::Draw::normal, static_cast<std::size_t>(count)),
      ElementType::binary32);
  return make_problem(drawn.tensors, drawn.contract);
}

std::string map_refusal(const json& record) {
  return test::refusal_of([&] { read_tally(record, empty_mapped_tally()); });
}

// The map says what the tally says, by place; `heads`: of one batch entry.
void check_map(const AuditTally& tally, std::int64_t heads) {
  const ErrorMap& map = tally.error_map;
  REQUIRE(map.is_kept());
  std::int64_t measured = 0;
  for (const std::int64_t count : map.histogram) measured += count;
  CHECK(measured == tally.measured);
  std::int64_t violations = 0;
  for (const std::int64_t count : map.violations) violations += count;
  CHECK(violations == tally.violations);
  const double largest = *std::ranges::max_element(map.largest);
  CHECK(std::max(largest, 0.0) == tally.max_ulp_error.upper);
  for (const WorstElement& worst : tally.worst) {
    const std::size_t cell = map.cell(worst.index[0] * heads + worst.index[1], worst.index[2]);
    CHECK(map.largest[cell] >= worst.ulp_error.upper);
    if (worst.within.certainly_not()) CHECK(map.violations[cell] > 0);
  }
}

}  // namespace

TEST_CASE("error map: a bucket holds what is above half of its end, and its end") {
  CHECK(ErrorMap::bucket_of(0) == 0);
  CHECK(ErrorMap::bucket_end(0) == 0);
  const std::size_t one = ErrorMap::bucket_of(1);
  CHECK(ErrorMap::bucket_end(one) == 1);
  CHECK(ErrorMap::bucket_of(0.5) == one - 1);
  CHECK(ErrorMap::bucket_of(std::nextafter(0.5, 1)) == one);
  CHECK(ErrorMap::bucket_of(std::nextafter(1.0, 2)) == one + 1);
  CHECK(ErrorMap::bucket_of(std::numeric_limits<double>::denorm_min()) == 1);
  CHECK(ErrorMap::bucket_of(infinity) == ErrorMap::buckets - 1);
  CHECK(ErrorMap::bucket_of(std::numeric_limits<double>::quiet_NaN()) == ErrorMap::buckets - 1);
  CHECK(ErrorMap::bucket_end(ErrorMap::buckets - 1) == infinity);
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const double error = std::abs(random.corner_double());
    CAPTURE(error);
    const std::size_t bucket = ErrorMap::bucket_of(error);
    CHECK(error <= ErrorMap::bucket_end(bucket));
    if (bucket > 0) CHECK(error > ErrorMap::bucket_end(bucket - 1));
  }
}

TEST_CASE("error map: space is bounded, and every row of every head has a cell") {
  for (const auto& [heads, rows] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                    {1, 512},
                                    {1, 513},
                                    {8, 100'000},
                                    {64, 4096},
                                    {8192, 7},
                                    {8193, 7},
                                    {1'000'000, 3}}) {
    CAPTURE(heads);
    CAPTURE(rows);
    const ErrorMap map(heads, rows);
    CHECK(map.head_cells() * map.row_cells() <= ErrorMap::most_cells);
    CHECK(map.row_cells() <= ErrorMap::most_blocks);
    CHECK(map.largest.size() == static_cast<std::size_t>(map.head_cells() * map.row_cells()));
    CHECK(map.cell(0, 0) == 0);
    CHECK(map.cell(heads - 1, rows - 1) == map.largest.size() - 1);
  }
  // As fine as the space allows.
  CHECK(ErrorMap(1, 512).rows_per_cell == 1);
  CHECK(ErrorMap(8, 100'000).rows_per_cell == 196);
  CHECK_FALSE(ErrorMap().is_kept());
  CHECK_FALSE(ErrorMap(0, 5).is_kept());
}

TEST_CASE("error map: parts merged in any order give the whole") {
  for (const std::uint64_t seed : test::seeds(50)) {
    CAPTURE(seed);
    AuditTally forwards = empty_mapped_tally();
    AuditTally backwards = empty_mapped_tally();
    std::vector<AuditTally> parts;
    test::Random random(seed);
    for (int i = 0; i < 5; ++i) parts.push_back(mapped_tally(random, random.integer(0, 30)));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      forwards.merge(parts[i]);
      backwards.merge(parts[parts.size() - 1 - i]);
    }
    CHECK(same(forwards.error_map, backwards.error_map));
    std::int64_t violations = 0;
    for (const std::int64_t count : forwards.error_map.violations) violations += count;
    CHECK(violations == forwards.violations);
  }
}

TEST_CASE("error map: a record gives it back to the bit, infinities too") {
  for (const std::uint64_t seed : test::seeds(100)) {
    CAPTURE(seed);
    test::Random random(seed);
    AuditTally a = mapped_tally(random, random.integer(0, 60));
    a.error_map.add_error(1, 2, infinity);
    const AuditTally b = read_tally(json::parse(tally_record(a).dump()), empty_mapped_tally());
    CHECK(same(a.error_map, b.error_map));
  }
  // Not kept, not written.
  CHECK_FALSE(tally_record(AuditTally(1, 1, 1, 1)).contains("map_largest"));
}

TEST_CASE("error map: a damaged record is refused at its field") {
  test::Random random(3);
  const json good = tally_record(mapped_tally(random, 40));
  CHECK(map_refusal(good) == "none");
  for (const char* field : {"map_largest", "map_violations", "map_histogram"}) {
    const std::string expected = std::string("tally.record at ") + field;
    for (const json& wrong :
         {json(), json(1), json::array({json()}), json::array({{-1, 1}}), json::array({{6000, 1}}),
          json::array({{0, 1.5}}), json::array({{0, "xyz"}}), json::array({{0, 1, 2}})}) {
      CAPTURE(wrong.dump());
      json record = good;
      record[field] = wrong;
      CHECK(map_refusal(record) == expected);
    }
    json record = good;
    record.erase(field);
    CHECK(map_refusal(record) == expected);
  }
  json negative = good;
  negative["map_largest"] = json::array({{0, "bff0000000000000"}});
  CHECK(map_refusal(negative) == "tally.record at map_largest");
  negative["map_largest"] = json::array({{0, "7ff8000000000000"}});
  CHECK(map_refusal(negative) == "tally.record at map_largest");
}

TEST_CASE("error map: an audit maps every element, with the filter and without") {
  for (const std::uint64_t seed : test::seeds(20)) {
    CAPTURE(seed);
    const AttentionProblem problem = random_problem(seed);
    AuditOptions options;
    options.tolerance = UlpTolerance{8};
    CHECK_FALSE(audit(problem, options).tally.error_map.is_kept());
    options.map_errors = true;
    for (const bool use_filter : {true, false}) {
      CAPTURE(use_filter);
      options.use_filter = use_filter;
      const AuditTally tally = audit(problem, options).tally;
      CHECK(tally.error_map.rows == problem.dimensions.queries);
      check_map(tally, problem.dimensions.q_heads);
    }
  }
}

TEST_CASE("error map: of gradients, by KV head and key where they are the history's") {
  std::int64_t violations = 0;
  for (const std::uint64_t seed : test::seeds(15)) {
    CAPTURE(seed);
    gqa_test::Random random(static_cast<unsigned>(seed));
    const gqa_test::RandomProblem drawn(random);
    ProblemTensors tensors = drawn.tensors;
    tensors.grad_output =
        test::drawn_grad_output(random, tensors, gqa_test::Draw::normal, ElementType::binary32);
    test::record_gradients(tensors, drawn.contract, ElementType::binary32);
    for (const bool use_filter : {true, false}) {
      AuditOptions options;
      options.tolerance = AbsoluteRelativeTolerance{};  // what is not exact violates it
      options.use_filter = use_filter;
      CHECK_FALSE(test::audit_gradient(tensors, drawn.contract, GradientKind::key, options)
                      .tally.error_map.is_kept());
      options.map_errors = true;
      for (const GradientKind kind : gradient_kinds) {
        CAPTURE(name(kind));
        const AuditTally tally = test::audit_gradient(tensors, drawn.contract, kind, options).tally;
        const auto& shape = kind == GradientKind::query ? tensors.query->shape
                            : kind == GradientKind::key ? tensors.grad_key->shape
                                                        : tensors.grad_value->shape;
        check_map(tally, static_cast<std::int64_t>(tally.head_violations.size()) /
                             (shape.size() == 4 ? shape[0] : 1));
        violations += tally.violations;
      }
    }
  }
  CHECK(violations > 0);
}
