// Which tensor of a file is which: names in use, prefixes, what somebody states.
#include "gqa/io/tensor_slots.hpp"

#include <doctest/doctest.h>

#include "gqa/error.hpp"
#include "io/io_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

std::map<std::string, TypedTensor> file_with(const std::vector<std::string>& names) {
  std::map<std::string, TypedTensor> tensors;
  for (const std::string& name : names) {
    tensors[name] = TypedTensor{ElementType::binary32, {1}, to_bytes("\1\2\3\4")};
  }
  return tensors;
}

std::vector<std::string> prefixes_of(const std::vector<PrefixedTensors>& recordings) {
  std::vector<std::string> prefixes;
  for (const PrefixedTensors& recording : recordings) prefixes.push_back(recording.prefix);
  return prefixes;
}

std::string slots_refusal(const std::vector<std::string>& names, const TensorChoice& choice = {}) {
  const InputError error = error_of([&] { assign_tensors(file_with(names), "FILE", choice); });
  return error.code() + " at " + error.where();
}

}  // namespace

TEST_CASE("tensor names: the words of frameworks mean the tensors, in capitals too") {
  CHECK(contract_name("Q") == "query");
  CHECK(contract_name("key_states") == "key");
  CHECK(contract_name("V_PROJ") == "value");
  CHECK(contract_name("attn_output") == "output");
  CHECK(contract_name("padding_mask") == "padding_mask");
  // A hook on the output projection records what comes behind it; a weight is no tensor of
  // attention.
  CHECK(contract_name("o_proj") == "");
  CHECK(contract_name("weight") == "");
  CHECK(contract_name("") == "");
}

TEST_CASE("tensor names: a prefix makes a recording, in the order of people") {
  const auto recordings =
      assign_tensors(file_with({"layers.10.q", "layers.2.q_proj", "layers.2.key", "layer_3_v",
                                "block7/out", "Qcur-3"}),
                     "FILE");
  CHECK(prefixes_of(recordings) ==
        std::vector<std::string>{"3", "block7", "layer_3", "layers.2", "layers.10"});
  CHECK(recordings[0].tensors.query);
  CHECK(recordings[1].tensors.output);
  CHECK(recordings[2].tensors.value);
  CHECK(recordings[3].tensors.query);
  CHECK(recordings[3].tensors.key);
  CHECK(recordings[4].tensors.query);
}

TEST_CASE("tensor names: what has no prefix belongs to all recordings, unless it is one") {
  auto recordings = assign_tensors(file_with({"a.q", "b.q", "sink"}), "FILE");
  CHECK(prefixes_of(recordings) == std::vector<std::string>{"a", "b"});
  CHECK(recordings[0].tensors.sink);
  CHECK(recordings[1].tensors.sink);
  recordings = assign_tensors(file_with({"a.q", "q", "sink"}), "FILE");
  CHECK(prefixes_of(recordings) == std::vector<std::string>{"", "a"});
  CHECK(!recordings[1].tensors.sink);
}

TEST_CASE("tensor names: what is stated wins, with the prefix or without") {
  TensorChoice choice;
  choice.named["output"] = "mine";
  choice.left_out = {"junk"};
  auto recordings =
      assign_tensors(file_with({"l.1.mine", "l.2.mine", "l.1.junk", "junk"}), "FILE", choice);
  CHECK(prefixes_of(recordings) == std::vector<std::string>{"l.1", "l.2"});
  CHECK(recordings[0].tensors.output);
  CHECK(recordings[1].tensors.output);
  CHECK(slots_refusal({"other"}, choice) == "recording.no_such_tensor at --tensor output=mine");
}

TEST_CASE("tensor names: unknown and doubled names are refused, with what the file holds") {
  CHECK(slots_refusal({"outputs"}) == "recording.unknown_tensor at FILE: outputs");
  CHECK(slots_refusal({"a.b.odd"}) == "recording.unknown_tensor at FILE: a.b.odd");
  CHECK(slots_refusal({"q", "query"}) == "recording.tensor_stated_twice at FILE: query");
  CHECK(slots_refusal({"padding_mask"}) == "contract.shape_rank at FILE: padding_mask");
  const InputError error = error_of([] { assign_tensors(file_with({"q", "odd"}), "FILE"); });
  CHECK(error.message().find("the file holds odd [1] binary32, q [1] binary32") !=
        std::string::npos);
}

TEST_CASE("tensor names: a padding mask of two axes stands over all heads and rows") {
  std::map<std::string, TypedTensor> tensors;
  tensors["padding_mask"] = TypedTensor{ElementType::boolean, {2, 3}, to_bytes("\1\1\1\1\1\1")};
  const auto recordings = assign_tensors(std::move(tensors), "FILE");
  REQUIRE(recordings.size() == 1);
  REQUIRE(recordings[0].tensors.attn_mask);
  CHECK(recordings[0].tensors.attn_mask->shape == Shape{2, 1, 1, 3});
}
