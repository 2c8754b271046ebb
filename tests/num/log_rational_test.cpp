#include "gqa/num/log_rational.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::refusal_of;

namespace {

LogRational ln(const char* value) {
  return LogRational::log_of(parse_rational(value));
}

std::string log_rational_refusal(std::string_view text) {
  return refusal_of([&] { parse_log_rational(text, "bias"); });
}

}  // namespace

TEST_CASE("log_rational: logarithms are equal exactly if their numbers are") {
  CHECK(ln("6") == ln("2") + ln("3"));
  CHECK(ln("8") == ln("2") * Rational(3));
  CHECK(ln("3/4") == ln("3") - ln("2") * Rational(2));
  CHECK(ln("9") * make_rational(1, 2) == ln("3"));
  CHECK(ln("1").is_zero());
  CHECK((ln("6") - ln("6")).is_zero());
  CHECK((ln("6") * Rational(0)).is_zero());
  CHECK_FALSE(ln("2") == ln("3"));
  CHECK_FALSE(ln("2") == ln("1/2"));
}

TEST_CASE("log_rational: exp is rational exactly if every coefficient is an integer") {
  CHECK(*ln("3/4").exp() == make_rational(3, 4));
  CHECK(*LogRational().exp() == 1);
  CHECK(*(-ln("12")).exp() == make_rational(1, 12));
  CHECK_FALSE((ln("3") * make_rational(1, 2)).exp().has_value());
  CHECK(*(ln("9/4") * make_rational(1, 2)).exp() == make_rational(3, 2));
}

TEST_CASE("log_rational: exp undoes log in both engines, and turns sums into products") {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const Rational a = abs(random.small_rational()) + make_rational(1, 7);
    const Rational b = abs(random.small_rational()) + make_rational(2, 5);
    CAPTURE(seed);
    CAPTURE(to_text(a));
    CAPTURE(to_text(b));
    const LogRational sum = LogRational::log_of(a) + LogRational::log_of(b);
    CHECK(*LogRational::log_of(a).exp() == a);
    CHECK(*sum.exp() == a * b);
    CHECK(sum == LogRational::log_of(Rational(a * b)));
    const auto boost = BoostLogRational::log_of(a) - BoostLogRational::log_of(b);
    CHECK(from_boost(*boost.exp()) == a / b);
    CHECK(log_rational_cast<BoostRational>(LogRational::log_of(Rational(a / b))) == boost);
  }
}

TEST_CASE("log_rational: only positive numbers with small prime factors have a logarithm") {
  for (const char* text : {"0", "-1", "-3/4"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { LogRational::log_of(parse_rational(text), "query"); }) ==
          "log_rational.not_positive at query");
  }
  // 1048583 is the first prime beyond 2^20, 1048573 the last below.
  CHECK(log_rational_refusal("ln(1048583)") == "log_rational.prime_too_large at bias");
  CHECK(log_rational_refusal("ln(1/1048583)") == "log_rational.prime_too_large at bias");
  CHECK(log_rational_refusal("ln(1099526307889)") ==
        "log_rational.prime_too_large at bias");  // its square
  CHECK(parse_log_rational("ln(1048573)").coefficients().begin()->first == 1048573);
  CHECK(*parse_log_rational("ln(1099505336329)").exp() == parse_rational("1099505336329"));
}

TEST_CASE("log_rational: an exp beyond the limit is refused instead of filling the memory") {
  const char* expected = "log_rational.exponent_out_of_range at logarithm";
  const LogRational huge = ln("2") * Rational(max_text_exponent + 1);
  CHECK(refusal_of([&] { huge.exp(); }) == expected);
  CHECK(refusal_of([&] { (-huge).exp(); }) == expected);
  CHECK(refusal_of([&] { log_rational_cast<BoostRational>(huge).exp(); }) == expected);
  CHECK(*(ln("2") * Rational(max_text_exponent)).exp() == power_of_two(max_text_exponent));
}

TEST_CASE("log_rational: text is read in every form, and printed in a form that is read") {
  const std::pair<const char*, LogRational> cases[] = {
      {"0", {}},
      {"ln(3)", ln("3")},
      {"-ln(2)", ln("1/2")},
      {"+ln(2)", ln("2")},
      {"1/2*ln(9)", ln("3")},
      {"0.5*ln(9)", ln("3")},
      {"2*ln(3) - 1/2*ln(3/4)", ln("9") - ln("3/4") * make_rational(1, 2)},
      {"ln(2)+ln(3)+ln(5)", ln("30")},
      {"ln(2) - ln(2)", {}},
      {"2 * ln(3)", ln("9")},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(parse_log_rational(text) == expected);
    CHECK(parse_log_rational(to_text(expected)) == expected);
  }
  CHECK(to_text(ln("3/4")) == "-2*ln(2) + ln(3)");
  CHECK(to_text(LogRational()) == "0");
}

TEST_CASE("log_rational: bad text is refused with the code of what is wrong in it") {
  for (const std::string_view text :
       {"", " ", "1", "1/2", "ln", "ln(", "ln)", "ln 2", "log(2)", "ln(2)+", "*ln(2)", "--ln(2)",
        "+-ln(2)", "-", "0 + ln(2)", "2*-ln(3)", "-1*1"}) {
    CAPTURE(text);
    CHECK(log_rational_refusal(text) == "log_rational.syntax at bias");
  }
  CHECK(log_rational_refusal("ln()") == "rational.empty at bias");
  CHECK(log_rational_refusal("ln(x)") == "rational.syntax at bias");
  CHECK(log_rational_refusal("ln(2) ln(3)") == "rational.syntax at bias");
  CHECK(log_rational_refusal("ln(2)*2") == "rational.syntax at bias");
  CHECK(log_rational_refusal("x*ln(2)") == "rational.syntax at bias");
  CHECK(log_rational_refusal("ln(1/0)") == "rational.zero_denominator at bias");
  CHECK(log_rational_refusal("1/0*ln(2)") == "rational.zero_denominator at bias");
  CHECK(log_rational_refusal("ln(0)") == "log_rational.not_positive at bias");
  CHECK(log_rational_refusal("ln(-2)") == "log_rational.not_positive at bias");
}

TEST_CASE("log_rational: the enclosure contains the logarithm") {
  CHECK(enclose(LogRational()).contains(0));
  for (const std::uint64_t seed : test::seeds(100)) {
    test::Random random(seed);
    const Rational value = abs(random.small_rational()) + make_rational(1, 9);
    const Rational factor = random.small_rational();
    CAPTURE(seed);
    CAPTURE(to_text(value));
    const Ball ball = enclose(LogRational::log_of(value) * factor);
    // The C library's logl, whose error of 2^-62 is far below the width tested.
    const long double expected = factor.get_d() * std::log(static_cast<long double>(value.get_d()));
    CHECK(std::abs(ball.midpoint_double() - static_cast<double>(expected)) <
          1e-14 * (1 + std::abs(ball.midpoint_double())));
    const Ball fine = [&] {
      const PrecisionScope precision(512);
      return log(Ball(value)) * Ball(factor);
    }();
    CHECK(ball.contains(fine.lower()));
    CHECK(ball.contains(fine.upper()));
  }
}
