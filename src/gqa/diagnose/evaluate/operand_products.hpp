// Dot products of query rows and keys in binary64, each taken once for all hypotheses.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gqa/diagnose/evaluate/operand_view.hpp"

namespace gqa {

/// A row of an operand as a walk reaches it.
struct RowOfView {
  const OperandView& view;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

/// A head of an operand as a walk reaches it.
struct HeadOfView {
  const OperandView& view;
  std::int64_t batch = 0;
  std::int64_t head = 0;
};

/// What many behaviours ask of the same rows: nearly all edits leave a row's products as they are.
/// A walk that an edit has changed is another entry. May be asked from several threads; keeps a
/// bounded number of numbers and computes the rest anew.
class OperandProducts {
 public:
  using Numbers = std::shared_ptr<const std::vector<double>>;

  /// q.k of every row of a key head; its width is the query's.
  Numbers dot_products(const RowOfView& query, const HeadOfView& keys);
  /// |k|_4^2 of every row of a key head; 0 where that is not finite.
  Numbers fourth_norms(const HeadOfView& keys, std::int64_t width);

 private:
  // Where the walks begin and how they go on.
  using Key = std::array<std::int64_t, 12>;
  struct Entry {
    Numbers numbers;
    std::array<FlatValues, 2> operands;  // kept alive: their addresses are in the key
  };
  template <class Compute>
  Numbers known_or(const Key& key, std::array<FlatValues, 2> operands, const Compute& compute);

  std::mutex mutex_;
  std::map<Key, Entry> known_;
  std::int64_t kept_ = 0;
};

}  // namespace gqa
