#include "gqa/attention/dialect.hpp"

#include <doctest/doctest.h>

#include "gqa/attention/attention_problem.hpp"
#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;

namespace {

Contract of(std::string dialect, std::optional<std::int64_t> window = std::nullopt) {
  Contract contract;
  contract.dialect = std::move(dialect);
  contract.causal = true;
  const Dialect* found = find_dialect(contract.dialect);
  if (window) state_window(contract, found->window_word, *window, "window");
  return resolve_dialect(contract);
}

// Which of `keys` keys the rows see, one letter each: "x.. xx." for two rows.
std::string seen(const Contract& contract, std::int64_t queries, std::int64_t keys,
                 std::int64_t past = 0) {
  ProblemTensors t;
  t.query = test::counting(ElementType::binary32, {1, 1, queries, 1});
  t.key = test::counting(ElementType::binary32, {1, 1, keys - past, 1});
  t.value = t.key;
  if (past > 0) t.past_key = test::counting(ElementType::binary32, {1, 1, past, 1});
  t.past_value = t.past_key;
  const AttentionProblem problem = make_problem(t, contract);
  std::string text;
  for (std::int64_t row = 0; row < queries; ++row) {
    if (row > 0) text += ' ';
    for (std::int64_t key = 0; key < keys; ++key) {
      text += problem.visibility.visible(0, 0, row, key) ? 'x' : '.';
    }
  }
  return text;
}

}  // namespace

TEST_CASE("dialect: every preset is found by its name and names its source") {
  CHECK(dialects().size() == 8);
  for (const Dialect& dialect : dialects()) {
    CAPTURE(dialect.name);
    CHECK(find_dialect(dialect.name) == &dialect);
    CHECK(dialect.source.size() > 20);
    CHECK(dialect.window_word.empty() == (dialect.window_count == WindowCount::none));
  }
  CHECK(find_dialect("flash_attention") == nullptr);
  CHECK(find_dialect("") == nullptr);
  CHECK(test::refusal_of([] { parse_dialect("Jaxx", "--dialect"); }) ==
        "contract.unknown_value at --dialect");
  CHECK(window_words() ==
        std::vector<std::string_view>{"local_window_size", "sliding_window", "n_swa"});
}

TEST_CASE("dialect: two queries on four keys, causal, without a cache") {
  const auto causal = [](const char* name) { return seen(of(name), 2, 4); };
  // pytorch and jax put the diagonal top left, the decoders bottom right, ONNX at P = 0.
  CHECK(causal("pytorch") == "x... xx..");
  CHECK(causal("jax") == "x... xx..");
  CHECK(causal("onnx") == "x... xx..");
  CHECK(causal("flash-attention") == "xxx. xxxx");
  CHECK(causal("transformers") == "xxx. xxxx");
  CHECK(causal("llama.cpp") == "xxx. xxxx");
  CHECK(causal("onnxruntime-gqa") == "xxx. xxxx");
  CHECK(causal("onnxruntime-gqa@old") == "xxx. xxxx");
}

TEST_CASE("dialect: with a past of two keys ONNX parts from pytorch") {
  const auto causal = [](const char* name) { return seen(of(name), 2, 4, 2); };
  CHECK(causal("onnx") == "xxx. xxxx");
  CHECK(causal("pytorch") == "x... xx..");
  CHECK(causal("jax") == "x... xx..");
  CHECK(causal("flash-attention") == "xxx. xxxx");
}

TEST_CASE("dialect: more queries than keys, where flash-attention leaves empty rows") {
  CHECK(seen(of("flash-attention"), 3, 1) == ". . x");
  CHECK(seen(of("pytorch"), 3, 1) == "x x x");
}

TEST_CASE("dialect: a window of two, in each system's own word") {
  const auto window = [](const char* name) { return seen(of(name, 2), 4, 4); };
  CHECK(window("transformers") == "x... xx.. .xx. ..xx");
  CHECK(window("llama.cpp") == "x... xx.. .xx. ..xx");
  CHECK(window("onnxruntime-gqa") == "x... xx.. .xx. ..xx");
  // One key more than its successor.
  CHECK(window("onnxruntime-gqa@old") == "x... xx.. xxx. .xxx");
  CHECK(window("jax") == "x... xx.. xxx. .xxx");
  Contract both_sides = of("jax", 1);
  both_sides.causal = false;
  CHECK(seen(both_sides, 4, 4) == "xx.. xxx. .xxx ..xx");
}

TEST_CASE("dialect: only jax fills empty rows with the mean of all values") {
  for (const Dialect& dialect : dialects()) {
    CAPTURE(dialect.name);
    const EmptyRow expected = dialect.name == "jax" ? EmptyRow::mean : EmptyRow::zero;
    CHECK(of(std::string(dialect.name)).empty_row == expected);
  }
}

TEST_CASE("dialect: what is stated wins, and resolving twice changes nothing") {
  Contract contract;
  contract.dialect = "jax";
  contract.empty_row = EmptyRow::nan;
  contract.stated.empty_row = true;
  contract = resolve_dialect(contract);
  CHECK(contract.empty_row == EmptyRow::nan);
  CHECK(contract.causal_alignment == CausalAlignment::top_left);
  // A later change of a resolved contract is a statement of its own.
  contract.causal_alignment = CausalAlignment::bottom_right;
  contract.window = {3, 0};
  const Contract again = resolve_dialect(contract);
  CHECK(again.causal_alignment == CausalAlignment::bottom_right);
  CHECK(again.window == Window{3, 0});
}

TEST_CASE("dialect: without one nothing changes") {
  Contract contract;
  contract.causal_alignment = CausalAlignment::top_left;
  contract.empty_row = EmptyRow::any;
  contract.window = {1, 2};
  const Contract resolved = resolve_dialect(contract);
  CHECK(resolved.causal_alignment == CausalAlignment::top_left);
  CHECK(resolved.empty_row == EmptyRow::any);
  CHECK(resolved.window == Window{1, 2});
}

TEST_CASE("dialect: a window word is refused where no dialect knows it") {
  Contract contract;
  state_window(contract, "sliding_window", 4, "sliding_window");
  const auto refusal = [&contract] { return test::refusal_of([&] { resolve_dialect(contract); }); };
  CHECK(refusal() == "contract.window_word at sliding_window");
  for (const char* name : {"llama.cpp", "onnxruntime-gqa", "pytorch", "jax"}) {
    contract.dialect = name;
    CHECK(refusal() == "contract.window_word at sliding_window");
  }
  contract.dialect = "transformers";
  CHECK(refusal() == "none");
  contract.dialect = "unheard-of";
  CHECK(refusal() == "contract.unknown_value at dialect");
}

TEST_CASE("dialect: a window is positive or -1, which is unbounded") {
  Contract contract;
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-2}}) {
    CHECK(test::refusal_of([&] { state_window(contract, "n_swa", size, "--n-swa"); }) ==
          "contract.window at --n-swa");
  }
  CHECK(of("llama.cpp", -1).window == Window{-1, -1});
  CHECK(of("jax", -1).window == Window{-1, -1});
}
