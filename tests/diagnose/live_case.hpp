// Cases whose outputs a healthy kernel computed under one contract, to be diagnosed under another.
#pragma once

#include "diagnose/planted_faults.hpp"
#include "gqa/diagnose/diagnosis.hpp"
#include "kernel/random_call.hpp"

namespace gqa::test {

struct CaseSizes {
  std::int64_t batch = 1, q_heads = 4, kv_heads = 2, queries = 6, keys = 6;
  std::int64_t key_size = 4, value_size = 3;
};

/// Normal query, key and value in binary32.
inline ProblemTensors normal_problem(const CaseSizes& s, std::uint64_t seed = 1) {
  Random random(seed);
  ProblemTensors t;
  const ElementType type = ElementType::binary32;
  t.query = normal_tensor(random, type, {s.batch, s.q_heads, s.queries, s.key_size});
  t.key = normal_tensor(random, type, {s.batch, s.kv_heads, s.keys, s.key_size});
  t.value = normal_tensor(random, type, {s.batch, s.kv_heads, s.keys, s.value_size});
  return t;
}

/// The plain kernel's output in binary32.
inline std::shared_ptr<const TypedTensor> computed(const ProblemTensors& tensors,
                                                   const Contract& contract) {
  static KernelHost host = load_example_kernel("plain");
  const KernelRun run = host.run(tensors, contract, ElementType::binary32);
  if (!run.is_clean()) throw std::runtime_error(describe(run));
  return run.output;
}

/// What was computed under `real`, declared to be under `declared`, by the model f32.
inline DiagnosisCase misdeclared(ProblemTensors tensors, const Contract& real,
                                 const Contract& declared) {
  tensors.output = computed(tensors, real);
  return make_diagnosis_case(tensors, declared, ModelTolerance{&f32_model});
}

inline Diagnosis diagnosis_of(const DiagnosisCase& problem, const SearchOptions& options = {}) {
  return diagnose(std::span(&problem, 1), options);
}

}  // namespace gqa::test
