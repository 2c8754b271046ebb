// Certificates of the ranks of recorded groups.
#pragma once

#include <nlohmann/json.hpp>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Bounds that a certificate states.
struct SpectrumBounds {
  Rational least_participation, most_participation, least_stable, most_stable;
};

/// The certificate "enclosed_group_rank" of the query heads that read the KV head, batch 0: an
/// approximate inverse and direction from binary64, which the checker judges.
/// Preconditions: causal attention with the default scale and without window, bias, sink, softcap;
/// projection [D, Hq dv].
nlohmann::ordered_json enclosed_rank_certificate(const AttentionProblem& problem,
                                                 const Tensor<double>& projection,
                                                 std::int64_t kv_head,
                                                 const SpectrumBounds& bounds);

}  // namespace gqa
