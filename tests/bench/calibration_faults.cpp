// The smallest faults against the likely bound: how many times it they reach.
//
// usage: calibration_faults [SEED [Q_HEADS KV_HEADS QUERIES KEYS]]
// For every preset and kind of inputs, S visible keys from 16 to 16384 in steps of four (or KEYS
// alone), d = 128, Hq=8 Hkv=2 T=64 unless given. The fault's own output, otherwise exact, is
// rounded to the preset's 16, 32 or 64 bits and divided by the bound, element by element:
//   newest missing     the last key is missing in all rows,
//   heaviest missing   each row misses the key with its largest weight,
//   window + 1         a window of S keys is one key too wide,
//   sink dropped       a sink of logit zero is left out of the denominator.
// Printed are the largest ratio of the tensor and, after it, the median over its rows of each
// row's largest. A fault is refuted where the first exceeds 1.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <vector>

#include "calibration_inputs.hpp"
#include "gqa/audit/filter/filter_bias.hpp"
#include "gqa/audit/filter/rounding_rows.hpp"

namespace {

using namespace gqa;
using gqa_bench::Inputs;

constexpr std::int64_t width = 128;

struct Sizes {
  std::int64_t q_heads = 8, kv_heads = 2, queries = 64, keys = 0;  // keys: S, seen by every row
};

std::shared_ptr<TypedTensor> encoded(ElementType type, const Shape& shape,
                                     const std::vector<double>& values) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = type;
  tensor->shape = shape;
  const std::size_t size = element_size(type);
  tensor->bytes.resize(values.size() * size);
  for (std::size_t e = 0; e < values.size(); ++e) {
    const std::uint64_t bits = encode_exact(*float_format(type), values[e]).value();
    std::memcpy(tensor->bytes.data() + e * size, &bits, size);  // little-endian
  }
  return tensor;
}

/// Operands with T keys more than S, of which nonpad_kv_seqlen shows S, or a window.
struct Operands {
  Sizes sizes;
  ProblemTensors tensors;
  gqa_bench::DrawnOperands numbers;

  Operands(const Sizes& of, const test::KernelFormats& formats, Inputs inputs, std::uint64_t seed)
      : sizes(of) {
    test::Random random(seed);
    const std::int64_t keys = sizes.keys + sizes.queries;
    numbers = gqa_bench::draw_operands(inputs, sizes.q_heads * sizes.queries, sizes.kv_heads * keys,
                                       width, formats.stored(), random);
    tensors.query =
        encoded(formats.storage, {1, sizes.q_heads, sizes.queries, width}, numbers.query);
    tensors.key = encoded(formats.storage, {1, sizes.kv_heads, keys, width}, numbers.key);
    tensors.value = encoded(formats.storage, {1, sizes.kv_heads, keys, width}, numbers.value);
  }

  std::int64_t keys() const { return sizes.keys + sizes.queries; }
  /// The key of S with the largest score.
  std::int64_t heaviest(std::int64_t head, std::int64_t row) const {
    const double* query = numbers.query.data() + (head * sizes.queries + row) * width;
    const double* key =
        numbers.key.data() + head / (sizes.q_heads / sizes.kv_heads) * keys() * width;
    std::int64_t best = 0;
    double largest = -1e300;
    for (std::int64_t j = 0; j < sizes.keys; ++j, key += width) {
      const double score = std::inner_product(query, query + width, key, 0.0);
      if (score > largest) best = j;
      largest = std::max(largest, score);
    }
    return best;
  }
};

enum class Fault { newest_missing, heaviest_missing, window_wide, sink_dropped };
constexpr Fault all_faults[] = {Fault::newest_missing, Fault::heaviest_missing, Fault::window_wide,
                                Fault::sink_dropped};

const char* name(Fault fault) {
  constexpr const char* names[] = {"newest missing", "heaviest missing", "window + 1",
                                   "sink dropped"};
  return names[static_cast<int>(fault)];
}

std::shared_ptr<TypedTensor> integer(std::int64_t value) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = ElementType::int64;
  tensor->shape = {1};
  tensor->bytes.resize(sizeof value);
  std::memcpy(tensor->bytes.data(), &value, sizeof value);
  return tensor;
}

// True everywhere but at one key of each row.
std::shared_ptr<TypedTensor> mask_without(const Operands& o, bool heaviest) {
  const Sizes& s = o.sizes;
  auto mask = std::make_shared<TypedTensor>();
  mask->type = ElementType::boolean;
  mask->shape = {1, s.q_heads, s.queries, o.keys()};
  mask->bytes.assign(static_cast<std::size_t>(element_count(mask->shape)), std::byte{1});
  for (std::int64_t r = 0; r < s.q_heads * s.queries; ++r) {
    const std::int64_t key = heaviest ? o.heaviest(r / s.queries, r % s.queries) : s.keys - 1;
    mask->bytes[static_cast<std::size_t>(r * o.keys() + key)] = std::byte{0};
  }
  return mask;
}

/// What is declared, and what the kernel computes.
struct Pair {
  ProblemTensors declared, computed;
  Contract contract, computed_contract;
};

Pair pair_of(const Operands& o, Fault fault) {
  Pair pair{o.tensors, o.tensors, {}, {}};
  if (fault == Fault::window_wide) {
    pair.contract.causal = pair.computed_contract.causal = true;
    pair.contract.window = {o.sizes.keys - 1, 0};
    pair.computed_contract.window = {o.sizes.keys, 0};
    return pair;
  }
  pair.declared.nonpad_kv_seqlen = pair.computed.nonpad_kv_seqlen = integer(o.sizes.keys);
  if (fault == Fault::sink_dropped) {
    const std::vector<double> zeros(static_cast<std::size_t>(o.sizes.q_heads));
    pair.declared.sink = encoded(ElementType::binary32, {o.sizes.q_heads}, zeros);
  } else {
    pair.computed.attn_mask = mask_without(o, fault == Fault::heaviest_missing);
  }
  return pair;
}

// The reference of a problem in binary64, rounded to `format`.
std::vector<double> rounded_reference(const AttentionProblem& problem, const FloatFormat& format) {
  const Dimensions& d = problem.dimensions;
  std::vector<double> output(static_cast<std::size_t>(d.q_heads * d.queries * d.value_size));
  filter_reference(problem, {}, [&](const FilterTile& tile) {
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      const FilterRow& row = tile.rows[r];
      for (std::int64_t c = 0; c < tile.columns; ++c) {
        output[static_cast<std::size_t>((row.head * d.queries + row.row) * d.value_size + c)] =
            test::rounded(format, tile.output(r, c));
      }
    }
  });
  return output;
}

struct Ratios {
  double largest = 0;
  double median_row = 0;
};

// |output - reference| / likely, by the rung that bounds whole rows.
Ratios ratios(const AttentionProblem& problem, const PrecisionModel& model,
              const FloatFormat& format, const std::vector<double>& output) {
  const Dimensions& d = problem.dimensions;
  const LikelyContext context{model, d.key_size, model.output_rounding(format), true,
                              has_two_biases(problem)};
  std::vector<double> of_rows;
  std::mutex mutex;
  filter_reference(problem, {.model_terms = true}, [&](const FilterTile& tile) {
    RoundingRows rows(problem, context);
    std::vector<double> found;
    for (std::size_t first = 0; first < tile.rows.size(); first += RoundingRows::most_rows) {
      std::vector<std::size_t> some(std::min(RoundingRows::most_rows, tile.rows.size() - first));
      std::iota(some.begin(), some.end(), first);
      rows.read(tile, some);
      for (std::size_t k = 0; k < some.size(); ++k) {
        const FilterRow& row = tile.rows[some[k]];
        double largest = 0;
        for (std::int64_t c = 0; c < tile.columns; ++c) {
          const auto at =
              static_cast<std::size_t>((row.head * d.queries + row.row) * d.value_size + c);
          const double error = std::abs(output[at] - tile.output(some[k], c));
          const double bound = rows.likely(k, c, tile.radius(some[k], c)).upper;
          largest = std::max(largest, error / bound);
        }
        found.push_back(largest);
      }
    }
    const std::lock_guard lock(mutex);
    of_rows.insert(of_rows.end(), found.begin(), found.end());
  });
  std::sort(of_rows.begin(), of_rows.end());
  return {of_rows.back(), of_rows[of_rows.size() / 2]};
}

Ratios run(const Operands& operands, const test::KernelFormats& formats, Fault fault) {
  const Pair pair = pair_of(operands, fault);
  const AttentionProblem declared = make_problem(pair.declared, pair.contract);
  const AttentionProblem computed = make_problem(pair.computed, pair.computed_contract);
  return ratios(declared, *formats.model, formats.stored(),
                rounded_reference(computed, formats.stored()));
}

void run_inputs(const test::KernelFormats& formats, Inputs inputs, const Sizes& base,
                const std::vector<std::int64_t>& lengths, std::uint64_t seed) {
  std::vector<std::string> lines;
  for (const Fault fault : all_faults) {
    lines.push_back(
        fmt::format("| {} | {} | {} |", formats.model->name, name(inputs), name(fault)));
  }
  std::vector<std::int64_t> refuted(std::size(all_faults), 0);
  for (const std::int64_t keys : lengths) {
    Sizes sizes = base;
    sizes.keys = keys;
    const Operands operands(sizes, formats, inputs, seed);
    for (std::size_t f = 0; f < lines.size(); ++f) {
      const Ratios found = run(operands, formats, all_faults[f]);
      lines[f] += fmt::format(" {:.3g} ({:.2g}) |", found.largest, found.median_row);
      if (found.largest > 1) refuted[f] = keys;
    }
  }
  for (std::size_t f = 0; f < lines.size(); ++f) {
    fmt::print("{} {} |\n", lines[f], refuted[f] == 0 ? "none" : std::to_string(refuted[f]));
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, std::int64_t otherwise) {
    return argc > at ? std::atoll(argv[at]) : otherwise;
  };
  const auto seed = static_cast<std::uint64_t>(number(1, 1));
  const Sizes base{number(2, 8), number(3, 2), number(4, 64), 0};
  std::vector<std::int64_t> lengths{16, 64, 256, 1024, 4096, 16384};
  if (argc > 5) lengths = {number(5, 0)};
  fmt::print("| preset | inputs | fault |");
  for (const std::int64_t keys : lengths) fmt::print(" S={} |", keys);
  fmt::print(" refuted up to |\n|---|---|---|");
  for (std::size_t i = 0; i <= lengths.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const test::KernelFormats& formats : test::kernels_of_all_models()) {
    for (const Inputs inputs : gqa_bench::all_inputs) {
      run_inputs(formats, inputs, base, lengths, seed);
    }
  }
}
