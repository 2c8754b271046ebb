// Bounds of the likely bound in binary64, against the bound itself in balls.
#include "gqa/audit/filter/rounding_rows.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <mutex>
#include <numeric>

#include "audit/filter_problems.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa_test::Plain;
using gqa_test::RandomProblem;

namespace {

// How often each rung knows the bound to so many parts.
struct Sharpness {
  // Of rows in which no scores are equal.
  std::int64_t elements = 0;
  std::int64_t sharp_rows = 0;  // RoundingRows within 10^-6
  std::int64_t sharp_worst = 0;
  double widest_interval = 0;  // LikelyInterval: upper / lower
  std::int64_t surely_explained = 0;
  std::int64_t bounded = 0;  // from above, by RoundingRows with what others know is lost
  // Of all others.
  std::int64_t repeated = 0;
  std::int64_t sharp_repeated = 0;
};

LikelyContext context_of(const AttentionProblem& problem, const PrecisionModel& model) {
  return {model,
          problem.dimensions.key_size,
          model.output_rounding(binary32),
          problem.contract.softcap == 0 && !problem.has_bias(),
          problem.bias && problem.alibi_slopes,
          problem.has_bias()};
}

// Is column c of a row whose other outputs are exact surely within the likely bound? Ulps of
// bfloat16 are large enough for every model.
bool surely_explains(const LikelyInterval& interval, const FilterTile& tile, std::size_t r,
                     std::int64_t c, double output) {
  const auto allowance = interval.sure_allowance();
  if (!allowance) return false;
  const double* centres = tile.values + r * tile.stride;
  std::vector<double> outputs(centres, centres + tile.stride);
  outputs[static_cast<std::size_t>(c)] = output;
  std::vector<double> errors(tile.stride);
  std::vector<double> shares(tile.stride);
  surely_within(
      {outputs.data(), centres, tile.column_maximum.data(), static_cast<std::size_t>(tile.columns),
       tile.rows[r].relative, tile.rows[r].underflow},
      bfloat16, *allowance, errors.data(), shares.data());
  return errors[static_cast<std::size_t>(c)] != not_sure;
}

void check_row(const AttentionProblem& problem, const LikelyContext& context,
               const FilterTile& tile, std::size_t r, std::size_t k, RoundingRows& rows,
               Sharpness& sharpness) {
  const FilterRow& row = tile.rows[r];
  const EnclosureReader reader(problem, tile.batch, tile.kv_head);
  const auto visible = reader.visible(row.head, row.row);
  const auto exact = reader.row(row.head, row.row, visible);
  const RowRounding rounding = reader.rounding(context.model, row.head, row.row, visible, exact);
  const RoundingBound bound(context.model, rounding, context.recorded);
  const EqualHistory equal(problem, tile.batch, tile.kv_head, true);
  const LikelyInterval interval(context, tile, r, problem.sink_of(row.head), &equal);
  const SmallValues values(problem, tile.batch, tile.kv_head);
  for (std::int64_t c = 0; c < tile.columns; ++c) {
    const RoundingBounds bounds =
        bound.column(reader.value_column(visible, c), exact.output[static_cast<std::size_t>(c)]);
    const Ball& likely = bounds.likely;
    const Ball allowed = bounds.allowance();
    const Interval found = rows.likely(k, c, tile.radius(r, c));
    CAPTURE(row.head);
    CAPTURE(row.row);
    CAPTURE(c);
    CAPTURE(to_text(likely));
    CAPTURE(found.lower);
    CAPTURE(found.upper);
    CHECK(found.lower <= likely.upper_double());
    CHECK(found.upper >= likely.lower_double());
    const auto worst = rows.worst(k, c, tile.radius(r, c));
    CAPTURE(to_text(bounds.worst));
    CHECK((!worst || worst->lower <= bounds.worst.upper_double()));
    CHECK((!worst || worst->upper >= bounds.worst.lower_double()));
    if (!worst) CHECK(!bounds.worst.is_finite());
    const bool all_differ = row.most_equal_scores == 1;
    if (all_differ && worst && worst->upper <= worst->lower * (1 + 1e-6)) ++sharpness.sharp_worst;
    const double lower = interval.lower(c, tile.radius(r, c));
    const double upper = interval.upper(c, tile.radius(r, c));
    CAPTURE(lower);
    CAPTURE(upper);
    const double known_values = interval.upper(c, tile.radius(r, c), &values);
    CAPTURE(known_values);
    CHECK(known_values <= upper);
    if (row.epsilon <= 1e-7) {
      const double lost = interval.lost_values(c, tile.radius(r, c), &values);
      const Interval by_others = rows.likely(k, c, tile.radius(r, c), lost);
      CAPTURE(lost);
      CAPTURE(by_others.upper);
      CHECK(by_others.lower <= likely.upper_double());
      CHECK(by_others.upper >= likely.lower_double());
      if (all_differ && std::isfinite(by_others.upper)) ++sharpness.bounded;
      CHECK(lower <= allowed.upper_double());
      CHECK(known_values >= allowed.lower_double());
      for (const double share : {0.05, 0.5, 0.9, 0.99, 0.999, 1.001}) {
        const double output = tile.output(r, c) + share * allowed.lower_double();
        const double error = std::abs(output - tile.output(r, c));
        if (!surely_explains(interval, tile, r, c, output)) continue;
        CAPTURE(share);
        CHECK(error <= lower);
        if (all_differ) ++sharpness.surely_explained;
      }
    }
    const bool is_sharp = found.upper <= found.lower * (1 + 1e-6);
    ++(all_differ ? sharpness.elements : sharpness.repeated);
    if (is_sharp) ++(all_differ ? sharpness.sharp_rows : sharpness.sharp_repeated);
  }
}

Sharpness check(const AttentionProblem& problem, const PrecisionModel& model,
                FilterOptions options = {}, bool with_equal_scores = true) {
  Sharpness sharpness;
  Sharpness unrefined;
  options.model_terms = true;
  options.equal_scores = with_equal_scores;
  const LikelyContext context = context_of(problem, model);
  std::mutex mutex;
  filter_reference(problem, options, [&](const FilterTile& tile) {
    const std::lock_guard lock(mutex);
    std::vector<std::size_t> certified;
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      if (!tile.rows[r].open && tile.rows[r].visible > 0) certified.push_back(r);
    }
    RoundingRows rows(problem, context);
    for (std::size_t first = 0; first < certified.size(); first += RoundingRows::most_rows) {
      const auto some = std::span(certified).subspan(
          first, std::min(RoundingRows::most_rows, certified.size() - first));
      rows.read(tile, some);
      // Before the second look the lower bounds hold already.
      for (std::size_t k = 0; k < some.size(); ++k) {
        check_row(problem, context, tile, some[k], k, rows, unrefined);
      }
      std::vector<std::size_t> all(some.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      rows.refine(all);
      for (std::size_t k = 0; k < some.size(); ++k) {
        check_row(problem, context, tile, some[k], k, rows, sharpness);
      }
    }
  });
  sharpness.bounded = unrefined.bounded;
  return sharpness;
}

}  // namespace

TEST_CASE("rounding_rows: both rungs contain the bound, whatever masks, softcap, bias and sinks") {
  for (const PrecisionModel* model : precision_models()) {
    Sharpness total;
    // The shares below need as many in a light run.
    for (const std::uint64_t seed : test::seeds(test::is_light() ? 100 : 25)) {
      gqa_test::Random random(static_cast<unsigned>(seed));
      const RandomProblem drawn(random);
      CAPTURE(model->name);
      CAPTURE(seed);
      CAPTURE(drawn.description);
      const Sharpness found = check(make_problem(drawn.tensors, drawn.contract), *model,
                                    gqa_test::random_options(random), seed % 3 != 0);
      total.elements += found.elements;
      total.sharp_rows += found.sharp_rows;
      total.sharp_worst += found.sharp_worst;
      total.surely_explained += found.surely_explained;
      total.bounded += found.bounded;
      total.repeated += found.repeated;
      total.sharp_repeated += found.sharp_repeated;
    }
    MESSAGE(
        fmt::format("{:9} within 10^-6 of likely: {}, of worst: {} of {} elements; {} of {} where "
                    "some may repeat",
                    model->name, total.sharp_rows, total.sharp_worst, total.elements,
                    total.sharp_repeated, total.repeated));
    // The filter's radius of binary64's own roundings is too near to them.
    if (model != &f64_model) {
      CHECK(total.sharp_rows * 2 > total.elements);
      CHECK(total.surely_explained * 2 > total.elements);
      // The covariance of a rounded query is summed in the second look alone.
      if (model->operand == 0) CHECK(total.bounded * 2 > total.elements);
    }
  }
}

TEST_CASE("rounding_rows: ordinary rows are known to 10^-6 by the second pass") {
  gqa_test::Random random(11);
  // Fewer than about ten equal terms leave open how equal they are.
  for (const std::int64_t keys : {16, 300, 700}) {
    for (const PrecisionModel* model : precision_models()) {
      if (model == &f64_model) continue;
      const Plain plain(random, 3, keys, gqa_test::Draw::normal, gqa_test::Draw::normal);
      CAPTURE(model->name);
      CAPTURE(keys);
      const Sharpness found = check(plain.problem(), *model);
      CHECK(found.sharp_rows == found.elements);
      // In binary16 the worst case counts weights that underflow, by the largest value alone.
      if (model->weight_underflow == f32_model.weight_underflow) {
        CHECK(found.sharp_worst == found.elements);
      }
    }
  }
}

TEST_CASE("rounding_rows: a history cut into segments keeps the terms of its query") {
  gqa_test::Random random(12);
  FilterOptions options;
  options.key_block = options.key_segment = 64;
  const Plain plain(random, 2, 300, gqa_test::Draw::normal, gqa_test::Draw::normal);
  check(plain.problem(), f32_model, options);
}

TEST_CASE("rounding_rows: a coarse sum that loses small weights beside a large one is bounded") {
  gqa_test::Random random(13);
  Plain plain(random, 2, 300, gqa_test::Draw::normal, gqa_test::Draw::normal);
  // Scores 6 and 0: every key but the first weighs less than the sum's unit roundoff.
  std::ranges::fill(plain.query, 0.0);
  for (std::size_t r = 0; r < 2; ++r) {
    plain.query[r * 8] = 8;
    plain.query[r * 8 + 1] = 1e-6;  // no two are equal
  }
  for (std::size_t j = 0; j < 300; ++j) plain.key[j * 8] = j == 0 ? 6 / std::sqrt(8.0) : 0.0;
  for (double& v : plain.value) v = 1 + 0.01 * v;
  PrecisionModel model = f32_model;
  model.denominator = 0x1p-8;
  const Sharpness found = check(plain.problem(), model);
  CHECK(found.bounded == found.elements);
}

TEST_CASE("rounding_rows: the bound grows where keys and values are copies of three") {
  gqa_test::Random random(14);
  Plain plain(random, 2, 300, gqa_test::Draw::normal, gqa_test::Draw::normal);
  for (std::size_t j = 3; j < 300; ++j) {
    for (std::size_t t = 0; t < 8; ++t) plain.key[j * 8 + t] = plain.key[j % 3 * 8 + t];
    for (std::size_t c = 0; c < 4; ++c) plain.value[j * 4 + c] = plain.value[j % 3 * 4 + c];
  }
  // One step alone rounds coarsely: exponentials, weights or sums.
  for (double PrecisionModel::*unit :
       {&PrecisionModel::exponential, &PrecisionModel::weight, &PrecisionModel::denominator}) {
    PrecisionModel model = f32_model;
    model.*unit = 0x1p-10;
    for (const bool counted : {false, true}) {
      const Sharpness found = check(plain.problem(), model, {}, counted);
      CHECK(found.repeated == 8);
      CHECK(found.sharp_repeated == 8);
    }
  }
}
