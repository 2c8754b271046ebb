// What somebody may have meant, and where inputs are no numbers.
#include "gqa/near_words.hpp"

#include <doctest/doctest.h>

#include <array>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/attention/not_finite.hpp"
#include "support/numbers.hpp"

using namespace gqa;
using gqa::test::infinity;
using gqa::test::not_a_number;

namespace {

using Strings = std::vector<std::string>;
constexpr std::array<std::string_view, 5> flags{"--causal", "--kv-heads", "--kernel", "--max-ulp",
                                                "--model"};

}  // namespace

TEST_CASE("near words: the distance counts insertions, deletions, replacements and exchanges") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("audit", "audit") == 0);
  CHECK(edit_distance("adit", "audit") == 1);
  CHECK(edit_distance("aaudit", "audit") == 1);
  CHECK(edit_distance("augit", "audit") == 1);
  CHECK(edit_distance("audti", "audit") == 1);  // two replacements, or one exchange
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("near words: spelling does not tell words apart") {
  CHECK(plain_spelling("--KV_Heads") == "kvheads");
  CHECK(near_words("--kv_heads", flags) == Strings{"--kv-heads"});
}

TEST_CASE("near words: slips and parts are found, the nearest first, and nothing else") {
  CHECK(near_words("--casual", flags) == Strings{"--causal"});
  CHECK(near_words("--max", flags) == Strings{"--max-ulp"});
  CHECK(near_words("--modle", flags) == Strings{"--model"});
  CHECK(near_words("--frobnicate", flags).empty());
  CHECK(near_words("", flags).empty());
  CHECK(near_words("x", flags).empty());
  constexpr std::array<std::string_view, 3> words{"tf32", "f32", "f64"};
  CHECK(near_words("f23", words) == Strings{"f32"});
}

TEST_CASE("near words: the message asks, and lists the others") {
  constexpr std::array<std::string_view, 3> words{"gmp", "boost", "none"};
  CHECK(unknown_word("gpm", words) ==
        "\"gpm\" is not known; did you mean gmp? The others are boost, none");
  CHECK(unknown_word("zzzz", words) == "\"zzzz\" is not known; write one of gmp, boost, none");
  CHECK(did_you_mean({"a", "b", "c"}) == "did you mean a, b or c?");
  CHECK(did_you_mean({}) == "");
}

TEST_CASE("not finite: the first element that is no number, by its index, and how many there are") {
  ProblemTensors tensors;
  const std::array<double, 12> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  auto query = numbers;
  query[7] = infinity;
  auto key = numbers;
  key[2] = not_a_number;
  key[11] = -infinity;
  tensors.query = encoded_tensor(ElementType::binary16, {1, 2, 3, 2}, query);
  tensors.key = encoded_tensor(ElementType::binary32, {1, 3, 2, 2}, key);
  tensors.value = encoded_tensor(ElementType::binary32, {1, 3, 2, 2}, numbers);
  // Hidden keys are no mistake.
  tensors.attn_mask = encoded_tensor(ElementType::binary32, {1, 1, 1, 1}, std::array{-infinity});
  CHECK(
      not_finite_inputs(tensors) ==
      Strings{"query[0,1,0,1] is inf", "key[0,0,1,0] is nan, the first of 2 that are no numbers"});
}
