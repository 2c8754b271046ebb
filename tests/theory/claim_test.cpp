#include "gqa/theory/claim.hpp"

#include <doctest/doctest.h>

#include <set>

#include "gqa/theory/claim_list.hpp"
#include "support/errors.hpp"

using namespace gqa;

TEST_CASE("claims: all are there, in order, with statement, scope and certificate") {
  std::vector<std::string> ids;
  for (char letter = 'a'; letter <= 'z'; ++letter) ids.emplace_back(1, letter);
  for (char letter = 'a'; letter <= 'z'; ++letter) ids.emplace_back(2, letter);
  REQUIRE(claims().size() == ids.size());
  std::set<std::string> titles;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Claim& claim = *claims()[k];
    CHECK(claim.id == ids[k]);
    CHECK(titles.insert(claim.title).second);
    CHECK(std::string(claim.statement).size() > 10);
    CHECK(std::string(claim.scope).size() > 5);
    CHECK(std::string(claim.certificate).size() > 5);
  }
}

TEST_CASE("claims: every one is settled but that of the trained model, which needs recordings") {
  // The verdicts of docs/theory.md, "The claims ledger".
  const std::set<std::string> refuted{"u", "w", "y", "z", "hh", "ii", "jj", "oo", "pp", "tt", "ww"};
  for (const Claim* claim : claims()) {
    CAPTURE(claim->id);
    const ClaimReport report = adjudicate(*claim);
    for (const std::string& failure : report.argument.failures()) INFO(failure);
    CHECK(report.argument.failures().empty());
    if (report.verdict == ClaimVerdict::proved) CHECK_FALSE(report.argument.certificates().empty());
    if (std::string(claim->id) == "gg") {
      CHECK(report.verdict == ClaimVerdict::open);
    } else if (refuted.contains(claim->id)) {
      CHECK(report.verdict == ClaimVerdict::refuted);
    } else {
      CHECK(report.verdict == ClaimVerdict::proved);
    }
  }
}

TEST_CASE("claims: a certificate that the checker rejects leaves the claim open") {
  const Claim claim{"t", "test", "s", "s", "c", [](Argument& argument, const TrainedModel*) {
                      argument.require(true, "one");
                      argument.attach({{"schema", "gqaverify.certificate/1"},
                                       {"kind", "polynomial_identity"},
                                       {"left", "a*b"},
                                       {"right", "a + b"}});
                      return ClaimVerdict::proved;
                    }};
  const ClaimReport report = adjudicate(claim);
  CHECK(report.verdict == ClaimVerdict::open);
  CHECK(report.argument.failures() ==
        std::vector<std::string>{"the checker verifies 0 of 1 certificates"});
}

TEST_CASE("claims: a step that does not hold leaves the claim open") {
  Claim claim{"t", "test", "s", "s", "c", [](Argument& argument, const TrainedModel*) {
                argument.require(true, "one");
                argument.require(false, "two is {}", 3);
                return ClaimVerdict::proved;
              }};
  const ClaimReport report = adjudicate(claim);
  CHECK(report.verdict == ClaimVerdict::open);
  CHECK(report.argument.failures() == std::vector<std::string>{"two is 3"});
  claim.argue = [](Argument& argument, const TrainedModel*) {
    argument.say("nothing is required");
    return ClaimVerdict::proved;
  };
  CHECK(adjudicate(claim).verdict == ClaimVerdict::open);
}

TEST_CASE("claims: found by id, by id in brackets, by title; others are refused") {
  CHECK(std::string(find_claim("u").id) == "u");
  CHECK(std::string(find_claim("(aa)").id) == "aa");
  CHECK(std::string(find_claim("averaged-keys").id) == "y");
  CHECK(test::refusal_of([] { find_claim("zzz", "NAME"); }) == "claims.unknown at NAME");
  CHECK(test::refusal_of([] { find_claim(""); }) == "claims.unknown at claim");
}
