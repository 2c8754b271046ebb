// What TileAuditor keeps of a tile while it decides it.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gqa/audit/filter/tile_auditor.hpp"

namespace gqa {

// One element of a tile against its reference.
struct TileAuditor::Element {
  std::size_t r;
  std::int64_t column;
  double output;
  double centre;
  double radius;
  Interval error;
  Interval magnitude;
  Interval ulps;
  /// At least what running sums lose, where the element was left open: LikelyColumn::lost_values.
  double lost_values = std::numeric_limits<double>::infinity();
  /// What it is allowed at least, as far as the tile knew.
  double allowed_at_least = 0;
};

// What is known of an element: whether it is within, and what it may be off by.
struct TileAuditor::Answer {
  ElementDecision decision;
  Interval allowed{0, std::numeric_limits<double>::infinity()};
};

// What of a row the tile's sums left open.
struct TileAuditor::OpenRow {
  std::size_t r;
  std::vector<Element> elements;
  bool nulls = false;  // the row's null outputs are asked, too
};

// What is at hand while a tile is audited.
struct TileAuditor::Work {
  const FilterTile& tile;
  AuditTally& tally;
  std::vector<double> outputs = {};                // of the current row, padded for vectors
  std::vector<double> sure_errors = {};            // of the current row: surely_within's ulp_errors
  std::vector<double> sure_shares = {};            // and its shares
  std::shared_ptr<const EqualHistory> equal = {};  // where the model rounds values
  std::optional<LikelyInterval> likely = {};       // of the current row
  std::vector<OpenRow> open_rows = {};             // waiting for more
  std::unique_ptr<RoundingRows> rounding_rows = {};  // made when first needed
  std::vector<std::int64_t> open_columns = {};
  NullRow nulls = {};                // of the current row
  std::int64_t unrefuted_asked = 0;  // rows whose null outputs were asked a second time
  std::map<std::size_t, FilterVerdicts> checked = {};  // of the rows that will be asked again

  void note(std::size_t r, std::int64_t column, Uncertain within) {
    if (const auto row = checked.find(r); row != checked.end()) {
      row->second[static_cast<std::size_t>(column)] = within;
    }
  }
};

}  // namespace gqa
