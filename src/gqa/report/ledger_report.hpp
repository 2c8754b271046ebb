// The byte ledger, for people and as JSON.
#pragma once

#include <gmpxx.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/theory/ledger.hpp"

namespace gqa {

/// A figure that somebody stated, beside the right one.
struct StatedFigure {
  std::string name;
  mpz_class stated;
  mpz_class exact;

  bool holds() const { return stated == exact; }
};

/// Everything that one call of the ledger says.
struct LedgerReport {
  std::string source;  ///< the configuration's path; empty: flags
  std::string model_type;
  std::vector<std::string> class_defaults;
  CacheModel model;
  CacheUse use;
  bool has_positions = false;  ///< without them there are no totals
  std::optional<mpz_class> budget;
  std::vector<StatedFigure> stated;

  /// Every stated figure is right.
  bool holds() const;
};

/// The figure of a name: "parameters", "parameters_per_layer", "bytes_per_layer_position",
/// "bytes_per_position", "bytes_per_position_beyond_windows", "bytes", "bytes_per_rank",
/// "bytes_in_all_ranks", "bytes_saved" (against as many KV heads as query heads), "positions"
/// (within the budget).
/// Errors: InputError at `where`: "ledger.unknown_figure"; "ledger.no_such_figure" if what it is
/// made of is not stated.
mpz_class ledger_figure(const LedgerReport& report, const std::string& name,
                        const std::string& where);

std::string ledger_text(const LedgerReport& report);

/// "gqaverify.ledger/1".
nlohmann::ordered_json ledger_json(const LedgerReport& report);

}  // namespace gqa
