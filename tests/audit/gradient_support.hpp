// Backward passes for the tests: operands, references in balls, and healthy kernels.
#pragma once

#include <memory>
#include <vector>

#include "audit/filter_support.hpp"
#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/gradient.hpp"
#include "gqa/audit/gradients/gradient_audit.hpp"
#include "gqa/audit/work/output_shape.hpp"

namespace gqa::test {

/// The problem's operands as numbers of system N, its bias and mask spread out.
template <class N, class Make>
Problem<N> formula_problem(const AttentionProblem& p, const Make& make) {
  const Dimensions& d = p.dimensions;
  Problem<N> problem;
  problem.contract = p.contract;
  // Past keys are keys like others; where the rows lie among them is for the mask to say.
  problem.contract.causal = false;
  problem.contract.window = {};
  problem.contract.layout = Layout::bhsd;
  const auto fill = [&](auto& to, const Shape& shape, const auto& value) {
    std::vector<typename N::Value> data;
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        for (std::int64_t s = 0; s < shape[2]; ++s) {
          for (std::int64_t c = 0; c < shape[3]; ++c) data.push_back(make(value(b, h, s, c)));
        }
      }
    }
    to = Tensor<typename N::Value>(shape, std::move(data));
  };
  fill(problem.query, p.query.shape(),
       [&](auto b, auto h, auto s, auto c) { return p.query.value(b, h, s, c); });
  fill(problem.key, {d.batch, d.kv_heads, d.keys, d.key_size},
       [&](auto b, auto h, auto s, auto c) { return p.key.value(b, h, s, c); });
  fill(problem.value, {d.batch, d.kv_heads, d.keys, d.value_size},
       [&](auto b, auto h, auto s, auto c) { return p.value.value(b, h, s, c); });
  const Shape scores{d.batch, d.q_heads, d.queries, d.keys};
  std::vector<char> mask;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      for (std::int64_t i = 0; i < d.queries; ++i) {
        for (std::int64_t j = 0; j < d.keys; ++j) {
          mask.push_back(p.visibility.visible(b, h, i, j) ? 1 : 0);
        }
      }
    }
  }
  problem.mask = Tensor<char>(scores, std::move(mask));
  return problem;
}

/// BallNumbers hold everything that a float problem states.
inline Problem<BallNumbers> ball_problem(const AttentionProblem& p) {
  const Dimensions& d = p.dimensions;
  auto problem = formula_problem<BallNumbers>(p, [](double x) { return Ball(x); });
  problem.scale = p.scale_ball();
  if (p.contract.softcap != 0) problem.softcap = Ball(p.contract.softcap);
  if (p.sink) {
    problem.sink.emplace();
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const auto logit = p.sink_of(h);
      problem.sink->push_back(logit ? Ball(*logit) : Ball(-1e300));
    }
  }
  if (!p.has_bias()) return problem;
  std::vector<Ball> bias;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      for (std::int64_t i = 0; i < d.queries; ++i) {
        for (std::int64_t j = 0; j < d.keys; ++j) {
          Ball added(0);
          if (p.bias) {
            const auto at = broadcast_index(p.bias->shape(), b, h, i, j);
            if (at) added = Ball(p.bias->data()[*at]);
          }
          if (p.alibi_slopes) {
            const double slope = (*p.alibi_slopes)[static_cast<std::size_t>(b * d.q_heads + h)];
            const auto distance = static_cast<double>(std::abs(p.visibility.position(b, i) - j));
            added -= Ball(slope) * Ball(distance);
          }
          bias.push_back(added);
        }
      }
    }
  }
  problem.bias = Tensor<Ball>({d.batch, d.q_heads, d.queries, d.keys}, std::move(bias));
  return problem;
}

inline Tensor<Ball> ball_tensor(const StridedTensor& tensor) {
  const Shape& shape = tensor.shape();
  std::vector<Ball> data;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t s = 0; s < shape[2]; ++s) {
        for (std::int64_t c = 0; c < shape[3]; ++c) data.emplace_back(tensor.value(b, h, s, c));
      }
    }
  }
  return {shape, std::move(data)};
}

/// The slow twin: the formula of gradient.hpp over the whole problem, in balls at the thread's
/// precision. Keys are past and current.
inline AttentionGradients<BallNumbers> ball_gradients(const AttentionProblem& p,
                                                      const GradientProblem& gradient) {
  std::optional<Tensor<Ball>> grad_lse;
  if (gradient.grad_lse) grad_lse = ball_tensor(*gradient.grad_lse);
  return attention_gradients(ball_problem(p), ball_tensor(gradient.grad_output),
                             grad_lse ? &*grad_lse : nullptr);
}

/// [B, Hq, T] as [B, Hq, T, 1].
inline std::optional<StridedTensor> column_of(const std::shared_ptr<const TypedTensor>& tensor) {
  if (!tensor) return std::nullopt;
  return one_column(tensor, "grad_lse");
}

/// grad_lse [B, Hq, T].
inline std::shared_ptr<TypedTensor> drawn_grad_lse(gqa_test::Random& random,
                                                   const ProblemTensors& tensors,
                                                   ElementType type) {
  const Shape& query = tensors.query->shape;
  const Shape shape{query[0], query[1], query[2]};
  const auto kind = gqa_test::one_of(random, {gqa_test::Draw::normal, gqa_test::Draw::tiny,
                                              gqa_test::Draw::huge, gqa_test::Draw::integers});
  return gqa_test::tensor_of(
      shape, gqa_test::draw(random, kind, static_cast<std::size_t>(element_count(shape))), type);
}

/// grad_output [B, Hq, T, dv] of one kind of numbers.
inline std::shared_ptr<TypedTensor> drawn_grad_output(gqa_test::Random& random,
                                                      const ProblemTensors& tensors,
                                                      gqa_test::Draw kind, ElementType type) {
  Shape shape = tensors.query->shape;
  shape[3] = tensors.value->shape[3];
  return gqa_test::tensor_of(
      shape, gqa_test::draw(random, kind, static_cast<std::size_t>(element_count(shape))), type);
}

/// Numbers rounded to `type`, in the shape of the current keys where `past` rows are to be left
/// out of [B, H, past + S, x].
inline std::shared_ptr<TypedTensor> rounded_tensor(const Tensor<Ball>& exact, std::int64_t past,
                                                   ElementType type) {
  Shape shape = exact.shape();
  shape[2] -= past;
  std::vector<double> values;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      const auto rows = exact.matrix(b, h);
      for (std::size_t r = static_cast<std::size_t>(past); r < rows.rows(); ++r) {
        // A ball about zero is zero here: equal values, one key.
        for (const Ball& x : rows.row(r)) {
          values.push_back(x.contains_zero() ? 0.0 : x.midpoint_double());
        }
      }
    }
  }
  return gqa_test::tensor_of(shape, values, type);
}

/// Puts correctly rounded gradients into `tensors`, which hold grad_output.
inline void record_gradients(ProblemTensors& tensors, const Contract& contract, ElementType type) {
  const AttentionProblem problem = make_problem(tensors, contract);
  const GradientProblem gradient{problem,
                                 StridedTensor(tensors.grad_output, Layout::bhsd, 0, "grad_output"),
                                 column_of(tensors.grad_lse)};
  const PrecisionScope precision(256);
  const auto exact = ball_gradients(problem, gradient);
  tensors.grad_query = rounded_tensor(exact.query, 0, type);
  tensors.grad_key = rounded_tensor(exact.key, problem.dimensions.past, type);
  tensors.grad_value = rounded_tensor(exact.value, problem.dimensions.past, type);
}

inline AuditResult audit_gradient(const ProblemTensors& tensors, const Contract& contract,
                                  GradientKind kind, const AuditOptions& options,
                                  const GradientRule& rule = {}) {
  const AttentionProblem problem = make_problem(tensors, contract);
  return GradientAudit(problem, tensors, options, rule).audit(kind);
}

}  // namespace gqa::test
