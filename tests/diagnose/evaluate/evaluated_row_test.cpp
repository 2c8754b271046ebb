// The declared behaviour gives what the certified reference of the audit gives.
#include "gqa/diagnose/evaluate/evaluated_row.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "kernel/random_call.hpp"

using namespace gqa;
using test::Random;

namespace {

// An output of zeros: a behaviour wants one to say where each element lies.
std::shared_ptr<const TypedTensor> blank_output(const test::RandomCall& call) {
  auto output = std::make_shared<TypedTensor>();
  output->type = call.type;
  output->shape = call.tensors.query->shape;
  const Shape& value = call.tensors.value->shape;
  output->shape.back() =
      call.contract.layout == Layout::bsh
          ? *call.contract.q_num_heads * (value.back() / *call.contract.kv_num_heads)
          : value.back();
  output->bytes.resize(static_cast<std::size_t>(element_count(output->shape)) *
                       element_size(call.type));
  return output;
}

// Both are enclosures of the same number, narrow ones.
void check_same(const Ball& evaluated, const Ball& reference) {
  const Ball difference = evaluated - reference;
  CAPTURE(evaluated.midpoint_double());
  CAPTURE(reference.midpoint_double());
  CHECK(difference.contains(Rational(0)));
  CHECK(less_equal(abs(difference), Ball(0x1p-80) * (Ball(1) + abs(reference))).certainly());
}

void check_empty_row(const EvaluatedRow<Ball>& row, EmptyRow policy,
                     const std::function<std::optional<Rational>(std::int64_t)>& mean_of_all) {
  CHECK(row.anything == (policy == EmptyRow::any));
  if (row.anything) return;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const auto mean = mean_of_all(static_cast<std::int64_t>(c));
    const bool nan = policy == EmptyRow::nan || (policy == EmptyRow::mean && !mean);
    CHECK((row.is_nan[c] != 0) == nan);
    if (nan) continue;
    check_same(row.output[c], policy == EmptyRow::mean ? Ball(*mean) : Ball(0));
  }
}

// Row `i` of a problem is row `first + i` of the behaviour, which has documents uncut; its
// keys start at `first_key`.
struct Place {
  std::int64_t batch, head, row, first, first_key;
};

void check_row(const Behaviour& behaviour, const AttentionProblem& problem, const Place& at) {
  const auto kv_head = problem.head_map[static_cast<std::size_t>(at.head)];
  const EnclosureReader reader(problem, at.batch, kv_head);
  const auto visible = reader.visible(at.head, at.row);
  const auto row = evaluate_row<Ball>(behaviour, at.batch, at.head, at.first + at.row);
  const auto approximate = evaluate_row<double>(behaviour, at.batch, at.head, at.first + at.row);
  if (visible.empty() && !problem.sink_of(at.head)) {
    check_empty_row(row, problem.contract.empty_row,
                    [&](std::int64_t c) { return reader.mean_of_all(c); });
    return;
  }
  CHECK(row.visible == approximate.visible);
  REQUIRE(row.visible.size() == visible.size());
  for (std::size_t k = 0; k < visible.size(); ++k) {
    CHECK(row.visible[k] == visible[k] + static_cast<std::size_t>(at.first_key));
  }
  REQUIRE(reader.is_finite(at.head, at.row, visible));
  const EnclosureReader::Row reference = reader.row(at.head, at.row, visible);
  for (std::size_t k = 0; k < visible.size(); ++k) {
    check_same(row.scores[k], reference.scores[visible[k]]);
    check_same(row.weights[k], reference.weights[visible[k]]);
  }
  REQUIRE(row.output.size() == reference.output.size());
  for (std::size_t c = 0; c < reference.output.size(); ++c) {
    CHECK(row.is_nan[c] == 0);
    check_same(row.output[c], reference.output[c]);
    // Scores of some tens err by some units of 2^-48, so their exponentials do, relatively.
    const double exact = reference.output[c].midpoint_double();
    CHECK(std::abs(approximate.output[c] - exact) <= 1e-12 * (1 + std::abs(exact)));
  }
}

void check_call(test::RandomCall& call) {
  const PrecisionScope precision(128);
  CAPTURE(name(call.type));
  CAPTURE(name(call.contract.layout));
  CAPTURE(describe(call.contract));
  call.tensors.output = blank_output(call);
  const Behaviour behaviour = behaviour_of(call.tensors, call.contract);
  const auto start = [](const std::shared_ptr<const TypedTensor>& starts, std::int64_t n) {
    return starts ? decode_integers(*starts, "starts").data()[static_cast<std::size_t>(n)] : 0;
  };
  for (const PackedDocument& document : cut_documents(call.tensors, call.contract)) {
    const AttentionProblem problem = make_problem(document.tensors, call.contract);
    const Dimensions& d = problem.dimensions;
    const std::int64_t first = start(call.tensors.cu_seqlens_q, document.index);
    const std::int64_t first_key = start(call.tensors.cu_seqlens_k, document.index);
    for (std::int64_t b = 0; b < d.batch; ++b) {
      for (std::int64_t h = 0; h < d.q_heads; ++h) {
        for (std::int64_t i = 0; i < d.queries; ++i) {
          CAPTURE(document.index);
          CAPTURE(b);
          CAPTURE(h);
          CAPTURE(i);
          check_row(behaviour, problem, {b, h, i, first, first_key});
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("evaluated row: the declared behaviour equals the audit's certified reference") {
  for (const std::uint64_t seed : test::seeds(300)) {
    CAPTURE(seed);
    Random random(seed);
    test::RandomCall call = test::random_call(
        random, random.pick({ElementType::binary32, ElementType::bfloat16, ElementType::binary16}));
    check_call(call);
  }
}

TEST_CASE("evaluated row: and so it does on packed documents") {
  for (const std::uint64_t seed : test::seeds(150)) {
    CAPTURE(seed);
    Random random(seed);
    test::RandomCall call = test::random_packed_call(random, ElementType::binary32);
    check_call(call);
  }
}

TEST_CASE("evaluated row: the mean of an empty row is that of its own document") {
  // Documents of 1 row on 3 keys and 3 rows on 1 key: causal from the bottom right, the first
  // two rows of the second have no key.
  test::RandomCall call;
  const ElementType type = ElementType::binary32;
  call.contract.layout = Layout::thd;
  call.contract.causal = true;
  call.contract.empty_row = EmptyRow::mean;
  call.tensors.query = test::counting(type, {4, 1, 1});
  call.tensors.key = test::counting(type, {4, 1, 1});
  call.tensors.value = test::tensor_of(type, {4, 1, 1}, {1, 2, 3, 40});
  call.tensors.cu_seqlens_q = test::tensor_of_bits(ElementType::int64, {3}, {0, 1, 4});
  call.tensors.cu_seqlens_k = test::tensor_of_bits(ElementType::int64, {3}, {0, 3, 4});
  check_call(call);
  const Behaviour behaviour = behaviour_of(call.tensors, call.contract);
  CHECK(evaluate_row<double>(behaviour, 0, 0, 1).output[0] == 40);
}
