// What the pictures of an audit show: declared against found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gqa/audit/decide/tally.hpp"
#include "gqa/audit/enclose/element_bounds.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Which KV head every query head reads.
struct HeadMapPicture {
  std::int64_t kv_heads = 0;
  std::vector<std::int64_t> declared;     ///< [Hq]
  std::vector<std::int64_t> found_key;    ///< [Hq]; empty: nothing else was found
  std::vector<std::int64_t> found_value;  ///< the same for V
};

/// How much of a block of rows and keys is visible.
enum class Share : char { none, some, all };

/// Which keys the query rows of one head see, in blocks where there are many.
struct VisibleKeysPicture {
  static constexpr std::int64_t most_cells = 40;  ///< along one axis

  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t rows = 0;  ///< T
  std::int64_t keys = 0;  ///< P + S
  std::int64_t rows_per_cell = 1;
  std::int64_t keys_per_cell = 1;
  bool every_row = true;         ///< false: some rows of each block were asked
  std::vector<Share> declared;   ///< [row cells, key cells]
  std::vector<Share> found;      ///< the same, empty: nothing else was found
  std::vector<char> is_missing;  ///< a declared key of the cell is not seen
  std::vector<char> is_extra;    ///< a key of the cell is seen and was not declared

  std::int64_t row_cells() const { return (rows + rows_per_cell - 1) / rows_per_cell; }
  std::int64_t key_cells() const { return (keys + keys_per_cell - 1) / keys_per_cell; }
};

struct AuditPictures {
  std::vector<ElementBounds> bounds;  ///< of the worst elements, and of some spread over all
  std::optional<HeadMapPicture> heads;
  std::optional<VisibleKeysPicture> visible_keys;
  std::string found_by;  ///< the explanation that "found" is of; empty: none
};

/// What an audited problem is seen to do: its declared rules, beside them those of the
/// diagnosis's first explanation. `worst`: the audit's worst elements.
///
/// `tensors` passed make_problem under `contract`. A packed problem comes document by document;
/// `diagnosis` is then that of the whole and its faults are drawn on the document alone.
/// Errors: those of make_problem and behaviour_of.
AuditPictures audit_pictures(const ProblemTensors& tensors, const Contract& contract,
                             const Tolerance& tolerance, std::span<const WorstElement> worst,
                             const Diagnosis* diagnosis);

}  // namespace gqa
