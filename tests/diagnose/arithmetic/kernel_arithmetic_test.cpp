// Kernels whose arithmetic is known: every entry that is read must be what the kernel's options
// say.
#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gqa/diagnose/probes/kernel_probes.hpp"
#include "kernel/kernel_support.hpp"

namespace gqa::test {
namespace {

using Entries = std::map<std::string, std::string>;

// What every double does unless its options say otherwise (arithmetic_kernel.c): binary32, one
// running maximum over tiles of 64, all else one rounding at a time.
Entries default_entries(ElementType type) {
  const bool single = type == ElementType::binary32;
  const std::string word(name(type));
  return {{"sums over keys", "sequential"},
          {"tile of keys", "64 keys"},
          {"maximum of the scores", "tile by tile"},
          {"splits of the keys", "1"},
          {"merge of the splits", "none"},
          {"accumulator over keys", "24 bits (binary32)"},
          {"rounding over keys", "to nearest, ties to even"},
          {"sums over dk", "sequential"},
          {"accumulator over dk", "24 bits (binary32)"},
          {"rounding over dk", "to nearest, ties to even"},
          {"products q k", single ? "rounded first" : ""},
          {"operands q, k", word + ", as given"},
          {"stored scores", type == ElementType::binary16 ? "at least 13 bits" : "binary32"},
          {"exponential", "binary32"},
          {"stored weights", "binary32"},
          {"place of the scale", "on the score"},
          {"base of the exponential", "e"},
          {"division by the sum", "after the sums over keys"},
          {"kind of division", "division"},
          {"subnormal outputs", "kept"},
          {"subnormal values", "kept"}};
}

struct KnownDouble {
  ElementType type;
  std::string options;
  Entries differs;                ///< from the default
  std::vector<std::string> open;  ///< may name several answers, or none; for the reason beside it
};

// In calls of `rows` query rows, or of one and of 64 (0).
KernelArithmetic read_double(const KnownDouble& kernel, std::int64_t rows) {
  KernelLimits limits;
  limits.seconds = 60;
  KernelHost host = load_kernel("arithmetic", limits);
  host.configure(kernel.options);
  ExperimentLimits experiments = experiment_limits(host.capabilities());
  experiments.rows = rows;
  return read_arithmetic(kernel_runner(host, kernel.type), kernel.type, experiments);
}

std::string table_of(const KernelArithmetic& read) {
  std::string text;
  for (const ArithmeticEntry& entry : read.entries) {
    text += fmt::format("  {}: {} [{}] {}\n", entry.entry, fmt::join(entry.values, " | "),
                        name(entry.status), entry.note);
  }
  return text;
}

// Wrong is an answer without the truth; where one answer is due, several are wrong as well.
void check(const KnownDouble& kernel, std::int64_t rows = 1) {
  const KernelArithmetic read = read_double(kernel, rows);
  CAPTURE(kernel.options);
  CAPTURE(name(kernel.type));
  CAPTURE(table_of(read));
  CHECK(read.reason.empty());
  CHECK(read.calls <= 60);
  Entries truth = default_entries(kernel.type);
  for (const auto& [entry, value] : kernel.differs) truth[entry] = value;
  CHECK(read.entries.size() == truth.size());
  for (const auto& [entry, value] : truth) {
    CAPTURE(entry);
    CAPTURE(value);
    const ArithmeticEntry* found = read.find(entry);
    REQUIRE(found != nullptr);
    const bool holds_truth = std::ranges::find(found->values, value) != found->values.end();
    const bool may_be_open = std::ranges::find(kernel.open, entry) != kernel.open.end();
    if (value.empty() || found->status == ReadingStatus::not_identifiable) {
      CHECK(found->values.empty());
      CHECK((value.empty() || may_be_open));
      continue;
    }
    CHECK(holds_truth);
    if (!may_be_open) CHECK(found->status == ReadingStatus::known);
  }
}

constexpr ElementType b32 = ElementType::binary32;
constexpr ElementType b16 = ElementType::binary16;
constexpr ElementType bf16 = ElementType::bfloat16;

TEST_CASE("arithmetic: orders over keys, tiles and splits of kernels in binary32 are read off") {
  check({b32, "tile=1", {{"tile of keys", "1 keys"}}, {}});
  check({b32,
         "tile=16,scale=query,dk=halves8",
         {{"tile of keys", "16 keys"},
          {"place of the scale", "on q"},
          {"sums over dk", "8 lanes, merged in halves"}},
         {}});
  check({b32,
         "tile=32,keys=pairwise,dk=pairwise",
         {{"tile of keys", "32 keys"},
          {"sums over keys", "pairwise"},
          {"sums over dk", "pairwise"},
          {"products q k", ""}},
         {}});
  check({b32,
         "tile=32,keys=tile_sum,dk=lanes8,scale=both,fused=1,dk_fused=1",
         {{"tile of keys", "32 keys"},
          {"sums over keys", "sequential in each tile, then the tile's sum"},
          {"sums over dk", "8 lanes, merged in neighbours"},
          {"products q k", "fused into the sum"},
          {"place of the scale", "its square root on q and k"}},
         {}});
  check({b32,
         "tile=128,keys=lanes8,accumulator=f32z",
         {{"tile of keys", "128 keys"},
          {"sums over keys", "8 lanes, merged in neighbours"},
          {"rounding over keys", "toward zero"}},
         {}});
  check({b32,
         "eager=1,tile=0,keys=pairwise",
         {{"tile of keys", "none"},
          {"maximum of the scores", "of whole rows"},
          {"sums over keys", "pairwise"},
          {"division by the sum", "before: weights are normalised"},
          {"kind of division", ""}},
         {}});
}

TEST_CASE("arithmetic: TF32 operands and fused blocks of matrix units are read off") {
  check({b32,
         "tile=64,splits=4,operands=tf32,stored=tf32,reciprocal=1",
         {{"splits of the keys", "4"},
          {"merge of the splits", "in order"},
          {"operands q, k", "11 bits (TF32 or binary16)"},
          {"stored weights", "TF32"},
          {"products q k", ""},
          {"kind of division", "times the reciprocal"}},
         {}});
  check({b32,
         "keys=block8,dk=block8,operands=tf32,stored=tf32,exp=two,scale=exponent,reciprocal=1",
         {{"sums over keys", "fused blocks of 8"},
          {"sums over dk", "fused blocks of 8"},
          {"rounding over keys", "toward zero"},
          {"rounding over dk", "toward zero"},
          {"operands q, k", "11 bits (TF32 or binary16)"},
          {"stored weights", "TF32"},
          {"products q k", ""},
          {"place of the scale", "with log2 e in the exponent"},
          {"base of the exponential", "2"},
          {"kind of division", "times the reciprocal"}},
         {}});
  check({b32,
         "tile=16,keys=pairwise,splits=4,tree=1,operands=bf16,stored=bf16,scale=query,dk=lanes4",
         {{"tile of keys", "16 keys"},
          {"sums over keys", "pairwise"},
          {"splits of the keys", "4"},
          {"merge of the splits", "as a tree"},
          {"operands q, k", "8 bits (bfloat16)"},
          {"stored weights", "bfloat16"},
          {"products q k", ""},
          {"place of the scale", "on q"},
          {"sums over dk", "4 lanes, merged in neighbours"}},
         {}});
}

TEST_CASE("arithmetic: the habits of kernels in bfloat16 are read off") {
  check(
      {bf16,
       "stored=bf16,accumulator=f32z,dk_accumulator=f32z,exp=two,scale=exponent,fused=1,dk_fused=1",
       {{"stored weights", "bfloat16"},
        {"rounding over keys", "toward zero"},
        {"rounding over dk", "toward zero"},
        {"place of the scale", "with log2 e in the exponent"},
        {"base of the exponential", "2"}},
       {}});
  check({bf16,
         "stored=bf16,tile=32,splits=8,tree=1,exp=two",
         {{"stored weights", "bfloat16"},
          {"tile of keys", "32 keys"},
          {"splits of the keys", "8"},
          {"merge of the splits", "as a tree"},
          {"base of the exponential", "2"}},
         {}});
  check({bf16,
         "stored=bf16,eager=1,tile=0,score=bf16",
         {{"stored weights", "bfloat16"},
          {"tile of keys", "none"},
          {"maximum of the scores", "of whole rows"},
          {"stored scores", "8 bits (bfloat16)"},
          {"division by the sum", "before: weights are normalised"},
          {"kind of division", ""}},
         // Scores of eight bits hide it.
         {"base of the exponential"}});
  // Weights of four bits hide the base and whether the scale is folded into it.
  check({bf16,
         "stored=e4m3,tile=128,keys=block16,dk=block16,exp=two,scale=exponent",
         {{"stored weights", "float8_e4m3fn"},
          {"tile of keys", "128 keys"},
          {"sums over keys", "fused blocks of 16"},
          {"sums over dk", "fused blocks of 16"},
          {"rounding over keys", "toward zero"},
          {"rounding over dk", "toward zero"},
          {"place of the scale", "with log2 e in the exponent"},
          {"base of the exponential", "2"}},
         {"place of the scale", "base of the exponential"}});
}

TEST_CASE("arithmetic: the habits of kernels in binary16 are read off") {
  check({b16,
         "stored=f16,tile=128,exp=two,scale=exponent,fused=1,dk_fused=1",
         {{"stored weights", "binary16"},
          {"tile of keys", "128 keys"},
          {"place of the scale", "with log2 e in the exponent"},
          {"base of the exponential", "2"}},
         {}});
  check({b16,
         "stored=f16,tile=64,splits=2,keys=pairwise,accumulator=f16,dk=lanes8",
         {{"stored weights", "binary16"},
          {"sums over keys", "pairwise"},
          {"splits of the keys", "2"},
          {"merge of the splits", "one merge of two"},
          {"accumulator over keys", "11 bits (binary16)"},
          {"sums over dk", "8 lanes, merged in neighbours"}},
         // Sums of 11 bits are no ties.
         {"kind of division"}});
  check({b16,
         "stored=f16,exp=binary16",
         {{"stored weights", "binary16"}, {"exponential", "binary16"}},
         {}});
  // Weights in binary32 hold every exponential of two scores of binary16.
  check({b16,
         "",
         {},
         {"tile of keys", "maximum of the scores", "division by the sum", "kind of division"}});
  // Flushed outputs hide the counts, which are subnormal, and where TF32 differs from binary16.
  check({b16,
         "stored=f16,flushes=1",
         {{"stored weights", "binary16"},
          {"subnormal outputs", "flushed to zero"},
          {"subnormal values", ""}},
         {"stored weights", "sums over keys", "tile of keys", "maximum of the scores",
          "splits of the keys", "merge of the splits", "accumulator over keys",
          "rounding over keys"}});
}

TEST_CASE("arithmetic: what a kernel does for one query row and for many is told of each") {
  // As llama.cpp on the CPU: decoding splits the keys, blocks of queries take tiles of their own.
  const KernelArithmetic read = read_double({b32, "decode_splits=4,prefill_tile=16", {}, {}}, 0);
  CAPTURE(table_of(read));
  CHECK(read.query_rows == std::vector<std::int64_t>{1, 64});
  const auto values = [&read](const std::string& entry) {
    const ArithmeticEntry* found = read.find(entry);
    return found == nullptr ? std::vector<std::string>{} : found->values;
  };
  using Words = std::vector<std::string>;
  CHECK(values("splits of the keys (1 query row)") == Words{"4"});
  CHECK(values("splits of the keys (64 query rows)") == Words{"1"});
  CHECK(values("tile of keys (1 query row)") == Words{"64 keys"});
  CHECK(values("tile of keys (64 query rows)") == Words{"16 keys"});
  CHECK(values("sums over keys") == Words{"sequential"});
  CHECK(values("place of the scale") == Words{"on the score"});
  CHECK(read.find("tile of keys") == nullptr);
}

TEST_CASE("arithmetic: one table where one query row and many go one way") {
  check({b32,
         "tile=32,stored=f16",
         {{"tile of keys", "32 keys"}, {"stored weights", "binary16"}},
         {}},
        0);
}

TEST_CASE("arithmetic: a way for odd head sizes alone is not taken for the kernel's") {
  // llama.cpp has one where dv is no multiple of its vector length.
  check({b32, "odd_tile=8", {}, {}});
}

TEST_CASE("arithmetic: it is read of kernels that break rules, not of ones that break attention") {
  struct Sample {
    const char* fault;
    bool is_read;
  };
  for (const Sample& sample : {Sample{"mask.empty_row_nan", true}, Sample{"window.one_wide", true},
                               Sample{"softmax.binary16_sum", true}, Sample{"scale.twice", false},
                               Sample{"head_map.tiled", false}}) {
    CAPTURE(sample.fault);
    KernelHost host = load_kernel("faulty");
    host.configure(sample.fault);
    const ProbeRunner runner = kernel_runner(host, b32);
    ExperimentLimits limits = experiment_limits(host.capabilities());
    limits.rows = 1;
    const KernelArithmetic read = read_arithmetic(run_probes(runner, b32), runner, limits);
    CAPTURE(read.reason);
    CAPTURE(table_of(read));
    CHECK(read.entries.empty() != sample.is_read);
    CHECK(read.reason.empty() == sample.is_read);
    if (std::string(sample.fault) == "softmax.binary16_sum") {
      CHECK(read.find("accumulator over keys")->values ==
            std::vector<std::string>{"11 bits (binary16)"});
    }
  }
}

TEST_CASE("arithmetic: a kernel that refuses everything, and a type that is not read, say so") {
  const ProbeRunner refuses = [](const Probe&) {
    ProbeAnswer answer;
    answer.supported = false;
    return answer;
  };
  const KernelArithmetic refused = read_arithmetic(refuses, b32);
  CHECK(refused.entries.empty());
  CHECK(refused.reason == "the kernel refused every small problem without a rule");
  const KernelArithmetic wide = read_arithmetic(refuses, ElementType::binary64);
  CHECK(wide.entries.empty());
  CHECK(wide.calls == 0);
}

TEST_CASE("arithmetic: a kernel that answers nonsense is not identifiable, and never known") {
  const ProbeRunner nonsense = [](const Probe& probe) {
    ProbeAnswer answer;
    TypedTensor output = *probe.tensors.query;
    output.shape[3] = probe.tensors.value->shape[3];
    output.bytes.assign(static_cast<std::size_t>(element_count(output.shape)) * 4, std::byte{0x3f});
    answer.output = std::make_shared<TypedTensor>(std::move(output));
    return answer;
  };
  const KernelArithmetic read = read_arithmetic(nonsense, b32);
  CAPTURE(table_of(read));
  for (const char* entry : {"sums over keys", "splits of the keys", "sums over dk",
                            "stored weights", "place of the scale", "subnormal outputs"}) {
    CHECK(read.find(entry)->status == ReadingStatus::not_identifiable);
  }
}

}  // namespace
}  // namespace gqa::test
