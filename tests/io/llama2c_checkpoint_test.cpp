#include "gqa/io/llama2c_checkpoint.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <vector>

#include "gqa/io/file.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

namespace fs = std::filesystem;

fs::path checkpoint_path() {
  return fs::temp_directory_path() / ("gqa-checkpoint-" + std::to_string(getpid()) + ".bin");
}

// dim 4, hidden 3, 2 layers, 2 heads on 1, vocabulary 5, 6 positions; every float is its index.
std::vector<std::int32_t> small_header() {
  return {4, 3, 2, 2, 1, 5, 6};
}

// By the arrays of run.c, each written out.
std::size_t small_floats() {
  const std::size_t embedding = 5 * 4, norms = 2 * 4, wq = 2 * 16, wk = 2 * 8, wv = 2 * 8,
                    wo = 2 * 16, ffn_norms = 2 * 4, w1 = 2 * 12, w2 = 2 * 12, w3 = 2 * 12,
                    final_norm = 4, rotary = 2 * (6 * 1);
  return embedding + norms + wq + wk + wv + wo + ffn_norms + w1 + w2 + w3 + final_norm + rotary;
}

void write(const std::vector<std::int32_t>& header, std::size_t floats) {
  std::vector<std::byte> bytes(4 * (header.size() + floats));
  std::memcpy(bytes.data(), header.data(), 4 * header.size());
  for (std::size_t k = 0; k < floats; ++k) {
    const auto value = static_cast<float>(k);
    std::memcpy(bytes.data() + 4 * (header.size() + k), &value, 4);
  }
  write_file_atomically(checkpoint_path(), std::span<const std::byte>(bytes));
}

std::string refusal(const std::vector<std::int32_t>& header, std::size_t floats) {
  write(header, floats);
  return test::refusal_of([] { read_llama2c_checkpoint(checkpoint_path()); });
}

}  // namespace

TEST_CASE("llama2.c checkpoint: the output projections lie behind Wv") {
  write(small_header(), small_floats());
  const Llama2cCheckpoint found = read_llama2c_checkpoint(checkpoint_path());
  fs::remove(checkpoint_path());
  CHECK(found.model_size == 4);
  CHECK(found.q_num_heads == 2);
  CHECK(found.kv_num_heads == 1);
  REQUIRE(found.output_projections.size() == 2);
  // 20 + 8 + 32 + 16 + 16 floats before them, 16 in each.
  CHECK(found.output_projections[0].data().front() == 92);
  CHECK(found.output_projections[0].data().back() == 107);
  CHECK(found.output_projections[1].data().front() == 108);
  CHECK(found.output_projections[1].shape() == Shape{4, 4});
}

TEST_CASE("llama2.c checkpoint: a negative vocabulary brings a classifier of its own") {
  std::vector<std::int32_t> header = small_header();
  header[5] = -5;
  CHECK(refusal(header, small_floats() + 20) == "none");
  CHECK(refusal(header, small_floats()) == "checkpoint.size at " + checkpoint_path().string());
  fs::remove(checkpoint_path());
}

TEST_CASE("llama2.c checkpoint: wrong sizes and headers are refused at the path") {
  const std::string at = " at " + checkpoint_path().string();
  CHECK(refusal(small_header(), small_floats()) == "none");
  CHECK(refusal(small_header(), small_floats() - 1) == "checkpoint.size" + at);
  CHECK(refusal(small_header(), small_floats() + 1) == "checkpoint.size" + at);
  CHECK(refusal({4, 3, 2}, 0) == "checkpoint.size" + at);
  for (std::size_t field = 0; field < 7; ++field) {
    CAPTURE(field);
    for (const std::int32_t bad : {0, (1 << 20) + 1}) {
      std::vector<std::int32_t> header = small_header();
      header[field] = bad;
      CHECK(refusal(header, small_floats()) == "checkpoint.header" + at);
    }
  }
  CHECK(refusal({4, 3, 2, 3, 1, 5, 6}, small_floats()) == "checkpoint.header" + at);
  CHECK(refusal({4, 3, 2, 2, 4, 5, 6}, small_floats()) == "checkpoint.header" + at);
  fs::remove(checkpoint_path());
}
