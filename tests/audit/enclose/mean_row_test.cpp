#include "gqa/audit/enclose/mean_row.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"

using namespace gqa;
using gqa::test::SmallProblem;

namespace {

// No key is visible; the values are 1, 2 and 4 and their mean, 7/3, no binary number.
SmallProblem empty_row(double output) {
  SmallProblem p;
  p.keys = 3;
  p.query = {1};
  p.key = {1, 2, 3};
  p.value = {1, 2, 4};
  p.output = {output};
  p.length = {0};
  p.contract.empty_row = EmptyRow::mean;
  return p;
}

Verdict verdict(const SmallProblem& p, const Tolerance& tolerance) {
  return p.audit(tolerance).verdict;
}

const Tolerance half_ulp = UlpTolerance{make_rational(1, 2)};
const Tolerance under_f32 = ModelTolerance{&f32_model, false};

}  // namespace

TEST_CASE("mean of an empty row: exact over all keys, those beyond the length too") {
  const AttentionProblem problem = empty_row(0).problem();
  CHECK(EnclosureReader(problem, 0, 0).mean_of_all(0) == make_rational(7, 3));
}

TEST_CASE("mean of an empty row: the rounded mean passes, zero and its neighbours do not") {
  const double rounded = static_cast<double>(7.0F / 3);
  const double next = static_cast<double>(std::nextafter(7.0F / 3, 3.0F));
  for (const Tolerance& tolerance : {half_ulp, under_f32}) {
    CHECK(verdict(empty_row(rounded), tolerance) == Verdict::pass);
    CHECK(verdict(empty_row(0), tolerance) == Verdict::fail);
    CHECK(verdict(empty_row(std::nan("")), tolerance) == Verdict::fail);
  }
  CHECK(verdict(empty_row(next), half_ulp) == Verdict::fail);
  CHECK(verdict(empty_row(next), under_f32) == Verdict::pass);
  CHECK(verdict(empty_row(static_cast<double>(2.3334F)), under_f32) == Verdict::fail);
}

TEST_CASE("mean of an empty row: a tie with the tolerance is within it") {
  SmallProblem p = empty_row(2.5);
  CHECK(verdict(p, AbsoluteRelativeTolerance{make_rational(1, 6), 0}) == Verdict::pass);
  CHECK(verdict(p, AbsoluteRelativeTolerance{make_rational(1, 7), 0}) == Verdict::fail);
}

TEST_CASE("mean of an empty row: a declared sink makes it a true zero") {
  SmallProblem p = empty_row(0);
  p.sink = {1};
  CHECK(verdict(p, half_ulp) == Verdict::pass);
}

TEST_CASE("mean of an empty row: with infinity among the values there is no mean") {
  SmallProblem p = empty_row(2);
  p.value = {1, std::numeric_limits<double>::infinity(), 4};
  CHECK(verdict(p, AbsoluteRelativeTolerance{1000, 0}) == Verdict::undecided);
}
