// Which reader a path gets, what a folder of recordings is, and what is refused.
#include "gqa/io/recordings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "gqa/io/file.hpp"
#include "gqa/io/safetensors.hpp"
#include "io/io_support.hpp"
#include "io/npy_support.hpp"
#include "io/onnx_support.hpp"

using namespace gqa;
using namespace gqa::test;
namespace fs = std::filesystem;

namespace {

// 1 x 1 x 1 x 1, holding `value`.
std::string small_npy(float value = 1) {
  return npy(npy_dictionary("<f4", "(1, 1, 1, 1)"),
             little_endian(std::bit_cast<std::uint32_t>(value), 4));
}

std::string small_pb(const std::string& name, float value = 1) {
  return pb::tensor({1, 1, 1, 1}, 1, pb::bytes(8, name) + pb::binary32(4, value));
}

SafetensorsFile small_safetensors() {
  SafetensorsFile file;
  for (const char* name : {"q", "k", "v", "o"}) {
    file.tensors[name] = TypedTensor{ElementType::binary32, {1, 1, 1, 1}, to_bytes("\1\2\3\4")};
  }
  file.metadata["attention"] = R"({"causal":true})";
  return file;
}

void write_npy_directory(const fs::path& directory) {
  fs::create_directory(directory);
  for (const char* name : {"query", "key", "value", "output"}) {
    write_file_atomically(directory / (std::string(name) + ".npy"), small_npy());
  }
}

void write_data_set(const fs::path& directory, float query) {
  fs::create_directory(directory);
  write_file_atomically(directory / "input_0.pb", small_pb("Q", query));
  write_file_atomically(directory / "input_1.pb", small_pb("K"));
  write_file_atomically(directory / "input_2.pb", small_pb("V"));
  write_file_atomically(directory / "output_0.pb", small_pb("Y"));
}

void write_backend_test(const fs::path& directory) {
  fs::create_directory(directory);
  write_file_atomically(directory / "model.onnx", ModelText().bytes());
  write_data_set(directory / "test_data_set_0", 1);
}

std::vector<std::string> names_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return names;
}

template <class Action>
void check_error(Action action, const std::string& code, const fs::path& where) {
  const InputError error = error_of(action);
  CAPTURE(error.what());
  CHECK(error.code() == code);
  CHECK(error.where() == where.string());
}

}  // namespace

TEST_CASE("recordings: every kind is read through the same door") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "a.safetensors", small_safetensors());
  std::vector<ZipEntry> entries;
  for (const char* name : {"q.npy", "k.npy", "v.npy", "o.npy"}) {
    entries.push_back(ZipEntry::of(name, small_npy()));
  }
  write_file_atomically(directory / "b.npz", zip(entries));
  write_npy_directory(directory / "c");
  write_backend_test(directory / "d");
  const std::vector<fs::path> found = find_recordings(directory / "");
  CHECK(names_of(found) == std::vector<std::string>{"a.safetensors", "b.npz", "c", "d"});
  for (const fs::path& path : found) {
    CAPTURE(path.string());
    CHECK(find_recordings(path) == std::vector<fs::path>{path});
    const std::vector<Recording> recordings = read_recordings(path);
    REQUIRE(recordings.size() == 1);
    const Recording& recording = recordings.front();
    const bool backend_test = path.filename() == "d";
    CHECK(recording.path == (backend_test ? path / "test_data_set_0" : path).string());
    CHECK(recording.contract.causal == (path.extension() == ".safetensors"));
    for (const auto& tensor : {recording.tensors.query, recording.tensors.key,
                               recording.tensors.value, recording.tensors.output}) {
      REQUIRE(tensor);
      CHECK(tensor->shape == Shape{1, 1, 1, 1});
    }
  }
}

TEST_CASE("recordings: other files and hidden names beside recordings are left alone") {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "README.md", "words");
  write_npy_directory(directory / "case");
  write_npy_directory(directory / ".hidden");
  write_file_atomically(directory / "case" / ".DS_Store", "x");
  CHECK(names_of(find_recordings(directory / "")) == std::vector<std::string>{"case"});
  CHECK(read_recordings(directory / "case").size() == 1);
}

TEST_CASE("recordings: an unknown kind is an error, and so is a folder without any") {
  const TemporaryDirectory directory;
  const fs::path text = directory / "notes.txt";
  write_file_atomically(text, "words");
  check_error([&] { find_recordings(text); }, "recording.unknown_kind", text);
  check_error([&] { read_recordings(text); }, "recording.unknown_kind", text);
  const fs::path empty = directory / "empty";
  fs::create_directory(empty);
  check_error([&] { find_recordings(empty); }, "recording.none_found", empty);
  check_error([&] { read_recordings(empty); }, "recording.unknown_kind", empty);
  const fs::path missing = directory / "missing";
  check_error([&] { find_recordings(missing); }, "file.not_found", missing);
  check_error([&] { read_recordings(missing); }, "file.not_found", missing);
  // A case that is not recognised must not be passed over.
  write_npy_directory(directory / "case");
  check_error([&] { find_recordings(directory / ""); }, "recording.unknown_kind", empty);
}

TEST_CASE("recordings: a directory of .npy files holds nothing else") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "case";
  write_npy_directory(path);
  write_file_atomically(path / "notes.txt", "words");
  check_error([&] { read_recordings(path); }, "recording.unexpected_file", path / "notes.txt");
  fs::remove(path / "notes.txt");
  write_file_atomically(path / "weights.npy", small_npy());
  const InputError unknown = error_of([&] { read_recordings(path); });
  CHECK(unknown.code() == "recording.unknown_tensor");
  CHECK(unknown.where() == path.string() + ": weights");
  fs::rename(path / "weights.npy", path / "q.npy");
  const InputError twice = error_of([&] { read_recordings(path); });
  CHECK(twice.code() == "recording.tensor_stated_twice");
  CHECK(twice.where() == path.string() + ": query");
}

TEST_CASE("recordings: further outputs have slots, qk_matmul_output with its mode") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "case";
  write_npy_directory(path);
  for (const char* name : {"present_key", "present_value", "qk_matmul_output", "lse"}) {
    write_file_atomically(path / (std::string(name) + ".npy"), small_npy());
  }
  CHECK(read_recordings(path).front().tensors.qk_matmul_output_mode == 0);
  const fs::path mode = path / "qk_matmul_output_mode.npy";
  write_file_atomically(mode, npy(npy_dictionary("<i8", "()"), little_endian(3, 8)));
  const ProblemTensors tensors = read_recordings(path).front().tensors;
  CHECK(tensors.qk_matmul_output_mode == 3);
  CHECK((tensors.present_key && tensors.present_value && tensors.qk_matmul_output && tensors.lse));
  for (const std::string& bad : {npy(npy_dictionary("<i8", "()"), little_endian(4, 8)),
                                 npy(npy_dictionary("<i8", "(2,)"), little_endian(1, 16)),
                                 npy(npy_dictionary("<f8", "()"), little_endian(0, 8))}) {
    write_file_atomically(mode, bad);
    const InputError error = error_of([&] { read_recordings(path); });
    CHECK(error.code() == "recording.qk_matmul_output_mode");
    CHECK(error.where() == path.string() + ": qk_matmul_output_mode");
  }
}

TEST_CASE("backend test: data sets are read in the order of their numbers") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "case";
  write_backend_test(path);
  write_data_set(path / "test_data_set_10", 10);
  write_data_set(path / "test_data_set_2", 2);
  const std::vector<Recording> recordings = read_recordings(path);
  REQUIRE(recordings.size() == 3);
  const std::vector<double> expected{1, 2, 10};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(decode(*recordings[i].tensors.query).data().front() == expected[i]);
  }
}

TEST_CASE("backend test: files too many, too few or of another name are refused by path") {
  const TemporaryDirectory directory;
  const fs::path path = directory / "case";
  write_backend_test(path);
  const fs::path data_set = path / "test_data_set_0";
  for (const char* name : {"input_3.pb", "output_1.pb", "notes.txt", "input_00.pb"}) {
    write_file_atomically(data_set / name, small_pb("Z"));
    check_error([&] { read_recordings(path); }, "backend_test.unexpected_file", data_set / name);
    fs::remove(data_set / name);
  }
  write_file_atomically(data_set / "input_1.pb", small_pb("V"));
  check_error([&] { read_recordings(path); }, "backend_test.name_mismatch",
              data_set / "input_1.pb: name");
  write_file_atomically(data_set / "input_1.pb", small_pb(""));  // nameless is right too
  CHECK(read_recordings(path).size() == 1);
  write_file_atomically(data_set / "input_1.pb", "\xff");
  check_error([&] { read_recordings(path); }, "onnx.syntax", data_set / "input_1.pb");
  fs::remove(data_set / "input_1.pb");
  check_error([&] { read_recordings(path); }, "file.not_found", data_set / "input_1.pb");
  fs::remove_all(data_set);
  check_error([&] { read_recordings(path); }, "backend_test.no_data_sets", path);
}

TEST_CASE("recordings: a link that leads nowhere is one case, and its neighbours are others") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "a.safetensors", small_safetensors());
  fs::create_symlink("nowhere", directory / "b.safetensors");
  fs::create_symlink("c.npz", directory / "c.npz");  // to itself
  fs::create_symlink("nowhere", directory / "notes.txt");
  const std::vector<fs::path> found = find_recordings(directory / ".");
  CHECK(names_of(found) == std::vector<std::string>{"a.safetensors", "b.safetensors", "c.npz"});
  CHECK(refusal_of([&] { read_recordings(found[1]); }).starts_with("file.not_found at "));
  CHECK(refusal_of([&] { read_recordings(found[2]); }).starts_with("file.unreadable at "));
}

TEST_CASE("recordings: suffixes in capitals are looked at") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "A.SafeTensors", small_safetensors());
  CHECK(names_of(find_recordings(directory / ".")) == std::vector<std::string>{"A.SafeTensors"});
  CHECK(read_recordings(directory / "A.SafeTensors").size() == 1);
}
