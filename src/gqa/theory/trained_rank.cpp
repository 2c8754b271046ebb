#include "gqa/theory/trained_rank.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "gqa/attention/attention.hpp"
#include "gqa/error.hpp"
#include "gqa/theory/modular_matrix.hpp"

namespace gqa {
namespace {

constexpr long working_bits = 256;

std::size_t extent(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

Ball finite_ball(double value, const char* where) {
  if (!std::isfinite(value)) {
    throw InputError("rank.not_finite", where, "holds a number that is not finite");
  }
  return Ball(value);
}

// One KV head with the query heads that read it.
class Group {
 public:
  Group(const AttentionProblem& problem, std::int64_t batch, std::int64_t kv_head)
      : problem_(problem), d_(problem.dimensions), batch_(batch), kv_head_(kv_head) {
    for (std::int64_t h = 0; h < d_.q_heads; ++h) {
      if (problem.head_map[extent(h)] == kv_head) heads_.push_back(h);
    }
  }

  GroupRank rank() const {
    GroupRank result;
    result.batch = batch_;
    result.kv_head = kv_head_;
    result.query_heads = heads_;
    result.rows = d_.queries;
    result.columns = columns();
    if (heads_.empty()) return result;
    const Spectrum found = spectrum(gram(outputs()));
    // Full column rank is all that a positive definite A can show.
    if (found.positive_definite) result.certified_rank = columns();
    result.participation_ratio = found.participation_ratio;
    result.stable_rank = found.stable_rank;
    if (problem_.output) result.recorded_rank = recorded_rank();
    return result;
  }

 private:
  std::int64_t columns() const { return static_cast<std::int64_t>(heads_.size()) * d_.value_size; }

  Tensor<Ball> history(const History& from, std::int64_t width, const char* name) const {
    Tensor<Ball> result({1, 1, d_.keys, width});
    for (std::int64_t j = 0; j < d_.keys; ++j) {
      for (std::int64_t c = 0; c < width; ++c) {
        result.data()[extent(j * width + c)] =
            finite_ball(from.value(batch_, kv_head_, j, c), name);
      }
    }
    return result;
  }

  // C^T, so that columns of C are contiguous: [1, 1, G d_v, T].
  Tensor<Ball> outputs() const {
    const Tensor<Ball> key = history(problem_.key, d_.key_size, "key");
    const Tensor<Ball> value = history(problem_.value, d_.value_size, "value");
    const BallNumbers::Values values(value.data(), extent(d_.keys), extent(d_.value_size));
    const Ball scale = problem_.scale_ball();
    const Ball softcap(problem_.contract.softcap);
    Tensor<Ball> transposed({1, 1, columns(), d_.queries});
    std::vector<Ball> query(extent(d_.key_size)), output(extent(d_.value_size));
    for (std::size_t g = 0; g < heads_.size(); ++g) {
      for (std::int64_t i = 0; i < d_.queries; ++i) {
        for (std::int64_t c = 0; c < d_.key_size; ++c) {
          query[extent(c)] = finite_ball(problem_.query.value(batch_, heads_[g], i, c), "query");
        }
        const std::vector<std::size_t> visible = problem_.visibility.keys_of(batch_, heads_[g], i);
        std::optional<Ball> sink;
        if (const auto logit = problem_.sink_of(heads_[g])) sink.emplace(*logit);
        RowOperands<BallNumbers> row;
        row.query = query;
        row.key = key.matrix(0, 0);
        row.values = &values;
        row.scale = &scale;
        row.softcap = &softcap;
        row.sink = sink ? &*sink : nullptr;
        row.visible = visible;
        RowResult<BallNumbers> result;
        result.output = output;
        attend_row(row, extent(d_.keys), result);
        for (std::size_t c = 0; c < output.size(); ++c) {
          transposed.matrix(0, 0)(g * output.size() + c, extent(i)) = output[c];
        }
      }
    }
    return transposed;
  }

  static Tensor<Ball> gram(const Tensor<Ball>& transposed) {
    const auto rows = transposed.matrix(0, 0);
    Tensor<Ball> result({1, 1, transposed.extent(2), transposed.extent(2)});
    for (std::size_t a = 0; a < rows.rows(); ++a) {
      for (std::size_t b = a; b < rows.rows(); ++b) {
        const Ball entry = dot(rows.row(a).data(), rows.row(b).data(), rows.columns());
        result.matrix(0, 0)(a, b) = entry;
        result.matrix(0, 0)(b, a) = entry;
      }
    }
    return result;
  }

  // Floats are dyadic: an odd prime divides no denominator.
  std::int64_t recorded_rank() const {
    ModularMatrix c(extent(d_.queries), extent(columns()));
    for (std::int64_t i = 0; i < d_.queries; ++i) {
      std::size_t column = 0;
      for (const std::int64_t h : heads_) {
        for (std::int64_t k = 0; k < d_.value_size; ++k, ++column) {
          const double value = problem_.output->value(batch_, h, i, k);
          // What is no number adds no rank.
          if (!std::isfinite(value)) continue;
          c.row(extent(i))[column] = residue(Rational(value), c.prime()).value_or(0);
        }
      }
    }
    return static_cast<std::int64_t>(c.rank());
  }

  const AttentionProblem& problem_;
  const Dimensions& d_;
  std::int64_t batch_;
  std::int64_t kv_head_;
  std::vector<std::int64_t> heads_;
};

// Is the enclosed number known to about 10 digits?
bool is_sharp(const Ball& x) {
  if (!x.is_finite()) return false;
  const Rational width = x.upper() - x.lower();
  return width <= abs(x.lower()) * power_of_two(-33);
}

}  // namespace

bool GroupRank::certified() const {
  return certified_rank > 0 && certified_rank == full_rank() && is_sharp(participation_ratio) &&
         is_sharp(stable_rank);
}

std::vector<GroupRank> group_ranks(const AttentionProblem& problem) {
  if (problem.alibi_slopes) {
    throw InputError("rank.bias", "alibi_slopes", "scores with slopes are not covered");
  }
  if (problem.bias) throw InputError("rank.bias", "attn_mask", "a float mask is not covered");
  const std::int64_t heads = problem.dimensions.kv_heads;
  std::vector<GroupRank> ranks(extent(problem.dimensions.batch * heads));
  tbb::parallel_for(std::size_t{0}, ranks.size(), [&](std::size_t at) {
    const PrecisionScope precision(working_bits);
    const auto index = static_cast<std::int64_t>(at);
    ranks[at] = Group(problem, index / heads, index % heads).rank();
  });
  return ranks;
}

}  // namespace gqa
