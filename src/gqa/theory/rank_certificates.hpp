// Ranks of a group as certificates: the witness with its operands, a minor and factors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/theory/rank_configuration.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// What the certificate "stacked_output_rank" holds but for the bounds, and the matrix it makes.
struct GroupRankOperands {
  nlohmann::ordered_json fields;  ///< quantity and operands, as the certificate states them
  RationalMatrix matrix;
};

/// The certificate "stacked_output_rank": the matrix has exactly its rank, by a minor modulo a
/// prime and, where the rank is less than its rows and columns, by factors.
/// Throws std::logic_error if the prime divides a denominator or hides the rank.
nlohmann::ordered_json rank_certificate(const GroupRankOperands& operands);

/// Of the witness with this seed (rank_witness.hpp); `own`: a history for each head.
GroupRankOperands values_of_witness(const RankConfiguration& configuration, std::uint64_t seed,
                                    bool own);
GroupRankOperands pattern_of_witness(const RankConfiguration& configuration, std::uint64_t seed);
GroupRankOperands stacked_output_of_witness(const RankConfiguration& configuration,
                                            std::uint64_t seed, bool own);
/// Precondition: there is a model size.
GroupRankOperands summed_output_of_witness(const RankConfiguration& configuration,
                                           std::uint64_t seed);
GroupRankOperands scores_of_witness(const RankConfiguration& configuration, std::uint64_t seed,
                                    bool along_heads, bool own);

/// Operands that a claim states itself: one history or one for each head, one pattern or one for
/// each head, projections or none (not summed then).
GroupRankOperands output_operands(const RationalMatrices& values, const RationalMatrices& patterns,
                                  const RationalMatrices& projections, std::size_t heads,
                                  bool summed);
GroupRankOperands score_operands(const RationalMatrices& queries, const RationalMatrices& keys,
                                 bool along_heads);

/// A certificate and what to call its file.
struct NamedCertificate {
  std::string name;
  nlohmann::ordered_json certificate;
};

/// The largest G N N, and N G d_v, of which certificates are written: they hold every weight.
inline constexpr std::int64_t largest_certified_weights = 1 << 14;

/// Those of every quantity of generic_ranks; the first witness of the seeds from `seed` on that has
/// the rank stated by `upper` for it is taken, or the best of four.
/// Errors: those of validate; InputError "rank.certificate_too_large" at "positions".
std::vector<NamedCertificate> rank_certificates(const RankConfiguration& configuration,
                                                std::uint64_t seed);

}  // namespace gqa
