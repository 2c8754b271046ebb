#include "gqa/io/recording.hpp"

#include <doctest/doctest.h>

#include "gqa/io/file.hpp"
#include "gqa/io/safetensors.hpp"
#include "io/io_support.hpp"
#include "support/typed.hpp"

using namespace gqa;

namespace {

SafetensorsFile good_file() {
  SafetensorsFile file;
  for (const char* name : {"query", "key", "value", "output"}) {
    file.tensors[name] = *test::counting(ElementType::binary32, {1, 1, 2, 1});
  }
  return file;
}

std::string refusal(const SafetensorsFile& file) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "r.safetensors";
  write_safetensors(path, file);
  const InputError error = test::error_of([&] { read_recording(path); });
  std::string where = error.where();
  if (where.starts_with(path.string())) where = "FILE" + where.substr(path.string().size());
  return error.code() + " at " + where;
}

Recording read(const SafetensorsFile& file) {
  const test::TemporaryDirectory directory;
  write_safetensors(directory / "r.safetensors", file);
  return read_recording(directory / "r.safetensors");
}

}  // namespace

TEST_CASE("recording: tensors are found by their names, absent ones are null") {
  SafetensorsFile file = good_file();
  file.tensors["sink"] = *test::counting(ElementType::binary32, {1});
  const Recording recording = read(file);
  REQUIRE(recording.tensors.query != nullptr);
  CHECK(recording.tensors.query->shape == Shape{1, 1, 2, 1});
  CHECK(recording.tensors.sink->size() == 1);
  CHECK(recording.tensors.attn_mask == nullptr);
  CHECK_FALSE(recording.contract.causal);
}

TEST_CASE("recording: q, k, v and o are short for query, key, value and output") {
  SafetensorsFile file;
  for (const char* name : {"q", "k", "v", "o"}) {
    file.tensors[name] = *test::counting(ElementType::binary32, {1, 1, 2, 1});
  }
  const ProblemTensors tensors = read(file).tensors;
  CHECK(tensors.query != nullptr);
  CHECK(tensors.key != nullptr);
  CHECK(tensors.value != nullptr);
  CHECK(tensors.output != nullptr);
}

TEST_CASE("recording: the contract comes from the metadata key attention") {
  SafetensorsFile file = good_file();
  file.metadata["attention"] = R"({"causal": true, "window": [1, 0]})";
  file.metadata["source"] = "not read";
  const Contract contract = read(file).contract;
  CHECK(contract.causal);
  CHECK(contract.window == Window{1, 0});
}

TEST_CASE("recording: a tensor of another name, or under two names, is refused") {
  SafetensorsFile file = good_file();
  file.tensors["outputs"] = file.tensors["output"];
  CHECK(refusal(file) == "recording.unknown_tensor at FILE: outputs");
  file = good_file();
  file.tensors["q"] = file.tensors["query"];
  CHECK(refusal(file) == "recording.tensor_stated_twice at FILE: query");
}

TEST_CASE("recording: a contract that is not one is refused at the metadata") {
  SafetensorsFile file = good_file();
  file.metadata["attention"] = R"({"causal": 1})";
  CHECK(refusal(file) == "contract.field_type at FILE: metadata attention: causal");
  file.metadata["attention"] = R"({"causl": true})";
  CHECK(refusal(file) == "contract.unknown_field at FILE: metadata attention: causl");
  file.metadata["attention"] = "{";
  CHECK(refusal(file) == "json.syntax at FILE: metadata attention");
  file.metadata["attention"] = "";
  CHECK(refusal(file) == "json.syntax at FILE: metadata attention");
  file.metadata["attention"] = R"({"causal": true, "causal": false})";
  CHECK(refusal(file) == "json.duplicate_key at FILE: metadata attention: causal");
}

TEST_CASE("recording: a missing file and an empty one are refused at the path") {
  const test::TemporaryDirectory directory;
  const auto missing = directory / "missing.safetensors";
  InputError error = test::error_of([&] { read_recording(missing); });
  CHECK(error.code() == "file.not_found");
  CHECK(error.where() == missing.string());
  const auto empty = directory / "empty.safetensors";
  write_file_atomically(empty, std::string_view());
  error = test::error_of([&] { read_recording(empty); });
  CHECK(error.code() == "safetensors.truncated");
  CHECK(error.where() == empty.string());
}
