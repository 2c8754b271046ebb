// The filter's radius against balls at 256 bits: it must contain the exact value, always.
#include "gqa/audit/filter.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "filter_support.hpp"
#include "gqa/audit/enclosure.hpp"

namespace {

using namespace gqa;
using namespace gqa_test;

constexpr double infinity = std::numeric_limits<double>::infinity();

// GQA_TEST_MULTIPLIER=100 checks more than 10^5 rows.
std::int64_t multiplier() {
  const char* text = std::getenv("GQA_TEST_MULTIPLIER");
  return text == nullptr ? 1 : std::max(1L, std::atol(text));
}

// How the radii compare with the errors, over all rows that were checked.
struct Ledger {
  std::int64_t rows = 0;
  std::int64_t open = 0;
  std::int64_t elements = 0;
  std::int64_t with_error = 0;
  double sum_of_logarithms = 0;
  double smallest = infinity;

  void note(double radius, double error) {
    ++elements;
    // An exact result is off by the last bits of the ball at most.
    if (!(error > radius * 0x1p-100)) return;
    ++with_error;
    sum_of_logarithms += std::log(radius / error);
    smallest = std::min(smallest, radius / error);
  }
  void print(const char* title) const {
    fmt::print(
        "{}: {} rows ({} open), {} elements; radius / error: geometric mean {:.3g}, "
        "smallest {:.3g}\n",
        title, rows, open, elements,
        std::exp(sum_of_logarithms / std::max<double>(1, static_cast<double>(with_error))),
        smallest);
  }
};

Ball exact_lse(const RowResult<BallNumbers>& result, const std::vector<std::size_t>& visible,
               const double* sink, double shift) {
  Ball sum;
  for (const std::size_t j : visible) sum += exp(result.scores[j] - Ball(shift));
  if (sink != nullptr) sum += exp(Ball(*sink) - Ball(shift));
  return log(sum) + Ball(shift);
}

void check_squares(const Certified& certified, const RowResult<BallNumbers>& result,
                   const EnclosureReader& reader, const std::vector<std::size_t>& visible) {
  if (certified.squares.empty() || certified.row.epsilon > 1e-7) return;
  for (std::size_t c = 0; c < certified.squares.size(); ++c) {
    const auto values = reader.value_column(visible, static_cast<std::int64_t>(c));
    Ball sum;
    for (std::size_t k = 0; k < visible.size(); ++k) {
      const Ball product = result.weights[visible[k]] * *values[k];
      sum += product * product;
    }
    const double error = abs(sum - Ball(certified.squares[c])).upper_double();
    CAPTURE(c);
    CAPTURE(to_text(sum));
    CHECK(error <= certified.squares_relative * certified.squares[c] + certified.squares_absolute);
  }
}

void check_row(const AttentionProblem& problem, const Certified& certified,
               const EnclosureReader& reader, Ledger& ledger) {
  const FilterRow& row = certified.row;
  const auto visible = reader.visible(row.head, row.row);
  INFO("batch ", certified.batch, ", head ", row.head, ", row ", row.row, ", visible ",
       visible.size());
  ++ledger.rows;
  if (row.open) {
    ++ledger.open;
    return;
  }
  const double* sink =
      problem.sink ? &(*problem.sink)[static_cast<std::size_t>(row.head)] : nullptr;
  CHECK(row.visible == static_cast<std::int64_t>(visible.size()));
  CHECK(row.empty == (visible.empty() && (sink == nullptr || *sink == -infinity)));
  REQUIRE(reader.is_finite(row.head, row.row, visible));
  if (visible.empty()) {
    for (const double value : certified.output) CHECK(value == 0.0);
    return;
  }
  const PrecisionScope precision(256);
  const EnclosureReader::Row result = reader.row(row.head, row.row, visible);
  for (std::size_t c = 0; c < certified.output.size(); ++c) {
    const double error = abs(result.output[c] - Ball(certified.output[c])).upper_double();
    CAPTURE(c);
    CAPTURE(to_text(result.output[c]));
    CAPTURE(certified.output[c]);
    CAPTURE(row.epsilon);
    CHECK(error <= certified.radius[c]);
    ledger.note(certified.radius[c], error);
  }
  const Ball lse = exact_lse(result, visible, sink, row.maximum);
  CAPTURE(to_text(lse));
  CHECK(abs(lse - Ball(row.lse)).upper_double() <= row.lse_radius);
  check_squares(certified, result, reader, visible);
}

void check_problem(const AttentionProblem& problem, const FilterOptions& options, Ledger& ledger) {
  const std::vector<Certified> rows = run_filter(problem, options);
  const Dimensions& d = problem.dimensions;
  REQUIRE(static_cast<std::int64_t>(rows.size()) == d.batch * d.q_heads * d.queries);
  std::map<std::pair<std::int64_t, std::int64_t>, EnclosureReader> readers;
  const PrecisionScope precision(256);
  for (const Certified& row : rows) {
    const auto [at, added] =
        readers.try_emplace({row.batch, row.kv_head}, problem, row.batch, row.kv_head);
    check_row(problem, row, at->second, ledger);
  }
}

// Sizes and rules drawn at random, biased to corners.
struct RandomProblem {
  Contract contract;
  ProblemTensors tensors;
  std::string description;

  explicit RandomProblem(Random& random) {
    batch = chance(random, 0.3) ? 2 : 1;
    kv_heads = integer(random, 1, 2);
    q_heads = kv_heads * integer(random, 1, 3);
    queries = one_of<std::int64_t>(random, {1, 1, 2, 5, 17});
    past = chance(random, 0.2) ? integer(random, 1, 20) : 0;
    keys = one_of<std::int64_t>(random, {1, 2, 3, 15, 16, 17, 33, 70, 130});
    dk = one_of<std::int64_t>(random, {1, 2, 7, 16, 33, 64});
    dv = one_of<std::int64_t>(random, {1, 3, 16, 40});
    draw_operands(random);
    draw_rules(random);
    if (chance(random, 0.3)) draw_bias(random);
  }

 private:
  std::vector<double> drawn(Random& random, std::int64_t count, bool values) {
    const Draw kind =
        values ? one_of(random, {Draw::normal, Draw::uniform, Draw::equal, Draw::subnormal,
                                 Draw::mixed_magnitudes, Draw::integers, Draw::normal})
               : one_of(random,
                        {Draw::normal, Draw::normal, Draw::uniform, Draw::tiny, Draw::huge,
                         Draw::subnormal, Draw::equal, Draw::integers, Draw::mixed_magnitudes});
    description += fmt::format(" {}", static_cast<int>(kind));
    return draw(random, kind, static_cast<std::size_t>(count));
  }

  void draw_operands(Random& random) {
    const ElementType type =
        one_of(random, {ElementType::binary64, ElementType::binary64, ElementType::binary32,
                        ElementType::binary16, ElementType::bfloat16});
    const auto make = [&](std::int64_t heads, std::int64_t rows, std::int64_t width, bool values) {
      return tensor_of({batch, heads, rows, width},
                       drawn(random, batch * heads * rows * width, values), type);
    };
    tensors.query = make(q_heads, queries, dk, false);
    tensors.key = make(kv_heads, keys, dk, false);
    tensors.value = make(kv_heads, keys, dv, true);
    if (past > 0) {
      tensors.past_key = make(kv_heads, past, dk, false);
      tensors.past_value = make(kv_heads, past, dv, true);
    }
  }

  void draw_rules(Random& random) {
    contract.causal = chance(random, 0.4);
    contract.causal_alignment =
        one_of(random, {CausalAlignment::top_left, CausalAlignment::bottom_right});
    if (chance(random, 0.25)) contract.window = {integer(random, -1, 9), integer(random, -1, 9)};
    if (chance(random, 0.25)) {
      contract.softcap =
          one_of(random, {Rational(30), Rational(1, 3), Rational(2), Rational(1000)});
    }
    if (chance(random, 0.2)) contract.scale = one_of(random, {Rational(1), Rational(1, 3)});
    if (chance(random, 0.25)) {
      std::vector<double> sinks = draw(random, Draw::huge, static_cast<std::size_t>(q_heads));
      tensors.sink = tensor_of({q_heads}, sinks, ElementType::binary64);
    }
    if (chance(random, 0.2)) {
      tensors.alibi_slopes =
          tensor_of({q_heads}, draw(random, Draw::uniform, static_cast<std::size_t>(q_heads)),
                    ElementType::binary64);
    }
    if (chance(random, 0.2)) draw_lengths(random);
  }

  void draw_lengths(Random& random) {
    auto lengths = std::make_shared<TypedTensor>();
    lengths->type = ElementType::int64;
    lengths->shape = {batch};
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length = integer(random, 0, past + keys);
      const auto* bytes = reinterpret_cast<const std::byte*>(&length);
      lengths->bytes.insert(lengths->bytes.end(), bytes, bytes + sizeof length);
    }
    tensors.nonpad_kv_seqlen = lengths;
  }

  void draw_bias(Random& random) {
    const Shape shape = one_of<Shape>(random, {{batch, q_heads, queries, past + keys},
                                               {queries, past + keys},
                                               {1, 1, 1, past + keys},
                                               {batch, 1, queries, past + keys},
                                               {queries, 1},
                                               {queries, (past + keys + 1) / 2}});
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (chance(random, 0.4)) {
      std::vector<char> mask(count);
      for (char& flag : mask) flag = chance(random, 0.7) ? 1 : 0;
      tensors.attn_mask = booleans_of(shape, mask);
      return;
    }
    std::vector<double> bias = draw(random, one_of(random, {Draw::normal, Draw::huge}), count);
    // What people write for "not visible".
    const double fill = one_of(random, {-infinity, -3.4e38, -1e9, -1e4});
    for (double& value : bias) {
      if (chance(random, 0.3)) value = fill;
    }
    tensors.attn_mask = tensor_of(shape, bias, ElementType::binary64);
  }

  std::int64_t batch, kv_heads, q_heads, queries, past, keys, dk, dv;
};

FilterOptions random_options(Random& random) {
  FilterOptions options;
  options.tile_rows = one_of<std::int64_t>(random, {1, 3, 16, 256});
  options.key_block = one_of<std::int64_t>(random, {16, 32, 256});
  options.key_segment = one_of<std::int64_t>(random, {options.key_block, 4096});
  options.model_terms = chance(random, 0.5);
  options.threads = 2;
  return options;
}

}  // namespace

TEST_CASE("filter: the radius contains the exact value, for random problems of every kind") {
  Ledger ledger;
  const std::int64_t problems = 120 * multiplier();
  for (std::int64_t seed = 0; seed < problems; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    CAPTURE(seed);
    const RandomProblem drawn(random);
    CAPTURE(drawn.description);
    const AttentionProblem problem = make_problem(drawn.tensors, drawn.contract);
    check_problem(problem, random_options(random), ledger);
  }
  ledger.print("random problems");
  // Scores of 30^2 sqrt(dk) are still within the filter's reach.
  CHECK(ledger.open * 10 <= ledger.rows);
}

namespace {

// One head, one kind of numbers; for the cases below.
struct Plain {
  std::int64_t queries = 1, keys = 1, dk = 8, dv = 4;
  std::vector<double> query, key, value;
  Contract contract;
  ProblemTensors extra;

  Plain(Random& random, std::int64_t queries_, std::int64_t keys_, Draw scores, Draw values)
      : queries(queries_), keys(keys_) {
    query = draw(random, scores, static_cast<std::size_t>(queries * dk));
    key = draw(random, scores, static_cast<std::size_t>(keys * dk));
    value = draw(random, values, static_cast<std::size_t>(keys * dv));
  }
  AttentionProblem problem() const {
    ProblemTensors tensors = extra;
    tensors.query = tensor_of({1, 1, queries, dk}, query, ElementType::binary64);
    tensors.key = tensor_of({1, 1, keys, dk}, key, ElementType::binary64);
    tensors.value = tensor_of({1, 1, keys, dv}, value, ElementType::binary64);
    return make_problem(tensors, contract);
  }
};

}  // namespace

TEST_CASE("filter: the radius contains the exact value with 10^4 keys, in one part and in many") {
  Ledger ledger;
  for (std::int64_t seed = 0; seed < 2 * multiplier(); ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    CAPTURE(seed);
    const Plain plain(random, 3, 10000, seed % 2 == 0 ? Draw::normal : Draw::huge, Draw::uniform);
    FilterOptions options;
    check_problem(plain.problem(), options, ledger);
    options.key_segment = 512;
    options.model_terms = true;
    check_problem(plain.problem(), options, ledger);
  }
  ledger.print("10^4 keys");
  CHECK(ledger.open == 0);
}

TEST_CASE("filter: scores that climb block by block raise the shift and stay enclosed") {
  Ledger ledger;
  for (const double slope : {0.1, 1.0, 7.0, 90.0, 2000.0}) {
    for (const bool ascending : {true, false}) {
      Random random(7);
      CAPTURE(slope);
      Plain plain(random, 2, 200, Draw::normal, Draw::normal);
      for (std::int64_t j = 0; j < plain.keys; ++j) {
        const auto step = static_cast<double>(ascending ? j : plain.keys - j);
        plain.key[static_cast<std::size_t>(j * plain.dk)] += slope * step;
      }
      for (std::int64_t i = 0; i < plain.queries; ++i) {
        plain.query[static_cast<std::size_t>(i * plain.dk)] = 1;
      }
      FilterOptions options;
      options.key_block = 16;
      options.model_terms = true;
      check_problem(plain.problem(), options, ledger);
      options.key_segment = 32;
      check_problem(plain.problem(), options, ledger);
    }
  }
  ledger.print("climbing scores");
  CHECK(ledger.open == 0);
}

TEST_CASE("filter: cancelling scores and values keep a radius that contains the exact value") {
  Ledger ledger;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    CAPTURE(seed);
    Plain plain(random, 4, 64, Draw::normal, Draw::normal);
    // Products of 1e4 that cancel to scores of about 1, and values that cancel in pairs.
    for (std::size_t r = 0; r < plain.key.size(); r += 8) {
      plain.key[r + 1] = -plain.key[r] + 1e-4 * plain.key[r + 2];
    }
    for (std::size_t r = 0; r < plain.query.size(); r += 8) {
      plain.query[r] = plain.query[r + 1] = 1e4;
    }
    for (std::size_t i = 0; i + 8 <= plain.value.size(); i += 8) {
      for (std::size_t c = 0; c < 4; ++c) plain.value[i + 4 + c] = -plain.value[i + c];
    }
    check_problem(plain.problem(), FilterOptions{}, ledger);
  }
  ledger.print("cancellation");
  CHECK(ledger.open == 0);
}

TEST_CASE("filter: NaN and infinities in invisible slots have no effect") {
  for (const double poison : {std::nan(""), infinity, -infinity, 1e300}) {
    Random random(3);
    Plain clean(random, 20, 40, Draw::normal, Draw::normal);
    clean.contract.causal = true;
    clean.contract.causal_alignment = CausalAlignment::top_left;
    Plain poisoned = clean;
    for (std::size_t j = 20; j < 40; ++j) {
      poisoned.key[j * 8 + 3] = poison;
      poisoned.value[j * 4 + 1] = poison;
    }
    const auto expected = run_filter(clean.problem(), {});
    const auto found = run_filter(poisoned.problem(), {});
    REQUIRE(found.size() == expected.size());
    for (std::size_t r = 0; r < found.size(); ++r) {
      CAPTURE(poison);
      CAPTURE(found[r].row.row);
      CHECK_FALSE(found[r].row.open);
      CHECK(found[r].output == expected[r].output);
    }
  }
}

TEST_CASE("filter: exactly the rows that see NaN or an infinity are open") {
  for (const double poison : {std::nan(""), infinity, -infinity}) {
    for (const int where : {0, 1, 2}) {
      Random random(4);
      Plain plain(random, 40, 40, Draw::normal, Draw::normal);
      plain.contract.causal = true;
      if (where == 0) plain.query[11 * 8 + 2] = poison;
      if (where == 1) plain.key[17 * 8 + 2] = poison;
      if (where == 2) plain.value[17 * 4 + 2] = poison;
      for (const Certified& row : run_filter(plain.problem(), {})) {
        CAPTURE(poison);
        CAPTURE(where);
        CAPTURE(row.row.row);
        CHECK(row.row.open == (where == 0 ? row.row.row == 11 : row.row.row >= 17));
      }
    }
  }
}

TEST_CASE(
    "filter: a key that the boolean mask hides may hold NaN; one that it shows opens the row") {
  Random random(5);
  Plain plain(random, 4, 6, Draw::normal, Draw::normal);
  plain.key[2 * 8] = std::nan("");
  plain.value[2 * 4] = infinity;
  std::vector<char> mask(24, 1);
  for (const std::size_t row : {0U, 1U, 3U}) mask[row * 6 + 2] = 0;
  plain.extra.attn_mask = booleans_of({4, 6}, mask);
  Ledger ledger;
  for (const Certified& row : run_filter(plain.problem(), {})) {
    CAPTURE(row.row.row);
    CHECK(row.row.open == (row.row.row == 2));
  }
  check_problem(plain.problem(), {}, ledger);
}

TEST_CASE("filter: overflow, biases that are not finite and infinite sinks open the row") {
  Random random(6);
  SUBCASE("scores overflow") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    for (double& x : plain.query) x *= 1e200;
    for (double& x : plain.key) x *= 1e150;
    for (const Certified& row : run_filter(plain.problem(), {})) CHECK(row.row.open);
  }
  SUBCASE("scores too large for a radius") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    for (double& x : plain.query) x *= 1e17;
    for (const Certified& row : run_filter(plain.problem(), {})) CHECK(row.row.open);
  }
  SUBCASE("a bias of plus infinity") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    std::vector<double> bias(10, 0.0);
    bias[3] = infinity;
    plain.extra.attn_mask = tensor_of({2, 5}, bias, ElementType::binary64);
    const auto rows = run_filter(plain.problem(), {});
    CHECK(rows[0].row.open);
    CHECK_FALSE(rows[1].row.open);
  }
  SUBCASE("an infinite sink") {
    Plain plain(random, 1, 5, Draw::normal, Draw::normal);
    plain.extra.sink = tensor_of({1}, {infinity}, ElementType::binary64);
    CHECK(run_filter(plain.problem(), {})[0].row.open);
  }
  SUBCASE("a bias of -1e308 on every key") {
    Plain plain(random, 1, 5, Draw::normal, Draw::normal);
    plain.extra.attn_mask =
        tensor_of({1, 5}, std::vector<double>(5, -1e308), ElementType::binary64);
    CHECK(run_filter(plain.problem(), {})[0].row.open);
  }
}

TEST_CASE("filter: a sink of minus infinity is no sink, and a sink alone gives zero") {
  Random random(12);
  Plain plain(random, 3, 5, Draw::normal, Draw::normal);
  plain.contract.causal = true;
  plain.contract.causal_alignment = CausalAlignment::bottom_right;
  plain.queries = 7;  // rows 0 and 1 see nothing
  plain.query = draw(random, Draw::normal, 7 * 8);
  const auto without = run_filter(plain.problem(), {});
  plain.extra.sink = tensor_of({1}, {-infinity}, ElementType::binary64);
  const auto nothing = run_filter(plain.problem(), {});
  plain.extra.sink = tensor_of({1}, {1.5}, ElementType::binary64);
  const auto with = run_filter(plain.problem(), {});
  REQUIRE(without.size() == 7);
  for (std::size_t r = 0; r < 7; ++r) {
    CAPTURE(r);
    CHECK(nothing[r].output == without[r].output);
    CHECK(nothing[r].row.empty == (r < 2));
    CHECK_FALSE(with[r].row.empty);
    CHECK_FALSE(with[r].row.open);
  }
  CHECK(with[0].output == std::vector<double>(4, 0.0));
  CHECK(with[0].row.lse == 1.5);
}

TEST_CASE("filter: finite fill values hide keys without widening the radius") {
  Random random(8);
  for (const double fill : {-1e4, -1e9, -3.4e38, -1.7e308}) {
    for (const bool left : {true, false}) {
      Plain plain(random, 3, 64, Draw::normal, Draw::normal);
      std::vector<double> bias(64, 0.0);
      for (std::size_t j = 0; j < 32; ++j) bias[left ? j : 63 - j] = fill;
      plain.extra.attn_mask = tensor_of({1, 64}, bias, ElementType::binary64);
      FilterOptions options;
      options.key_block = 16;
      Ledger ledger;
      check_problem(plain.problem(), options, ledger);
      CAPTURE(fill);
      CHECK(ledger.open == 0);
      for (const Certified& row : run_filter(plain.problem(), options)) {
        CHECK(row.row.epsilon < 1e-12);
      }
    }
  }
}

TEST_CASE("filter: results are the same bits for one thread, two, and tiles one by one") {
  Random random(9);
  const Plain plain(random, 70, 300, Draw::normal, Draw::normal);
  FilterOptions options;
  options.tile_rows = 16;
  options.key_segment = 256;
  const AttentionProblem problem = plain.problem();
  const auto by_row = [&](const std::vector<Certified>& rows) {
    std::map<std::int64_t, std::vector<double>> result;
    for (const Certified& row : rows) result[row.row.row] = row.output;
    return result;
  };
  options.threads = 1;
  const auto expected = by_row(run_filter(problem, options));
  options.threads = 2;
  CHECK(by_row(run_filter(problem, options)) == expected);
  std::map<std::int64_t, std::vector<double>> pieces;
  const std::int64_t tiles = filter_tile_count(problem, options);
  CHECK(tiles == 5);
  for (std::int64_t t = 0; t < tiles; ++t) {
    options.tile_begin = t;
    options.tile_end = t + 1;
    pieces.merge(by_row(run_filter(problem, options)));
  }
  CHECK(pieces == expected);
}

TEST_CASE("filter: the environment is IEEE, and bad options are refused by name") {
  CHECK_FALSE(flushes_subnormals());
  CHECK(rounds_to_nearest());
  Random random(1);
  const Plain plain(random, 1, 1, Draw::normal, Draw::normal);
  const AttentionProblem problem = plain.problem();
  const auto refused = [&](const FilterOptions& options, const std::string& where) {
    try {
      filter_reference(problem, options, [](const FilterTile&) {});
      FAIL("was accepted: " << where);
    } catch (const InputError& error) {
      CHECK(error.code() == "filter.options");
      CHECK(error.where() == where);
    }
  };
  refused({.tile_rows = 0}, "tile_rows");
  refused({.key_block = 24}, "key_block");
  refused({.key_block = 256, .key_segment = 16}, "key_segment");
  refused({.model_terms = true, .radius = false}, "model_terms");
  refused({.threads = -1}, "threads");
}
