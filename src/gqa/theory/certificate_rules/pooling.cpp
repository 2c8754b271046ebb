#include <map>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

struct Group {
  RationalMatrices keys;
  RationalMatrices values;
};

Group read_group(CertificateFields& fields) {
  Group group{fields.matrices("keys"), fields.matrices("values")};
  require(group.keys.size() == group.values.size(), "there are not as many keys as values");
  require(group.keys[0].size() == group.values[0].size(), "there are not as many keys as values");
  return group;
}

// By key sum: the sum of value differences over all pairs of the first n positions.
using Differences = std::map<RationalVector, RationalVector>;

Differences differences(const Group& group, std::size_t head, std::size_t n) {
  const RationalMatrix pooled_keys = mean(group.keys);
  const RationalMatrix pooled_values = mean(group.values);
  Differences by_sum;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t l = 0; l < n; ++l) {
      RationalVector key_sum = group.keys[head][j];
      for (std::size_t c = 0; c < key_sum.size(); ++c) key_sum[c] += pooled_keys[l][c];
      CheckWork::spend(4 * (key_sum.size() + pooled_values[l].size()));
      RationalVector& sum = by_sum[key_sum];
      sum.resize(pooled_values[l].size());
      for (std::size_t c = 0; c < sum.size(); ++c) {
        sum[c] += group.values[head][j][c] - pooled_values[l][c];
      }
    }
  }
  return by_sum;
}

}  // namespace

std::string pooling_loss(CertificateFields& fields) {
  const Group group = read_group(fields);
  const std::int64_t head = fields.integer("head");
  const RationalVector key_sum = fields.vector("key_sum");
  const RationalVector difference = fields.vector("difference");
  require(head >= 0 && head < static_cast<std::int64_t>(group.keys.size()),
          "there is no such head");
  const Differences all = differences(group, static_cast<std::size_t>(head), group.keys[0].size());
  const auto found = all.find(key_sum);
  require(found != all.end(), "no pair of keys has this sum");
  require(found->second == difference, "the difference is not as stated");
  require(!is_zero(difference), "the difference is zero");
  return fmt::format("pooling these {} heads changes head {} for some query", group.keys.size(),
                     head);
}

std::string pooling_lossless(CertificateFields& fields) {
  const Group group = read_group(fields);
  const bool causal = fields.flag("causal");
  const std::size_t positions = group.keys[0].size();
  for (std::size_t n = causal ? 1 : positions; n <= positions; ++n) {
    for (std::size_t head = 0; head < group.keys.size(); ++head) {
      for (const auto& [key_sum, difference] : differences(group, head, n)) {
        require(is_zero(difference), "a difference is not zero: some query loses");
      }
    }
  }
  return fmt::format("pooling these {} heads changes no output of any query{}", group.keys.size(),
                     causal ? ", at any of the positions" : " over all positions");
}

}  // namespace gqa::certificate_rules
