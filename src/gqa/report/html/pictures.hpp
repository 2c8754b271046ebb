// The pictures of an audit. `id` is the prefix of identifiers, of its own for every picture.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gqa/audit/decide/error_map.hpp"
#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/diagnose/cases/audit_pictures.hpp"
#include "gqa/num/rational.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// What the axes of a heat map are.
struct HeatAxes {
  std::int64_t heads = 0;  ///< of one batch entry
  const char* head = "query head";
  const char* row = "query row";  ///< in full
  const char* unit = "row";       ///< in short
};

/// The largest certified error of each head and row, in blocks where there are many; with parts,
/// the blocks themselves are enlarged behind. Empty if the map keeps nothing.
Markup heat_map_picture(const std::string& id, const ErrorMap& map, const HeatAxes& axes,
                        bool with_parts = true);

/// How many elements have which error, with what the tolerance allows.
/// `elements`: all, so that those without an error in ulp can be named.
Markup histogram_picture(const std::string& id, const ErrorMap& map, const Tolerance& tolerance,
                         std::span<const ElementBounds> bounds, std::int64_t elements);

/// "Found (head_map.tiled)", of the explanation that a found picture is of; "" without one.
std::string found_title(const std::string& found_by);

/// Query heads wired to the KV heads that they read, declared and found.
/// `found`: the title of the found map.
Markup head_map_picture(const std::string& id, const HeadMapPicture& heads,
                        const std::string& found);

/// Which keys the rows of one head see, declared and found.
Markup visible_keys_picture(const std::string& id, const VisibleKeysPicture& keys,
                            const std::string& found_by);

/// Two values in the plane, the open segment between them, and outputs on it (or beside it).
struct SegmentPicture {
  std::vector<Rational> first;   ///< two coordinates
  std::vector<Rational> second;  ///< two coordinates
  struct Point {
    std::vector<Rational> at;
    bool attainable = true;
  };
  std::vector<Point> points;
};
Markup segment_picture(const std::string& id, const SegmentPicture& picture);

}  // namespace gqa::html
