#include "gqa/num/uncertain.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <type_traits>

using gqa::Uncertain;

namespace {
constexpr Uncertain no = Uncertain::no();
constexpr Uncertain unknown = Uncertain::unknown();
constexpr Uncertain yes = Uncertain::yes();
}  // namespace

TEST_CASE("uncertain: an open answer is possible, not certain, and not certainly false") {
  CHECK(yes.certainly());
  CHECK(yes.possibly());
  CHECK(yes.is_decided());
  CHECK_FALSE(yes.certainly_not());
  CHECK(no.certainly_not());
  CHECK(no.is_decided());
  CHECK_FALSE(no.possibly());
  CHECK_FALSE(no.certainly());
  CHECK(unknown.possibly());
  CHECK_FALSE(unknown.certainly());
  CHECK_FALSE(unknown.certainly_not());
  CHECK_FALSE(unknown.is_decided());
}

TEST_CASE("uncertain: the connectives are Kleene's, in all nine combinations") {
  struct Line {
    Uncertain a, b, both, either;
  };
  for (const Line& line :
       {Line{no, no, no, no}, Line{no, unknown, no, unknown}, Line{no, yes, no, yes},
        Line{unknown, no, no, unknown}, Line{unknown, unknown, unknown, unknown},
        Line{unknown, yes, unknown, yes}, Line{yes, no, no, yes}, Line{yes, unknown, unknown, yes},
        Line{yes, yes, yes, yes}}) {
    CHECK((line.a & line.b) == line.both);
    CHECK((line.a | line.b) == line.either);
  }
  CHECK(!no == yes);
  CHECK(!yes == no);
  CHECK(!unknown == unknown);
  CHECK(Uncertain::from(true) == yes);
  CHECK(Uncertain::from(false) == no);
}

TEST_CASE("uncertain: nothing turns an answer into a bool silently") {
  static_assert(!std::is_convertible_v<Uncertain, bool>);
  static_assert(!std::is_constructible_v<bool, Uncertain>);
  CHECK_FALSE(std::is_constructible_v<Uncertain, bool>);
}
