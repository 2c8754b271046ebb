// Which contract a recording fits: rules planted by a plain loop are found, and nothing else is.
#include "gqa/diagnose/identify/identified_contract.hpp"

#include <doctest/doctest.h>

#include "diagnose/identify/planted_recording.hpp"
#include "gqa/num/ball.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

// What a found contract says, as the plain loop would do it.
PlantedRules rules_of(const IdentifiedContract& found, const PlantedSizes& sizes) {
  PlantedRules rules;
  const Contract& contract = found.contract;
  rules.layout = name(contract.layout_of(Operand::query));
  rules.output_layout = name(contract.layout_of(Operand::output));
  rules.interleaved = contract.head_map.kind == HeadMapKind::interleaved;
  rules.causal = contract.causal;
  rules.top_left = contract.causal_alignment == CausalAlignment::top_left;
  rules.left = contract.window.left;
  rules.right = contract.window.right;
  if (contract.scale) rules.scale = Ball(*contract.scale).midpoint_double();
  rules.softcap = Ball(contract.softcap).midpoint_double();
  rules.sink_of_zero = found.added.sink.has_value();
  rules.alibi = found.added.alibi_slopes.has_value();
  if (found.added.lengths) rules.lengths = *found.added.lengths;
  REQUIRE(contract.head_map.kind != HeadMapKind::explicit_list);
  REQUIRE(rules.lengths.size() <= static_cast<std::size_t>(sizes.batch));
  return rules;
}

// Two sets of rules are the same where they agree on fresh operands of the same sizes.
bool agree_on_fresh_operands(const PlantedRules& a, const PlantedRules& b,
                             const PlantedSizes& sizes, std::uint64_t seed) {
  Random random(seed + 1'000'000);
  const PlantedOperands operands(sizes, random);
  const std::vector<double> of_a = planted_output(operands, a);
  const std::vector<double> of_b = planted_output(operands, b);
  for (std::size_t n = 0; n < of_a.size(); ++n) {
    if (!(std::abs(of_a[n] - of_b[n]) <= 1e-4)) return false;
  }
  return a.layout == b.layout && a.output_layout == b.output_layout;
}

void plant_one(PlantedRules& rules, const PlantedSizes& s, Random& random) {
  switch (random.integer(0, 9)) {
    case 0:
      rules.layout = rules.output_layout = random.pick({"BSHD", "SBHD", "BSH"});
      break;
    case 1:
      rules.output_layout = "BSHD";
      break;
    case 2:
      rules.causal = true;
      rules.top_left = random.one_in(3);
      break;
    case 3:
      rules.left = random.integer(1, s.queries / 2);
      rules.causal = rules.causal || random.one_in(2);
      if (!rules.causal && random.one_in(2)) rules.right = random.integer(1, 3);
      break;
    case 4:
      rules.scale = random.pick({0.1, 1.0, 0.5, 0.0625, 0.2973});
      break;
    case 5:
      rules.softcap = random.pick({0.5, 2.0, 20.0, 30.0});
      break;
    case 6:
      rules.interleaved = true;
      break;
    case 7:
      rules.sink_of_zero = true;
      break;
    case 8:
      rules.lengths.clear();
      for (std::int64_t b = 0; b < s.batch; ++b) {
        rules.lengths.push_back(random.integer(2 * s.keys / 3, s.keys - 1));
      }
      break;
    default:
      rules.alibi = true;
      break;
  }
}

PlantedSizes random_sizes(Random& random) {
  PlantedSizes s;
  s.batch = random.integer(1, 2);
  s.q_heads = random.pick<std::int64_t>({4, 8});
  s.queries = random.pick<std::int64_t>({7, 12});
  s.keys = random.pick<std::int64_t>({12, 23});
  s.width = random.pick<std::int64_t>({8, 16});
  return s;
}

}  // namespace

TEST_CASE("identify: one to three undeclared rules are found, and no other contract instead") {
  int found = 0, wrong = 0, cases = 0;
  for (const std::uint64_t seed : seeds(200)) {
    CAPTURE(seed);
    Random random(seed);
    const PlantedSizes sizes = random_sizes(random);
    PlantedRules rules;
    const std::int64_t count = random.integer(1, 3);
    for (std::int64_t n = 0; n < count; ++n) plant_one(rules, sizes, random);
    if (rules.layout == "BSH") rules.output_layout = "BSH";
    const PlantedOperands operands(sizes, random);
    CAPTURE(rules.describe());
    const IdentifiedContract answer = identify_contract(planted_recording(operands, rules), {});
    ++cases;
    const bool fits = answer.fit == ContractFit::found || answer.fit == ContractFit::declared;
    if (!fits) {
      MESSAGE("seed ", seed, ": not found: ", rules.describe(), "; told ", name(answer.fit), " ",
              answer.flags_text());
      continue;
    }
    if (agree_on_fresh_operands(rules_of(answer, sizes), rules, sizes, seed)) {
      ++found;
    } else if (answer.equivalents.empty() && answer.hidden.certain.empty()) {
      ++wrong;
      MESSAGE("seed ", seed, ": ", rules.describe(), " is told as ", answer.flags_text());
    } else {
      MESSAGE("seed ", seed, ": ", rules.describe(), " is told as ", answer.flags_text(),
              " among others");
    }
  }
  MESSAGE(found, " of ", cases, " found exactly, ", wrong, " wrongly");
  CHECK(100 * found >= 95 * cases);
  CHECK(wrong == 0);
}

TEST_CASE("identify: outputs that come of no contract are not fitted") {
  for (const std::uint64_t seed : seeds(6)) {
    CAPTURE(seed);
    Random random(seed);
    const PlantedSizes sizes;
    const PlantedOperands operands(sizes, random);
    ProblemTensors tensors = planted_recording(operands, {});
    std::vector<double> numbers(planted_output(operands, {}).size());
    for (double& number : numbers) {
      number = seed % 3 == 0 ? 0 : static_cast<double>(static_cast<float>(random.normal()));
    }
    if (seed % 3 == 1) {
      // Twice the right output.
      numbers = planted_output(operands, {});
      for (double& number : numbers) number *= 2;
    }
    tensors.output = planted_tensor(numbers, sizes, sizes.q_heads, sizes.queries, "BHSD");
    const IdentifiedContract answer = identify_contract(tensors, {});
    CAPTURE(answer.flags_text());
    CHECK(answer.fit != ContractFit::found);
    CHECK(answer.fit != ContractFit::declared);
  }
}

TEST_CASE("identify: one wrong element leaves the nearest contract, and says what remains") {
  Random random(5);
  const PlantedSizes sizes;
  const PlantedOperands operands(sizes, random);
  PlantedRules rules;
  rules.causal = true;
  rules.scale = 0.25;
  std::vector<double> output = planted_output(operands, rules);
  output[40] += 0.5;
  ProblemTensors tensors = planted_recording(operands, rules);
  tensors.output = planted_tensor(output, sizes, sizes.q_heads, sizes.queries, "BHSD");
  const IdentifiedContract answer = identify_contract(tensors, {});
  CHECK(answer.fit == ContractFit::nearest);
  CHECK(answer.flags_text() == "--causal --scale 1/4");
  REQUIRE(answer.audit);
  CHECK(answer.audit->result.tally.violations == 1);
}

TEST_CASE("identify: what is declared and right stays as it is") {
  Random random(6);
  const PlantedSizes sizes;
  const PlantedOperands operands(sizes, random);
  PlantedRules rules;
  rules.causal = true;
  Contract declared;
  declared.causal = true;
  const IdentifiedContract answer = identify_contract(planted_recording(operands, rules), declared);
  CHECK(answer.fit == ContractFit::declared);
  CHECK(answer.flags.empty());
}
