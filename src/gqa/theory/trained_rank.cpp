#include "gqa/theory/trained_rank.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "gqa/attention/attention.hpp"
#include "gqa/error.hpp"
#include "gqa/num/arithmetic.hpp"
#include "gqa/theory/ball_matrix.hpp"
#include "gqa/theory/modular_matrix.hpp"

namespace gqa {
namespace {

constexpr long working_bits = 256;

Ball finite_ball(double value, const char* where) {
  if (!std::isfinite(value)) {
    throw InputError("rank.not_finite", where, "holds a number that is not finite");
  }
  return Ball(value);
}

// One KV head with the query heads that read it.
class Group {
 public:
  Group(const AttentionProblem& problem, const Tensor<double>* projection, std::int64_t batch,
        std::int64_t kv_head)
      : problem_(problem),
        projection_(projection),
        d_(problem.dimensions),
        batch_(batch),
        kv_head_(kv_head) {
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
    Tensor<Ball> output = outputs();
    if (projection_ != nullptr && !project(output)) return result;
    const Spectrum found = spectrum(gram(output));
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

  // W_h [d_v, d_model] of the head at that place in the group: row c, coordinate r of the model.
  double weight(std::size_t place, std::int64_t c, std::int64_t r) const {
    const std::int64_t width = d_.q_heads * d_.value_size;
    return projection_->data()[extent(r * width + heads_[place] * d_.value_size + c)];
  }

  // With W_h W_h^T = L L^T, the matrices C = O W and O L have the same C C^T, and so the same
  // rank and the same eigenvalues of C^T C but zeros. Replaces O by O L; false if L is not proved
  // to exist.
  bool project(Tensor<Ball>& transposed) const {
    const std::int64_t n = d_.value_size;
    for (std::size_t place = 0; place < heads_.size(); ++place) {
      std::vector<std::vector<Ball>> rows;
      for (std::int64_t c = 0; c < n; ++c) {
        std::vector<Ball>& row = rows.emplace_back();
        for (std::int64_t r = 0; r < projection_->extent(0); ++r) {
          row.push_back(finite_ball(weight(place, c, r), "output_projection"));
        }
      }
      BallMatrix product(n), factor(n);
      for (std::size_t a = 0; a < rows.size(); ++a) {
        for (std::size_t b = 0; b < rows.size(); ++b) {
          const Ball entry = dot(rows[a].data(), rows[b].data(), rows[a].size());
          arb_set(arb_mat_entry(product.get(), static_cast<slong>(a), static_cast<slong>(b)),
                  entry.get());
        }
      }
      if (!product.cholesky(factor)) return false;
      multiply(transposed, place, factor);
    }
    return true;
  }

  // The head's columns of O times the lower triangular L, in place from the first on.
  void multiply(Tensor<Ball>& transposed, std::size_t place, const BallMatrix& factor) const {
    const auto o = transposed.matrix(0, 0);
    const std::size_t n = extent(d_.value_size), first = place * n;
    for (std::size_t i = 0; i < o.columns(); ++i) {
      for (std::size_t c = 0; c < n; ++c) {
        Ball sum;
        for (std::size_t k = c; k < n; ++k) {
          sum += o(first + k, i) * factor.at(static_cast<slong>(k), static_cast<slong>(c));
        }
        o(first + c, i) = sum;
      }
    }
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

  // Floats are dyadic: an odd prime divides no denominator. What is no number adds no rank.
  static std::uint64_t float_residue(double value) {
    return std::isfinite(value) ? residue(Rational(value), rank_prime).value_or(0) : 0;
  }

  std::int64_t recorded_rank() const {
    ModularMatrix output(extent(d_.queries), extent(columns()));
    for (std::int64_t i = 0; i < d_.queries; ++i) {
      std::size_t column = 0;
      for (const std::int64_t h : heads_) {
        for (std::int64_t k = 0; k < d_.value_size; ++k, ++column) {
          output.row(extent(i))[column] = float_residue(problem_.output->value(batch_, h, i, k));
        }
      }
    }
    if (projection_ == nullptr) return static_cast<std::int64_t>(output.rank());
    return static_cast<std::int64_t>((output * modular_projection()).rank());
  }

  // The W_h on the diagonal: [G d_v, G d_model].
  ModularMatrix modular_projection() const {
    const std::int64_t model = projection_->extent(0);
    ModularMatrix result(extent(columns()), heads_.size() * extent(model));
    for (std::size_t place = 0; place < heads_.size(); ++place) {
      for (std::int64_t c = 0; c < d_.value_size; ++c) {
        const auto row = result.row(place * extent(d_.value_size) + extent(c));
        for (std::int64_t r = 0; r < model; ++r) {
          row[place * extent(model) + extent(r)] = float_residue(weight(place, c, r));
        }
      }
    }
    return result;
  }

  const AttentionProblem& problem_;
  const Tensor<double>* projection_;
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

std::vector<GroupRank> group_ranks(const AttentionProblem& problem,
                                   const Tensor<double>* output_projection) {
  if (problem.alibi_slopes) {
    throw InputError("rank.bias", "alibi_slopes", "scores with slopes are not covered");
  }
  if (problem.bias) throw InputError("rank.bias", "attn_mask", "a float mask is not covered");
  const std::int64_t width = problem.dimensions.q_heads * problem.dimensions.value_size;
  if (output_projection != nullptr &&
      (output_projection->shape().size() != 2 || output_projection->extent(1) != width)) {
    throw InputError("rank.projection_shape", "output_projection",
                     "shape " + to_text(output_projection->shape()) + " does not take the heads' " +
                         std::to_string(width) + " values");
  }
  const std::int64_t heads = problem.dimensions.kv_heads;
  std::vector<GroupRank> ranks(extent(problem.dimensions.batch * heads));
  tbb::parallel_for(std::size_t{0}, ranks.size(), [&](std::size_t at) {
    const PrecisionScope precision(working_bits);
    const auto index = static_cast<std::int64_t>(at);
    ranks[at] = Group(problem, output_projection, index / heads, index % heads).rank();
  });
  return ranks;
}

}  // namespace gqa
