// Which layouts the shapes of a problem allow, and operands stated in a few numbers.
#include "gqa/attention/layout_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gqa/attention/added_operands.hpp"
#include "gqa/attention/attention_problem.hpp"
#include "gqa/error.hpp"

using namespace gqa;

namespace {

std::shared_ptr<const TypedTensor> zeros(Shape shape) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->bytes.resize(static_cast<std::size_t>(element_count(shape)) * sizeof(float));
  tensor->shape = std::move(shape);
  return tensor;
}

ProblemTensors shaped(Shape query, const Shape& key, Shape output) {
  ProblemTensors tensors;
  tensors.query = zeros(std::move(query));
  tensors.key = zeros(key);
  tensors.value = zeros(key);
  if (!output.empty()) tensors.output = zeros(std::move(output));
  return tensors;
}

std::vector<std::string> flags_of(const ProblemTensors& tensors) {
  std::vector<std::string> flags;
  for (const Contract& contract : fitting_layouts(tensors, {})) {
    flags.push_back(layout_flags(contract));
  }
  return flags;
}

std::string message_of(const ProblemTensors& tensors) {
  try {
    make_problem(tensors, {});
  } catch (const InputError& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("layouts: shapes say which transpositions fit, the one that says least first") {
  // 8 heads on 2, 5 rows, 7 keys, all of them different: one way to read them.
  CHECK(flags_of(shaped({1, 8, 5, 16}, {1, 2, 7, 16}, {1, 8, 5, 16})).front() == "--layout BHSD");
  CHECK(flags_of(shaped({3, 5, 8, 16}, {3, 7, 2, 16}, {3, 5, 8, 16})) ==
        std::vector<std::string>{"--layout BSHD"});
  CHECK(flags_of(shaped({5, 3, 8, 16}, {7, 3, 2, 16}, {5, 3, 8, 16})) ==
        std::vector<std::string>{"--layout SBHD"});
  CHECK(flags_of(shaped({3, 8, 5, 16}, {3, 2, 7, 16}, {3, 5, 8, 16})) ==
        std::vector<std::string>{"--layout BHSD,output=BSHD"});
  CHECK(flags_of(shaped({8, 5, 16}, {2, 7, 16}, {8, 5, 16})).front() == "--layout HSD");
  // Hidden states of eight heads folded, keys that are not.
  CHECK(flags_of(shaped({3, 8, 5, 16}, {3, 2, 7, 16}, {3, 5, 128})) ==
        std::vector<std::string>{"--layout BHSD,output=BSH --q-heads 8 --kv-heads 2"});
  CHECK(flags_of(shaped({3, 8, 5, 16}, {3, 2, 7, 9}, {})).empty());
}

TEST_CASE("layouts: a shape that does not fit says which layout would") {
  const std::string message = message_of(shaped({3, 8, 5, 16}, {3, 7, 2, 16}, {3, 8, 5, 16}));
  CHECK(message.find("; the shapes fit with --layout BHSD,key=BSHD,value=BSHD") !=
        std::string::npos);
  // Where nothing fits, nothing is said of it.
  CHECK(message_of(shaped({3, 8, 5, 16}, {3, 2, 7, 9}, {})).find("the shapes fit") ==
        std::string::npos);
}

TEST_CASE("layouts: of single tensors are stated, told and read back") {
  Contract contract;
  state_layouts(contract, "BSHD,output=BHSD", "--layout");
  CHECK(contract.layout_of(Operand::query) == Layout::bshd);
  CHECK(contract.layout_of(Operand::output) == Layout::bhsd);
  CHECK(!contract.has_one_layout());
  CHECK(layouts_text(contract) == "BSHD,output=BHSD");
  state_layouts(contract, "output=BSHD", "--layout");
  CHECK(contract.has_one_layout());
  CHECK(layouts_text(contract) == "BSHD");
  CHECK_THROWS_AS(state_layouts(contract, "outputs=BSHD", "--layout"), InputError);
  CHECK_THROWS_AS(state_layouts(contract, "output=XYZ", "--layout"), InputError);
  CHECK_THROWS_AS(state_layouts(contract, "", "--layout"), InputError);
}

TEST_CASE("added operands: ALiBi's slopes as its authors publish them") {
  // Eight heads: 1/2, 1/4, ..., 1/256. Six: those of four, then every second one of eight.
  const std::vector<double> eight = standard_alibi_slopes(8);
  for (int h = 0; h < 8; ++h) CHECK(eight[static_cast<std::size_t>(h)] == std::exp2(-(h + 1)));
  CHECK(standard_alibi_slopes(6) == std::vector<double>{0.25, 0x1p-4, 0x1p-6, 0x1p-8, 0.5, 0.125});
  CHECK(standard_alibi_slopes(1) == std::vector<double>{0x1p-8});
}

TEST_CASE("added operands: one number stands for all, any other count is refused") {
  const Dimensions sizes{.batch = 2, .q_heads = 4, .kv_heads = 2, .queries = 1, .keys = 5};
  ProblemTensors tensors;
  add_operands(tensors,
               {.lengths = std::vector<std::int64_t>{3},
                .sink = std::vector<double>{0.5},
                .alibi_slopes = std::vector<double>{}},
               sizes);
  CHECK(decode_integers(*tensors.nonpad_kv_seqlen).data() == std::vector<std::int64_t>{3, 3});
  CHECK(decode(*tensors.sink).data() == std::vector<double>(4, 0.5));
  CHECK(decode(*tensors.alibi_slopes).data() == standard_alibi_slopes(4));
  AddedOperands too_many;
  too_many.lengths = std::vector<std::int64_t>{1, 2, 3};
  CHECK_THROWS_AS(add_operands(tensors, too_many, sizes), InputError);
  CHECK(parse_lengths("24,17", "x") == std::vector<std::int64_t>{24, 17});
  for (const char* text : {"", "1,", "a", "1 2", "1e999", "inf"}) {
    CHECK_THROWS_AS(parse_numbers(text, "x"), InputError);
  }
}

TEST_CASE("added operands: left padding hides the keys before the last ones") {
  const auto mask = left_padding_mask({1, 3}, 3);
  CHECK(mask->shape == Shape{2, 1, 1, 3});
  CHECK(decode_integers(*mask).data() == std::vector<std::int64_t>{0, 0, 1, 1, 1, 1});
}
