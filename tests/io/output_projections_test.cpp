#include "gqa/io/output_projections.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <bit>

#include "gqa/io/safetensors.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

namespace fs = std::filesystem;

fs::path projections_path() {
  return fs::temp_directory_path() /
         ("gqa-projections-" + std::to_string(getpid()) + ".safetensors");
}

// [2, 2] of first, first + 1, ... in binary32.
TypedTensor matrix(float first) {
  TypedTensor tensor;
  tensor.type = ElementType::binary32;
  tensor.shape = {2, 2};
  for (int k = 0; k < 4; ++k) {
    const auto bits = std::bit_cast<std::array<std::byte, 4>>(first + static_cast<float>(k));
    tensor.bytes.insert(tensor.bytes.end(), bits.begin(), bits.end());
  }
  return tensor;
}

std::string projections_refusal(const SafetensorsFile& file) {
  write_safetensors(projections_path(), file);
  const std::string found = test::refusal_of([] { read_output_projections(projections_path()); });
  fs::remove(projections_path());
  return found;
}

}  // namespace

TEST_CASE("output projections: the layers of a safetensors file, in the order of their numbers") {
  SafetensorsFile file;
  for (int layer = 0; layer < 11; ++layer) {
    file.tensors["layer" + std::to_string(layer)] = matrix(static_cast<float>(10 * layer));
  }
  write_safetensors(projections_path(), file);
  const auto found = read_output_projections(projections_path());
  fs::remove(projections_path());
  REQUIRE(found.size() == 11);
  for (std::size_t layer = 0; layer < found.size(); ++layer) {
    CHECK(found[layer].shape() == Shape{2, 2});
    CHECK(found[layer].data()[0] == 10.0 * static_cast<double>(layer));
    CHECK(found[layer].data()[3] == 10.0 * static_cast<double>(layer) + 3);
  }
}

TEST_CASE("output projections: a missing layer and what is no matrix are refused by name") {
  const std::string at = " at " + projections_path().string() + ": tensor layer1";
  CHECK(projections_refusal({{}, {{"layer0", matrix(0)}, {"layer1", matrix(1)}}}) == "none");
  CHECK(projections_refusal({{}, {{"layer0", matrix(0)}, {"layer2", matrix(1)}}}) ==
        "checkpoint.layers" + at);
  CHECK(projections_refusal({{}, {{"layer0", matrix(0)}, {"Wo", matrix(1)}}}) ==
        "checkpoint.layers" + at);
  TypedTensor row = matrix(1);
  row.shape = {4};
  CHECK(projections_refusal({{}, {{"layer0", matrix(0)}, {"layer1", row}}}) ==
        "checkpoint.shape" + at);
}
