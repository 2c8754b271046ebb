// Which keys a row sees under a behaviour, and why it does not see the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gqa/diagnose/evaluate/behaviour.hpp"

namespace gqa {

/// The keys of one row.
struct RowKeys {
  std::int64_t position = 0;  ///< of the row on the key axis, in the document's own count
  std::int64_t document = 0;  ///< of a packed problem
  std::int64_t begin = 0;     ///< keys [begin, end) are the document's, up to its length
  std::int64_t end = 0;
  std::int64_t slots = 0;            ///< of the document from `begin` on, whatever its length
  std::vector<std::size_t> visible;  ///< that take part in the softmax, ascending
  std::vector<char> filled;          ///< per entry of `visible`: hidden by a rule, but not left out
  std::int64_t zeros_end = 0;        ///< keys below this hold zeros, whatever was put there
  /// Does the k-th visible key, and its value, read as zero?
  bool reads_zero(std::size_t k) const { return static_cast<std::int64_t>(visible[k]) < zeros_end; }
  std::vector<std::size_t> once_hidden;  ///< of an empty row: hidden by range or mask, not both
};

RowKeys keys_of_row(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                    std::int64_t row);

/// Does the mask allow this key, and what does a boolean mask add where it is a bias?
bool mask_allows(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                 std::int64_t row, std::int64_t key);

/// The mask's finite part at this place, 0 without one.
double mask_bias(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                 std::int64_t row, std::int64_t key);

}  // namespace gqa
