#include "gqa/audit/work/tally_record.hpp"

#include <doctest/doctest.h>

#include "audit/random_tally.hpp"
#include "gqa/audit/work/problem_digest.hpp"
#include "support/errors.hpp"

using namespace gqa;
using nlohmann::json;

namespace {

const AuditTally empty(1, 3, 50, 4);

std::string record_refusal(const json& record) {
  return test::refusal_of([&] { read_tally(record, empty); });
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

TEST_CASE("tally_record: what is written is read back to the bit, field by field") {
  for (const std::uint64_t seed : test::seeds(200)) {
    CAPTURE(seed);
    test::Random random(seed);
    const AuditTally a = test::random_tally(random, empty, random.integer(0, 40));
    const AuditTally b = read_tally(json::parse(tally_record(a).dump()), empty);
    CHECK(a.elements == b.elements);
    CHECK(a.decided_by_filter == b.decided_by_filter);
    CHECK(a.decided_by_enclosure == b.decided_by_enclosure);
    CHECK(a.decided_exactly == b.decided_exactly);
    CHECK(a.violations == b.violations);
    CHECK(a.proved_violations == b.proved_violations);
    CHECK(a.undecided == b.undecided);
    CHECK(a.not_finite_references == b.not_finite_references);
    CHECK(a.measured == b.measured);
    CHECK(a.ulp_sum_high == b.ulp_sum_high);
    CHECK(a.ulp_sum_low == b.ulp_sum_low);
    CHECK(bits(a.max_absolute_error.lower) == bits(b.max_absolute_error.lower));
    CHECK(bits(a.max_absolute_error.upper) == bits(b.max_absolute_error.upper));
    CHECK(bits(a.max_ulp_error.lower) == bits(b.max_ulp_error.lower));
    CHECK(bits(a.max_ulp_error.upper) == bits(b.max_ulp_error.upper));
    CHECK(a.head_violations == b.head_violations);
    CHECK(a.row_violations == b.row_violations);
    CHECK(a.column_violations == b.column_violations);
    CHECK(a.violating_rows.words() == b.violating_rows.words());
    REQUIRE(a.worst.size() == b.worst.size());
    for (std::size_t i = 0; i < a.worst.size(); ++i) {
      CAPTURE(i);
      CHECK(a.worst[i].index == b.worst[i].index);
      CHECK(bits(a.worst[i].output) == bits(b.worst[i].output));
      CHECK(bits(a.worst[i].reference.lower) == bits(b.worst[i].reference.lower));
      CHECK(bits(a.worst[i].reference.upper) == bits(b.worst[i].reference.upper));
      CHECK(bits(a.worst[i].absolute_error.lower) == bits(b.worst[i].absolute_error.lower));
      CHECK(bits(a.worst[i].absolute_error.upper) == bits(b.worst[i].absolute_error.upper));
      CHECK(bits(a.worst[i].ulp_error.lower) == bits(b.worst[i].ulp_error.lower));
      CHECK(bits(a.worst[i].ulp_error.upper) == bits(b.worst[i].ulp_error.upper));
      CHECK(a.worst[i].within == b.worst[i].within);
    }
  }
}

TEST_CASE("tally_record: a record of another form is refused at its field") {
  test::Random random(1);
  const json good = tally_record(test::random_tally(random, empty, 30));
  CHECK(record_refusal(good) == "none");
  for (const char* field :
       {"counts", "maxima", "worst", "heads", "rows", "columns", "violating_rows"}) {
    const std::string expected = std::string("tally.record at ") + field;
    for (const json& wrong : {json(), json(1), json::object(), json::array({json()})}) {
      CAPTURE(wrong.dump());
      json record = good;
      record[field] = wrong;
      CHECK(record_refusal(record) == expected);
    }
    json record = good;
    record.erase(field);
    CHECK(record_refusal(record) == expected);
  }
  const auto changed = [&](const char* pointer, const json& value) {
    json record = good;
    record[json::json_pointer(pointer)] = value;
    return record_refusal(record);
  };
  CHECK(changed("/counts/0", 1.5) == "tally.record at counts");
  CHECK(changed("/counts/0", 9223372036854775808U) == "tally.record at counts");
  CHECK(changed("/maxima/0", "3ff000000000000") == "tally.record at maxima");
  CHECK(changed("/maxima/0", "3ff000000000000g") == "tally.record at maxima");
  CHECK(changed("/maxima/0", "0x3ff00000000000") == "tally.record at maxima");
  CHECK(changed("/worst/0/11", 2) == "tally.record at worst");
  CHECK(changed("/rows/0/0", 50) == "tally.record at rows");
  CHECK(changed("/rows/0/0", -1) == "tally.record at rows");
  CHECK(changed("/violating_rows", json::array({json::array({0, "0000000000000000"})})) ==
        "tally.record at violating_rows");
  CHECK(changed("/violating_rows", json::array({json::array({99, "0000000000000001"})})) ==
        "tally.record at violating_rows");
  CHECK(changed("/violating_rows", json::array({json::array({-1, "0000000000000001"})})) ==
        "tally.record at violating_rows");
  json crowded = good;
  for (int i = 0; i < 2; ++i) crowded["worst"].push_back(crowded["worst"][0]);
  CHECK(record_refusal(crowded) == "tally.record at worst");
}

TEST_CASE("problem_digest: the checksums have the catalogued check values") {
  // https://reveng.sourceforge.io/crc-catalogue/: check = CRC of "123456789"
  const std::string check = "123456789";
  CHECK(crc64(std::as_bytes(std::span(check))) == 0x995dc9bbdf1939faU);
  CHECK(crc32(check) == 0xcbf43926U);
}
