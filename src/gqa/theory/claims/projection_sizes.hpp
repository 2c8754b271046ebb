// Parameters of the four projections of an attention layer, counted from their shapes.
#pragma once

#include <gmpxx.h>

namespace gqa::claim_instances {

/// A layer of width D = Hq d whose weights are [outputs, inputs], without biases.
struct ProjectionSizes {
  long model_size, q_heads, kv_heads;
  long head_size() const { return model_size / q_heads; }
  long key_rows() const { return kv_heads * head_size(); }
  mpz_class query_weight() const { return mpz_class(q_heads * head_size()) * model_size; }
  mpz_class key_weight() const { return mpz_class(key_rows()) * model_size; }
  mpz_class value_weight() const { return key_weight(); }
  mpz_class output_weight() const { return mpz_class(model_size) * (q_heads * head_size()); }
  mpz_class total() const {
    return query_weight() + key_weight() + value_weight() + output_weight();
  }
};

}  // namespace gqa::claim_instances
