#include "gqa/audit/work/block_job.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "audit/outputs_support.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "gqa/audit/work/tally_record.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// As other machines do it: every block alone, the last one first, its tally sent as text.
class OneByOne : public BlockRunner {
 public:
  AuditTally run(const BlockJob& job) override {
    BlockMerge merge(job);
    for (std::int64_t block = job.count - 1; block >= 0; --block) {
      job.run(std::span(&block, 1), [&](std::int64_t finished, const AuditTally& tally) {
        CHECK(finished == block);
        ++blocks;
        merge.add(read_tally(nlohmann::json::parse(tally_record(tally).dump()), job.empty));
      });
    }
    return merge.take();
  }
  std::int64_t blocks = 0;
};

std::string text_of(const std::vector<OutputAudit>& outputs) {
  std::string text;
  for (const OutputAudit& output : outputs) {
    text += output.name + ": " + output.result.where + "\n" +
            tally_record(output.result.tally).dump() + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("block_job: blocks alone, in any order and through text find what one run finds") {
  std::int64_t blocks = 0;
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const oracle::RealProblem real = test::random_real_problem(random);
    const oracle::Rules& r = real.rules;
    ProblemTensors tensors = test::tensors_of(real);
    tensors.lse = test::tensor_of(ElementType::binary64, {r.batch, r.q_heads, r.queries},
                                  test::recorded_lse(real));
    tensors.qk_matmul_output_mode = 3;
    tensors.qk_matmul_output =
        test::tensor_of(ElementType::binary64, {r.batch, r.q_heads, r.queries, r.keys},
                        test::recorded_scores(real, 3));
    const AttentionProblem problem = make_problem(tensors, test::contract_of(real));
    AuditOptions options;
    // Tight, so that there are violations.
    options.tolerance = UlpTolerance{make_rational(1, 2)};
    options.use_filter = random.one_in(2);
    if (random.one_in(3)) options.sample = RowSample{random.integer(1, 9), seed};
    const std::string expected = text_of(audit_outputs(problem, tensors, options));
    OneByOne runner;
    options.runner = &runner;
    CHECK(text_of(audit_outputs(problem, tensors, options)) == expected);
    blocks += runner.blocks;
  }
  CHECK(blocks >= test::of_all_seeds(3 * 60));
}

TEST_CASE("block_job: the identity has what was stated and every option that decides") {
  struct Keep : BlockRunner {
    AuditTally run(const BlockJob& job) override {
      identity = job.identity;
      return run_here(job);
    }
    std::vector<IdentityField> identity;
  };
  test::Random random(1);
  const oracle::RealProblem real = test::random_real_problem(random);
  const AttentionProblem problem = make_problem(test::tensors_of(real), test::contract_of(real));
  const auto identity_of = [&](const std::function<void(AuditOptions&)>& change) {
    Keep runner;
    AuditOptions options;
    options.tolerance = UlpTolerance{4};
    options.identity = {{"path", "a file"}};
    change(options);
    options.runner = &runner;
    audit(problem, options);
    return runner.identity;
  };
  const auto plain = identity_of([](AuditOptions&) {});
  CHECK(plain.front() == IdentityField{"path", "a file"});
  const std::vector<std::function<void(AuditOptions&)>> changes{
      [](AuditOptions& o) { o.identity[0].value = "another"; },
      [](AuditOptions& o) { o.tolerance = UlpTolerance{5}; },
      [](AuditOptions& o) {
        o.tolerance = ModelTolerance{&f64_model, false, {}};
      },
      [](AuditOptions& o) { o.use_filter = false; },
      [](AuditOptions& o) { o.first_precision = 256; },
      [](AuditOptions& o) { o.largest_precision = 1024; },
      [](AuditOptions& o) {
        o.sample = RowSample{1, 0};
      },
  };
  for (const auto& change : changes) CHECK(identity_of(change) != plain);
  CHECK(identity_of([](AuditOptions& o) {
          o.sample = RowSample{1, 0};
        }) != identity_of([](AuditOptions& o) {
          o.sample = RowSample{1, 1};
        }));
  CHECK(identity_of([](AuditOptions& o) {
          o.tolerance = ModelTolerance{&f64_model, true, {}};
        }) != identity_of([](AuditOptions& o) {
          o.tolerance = ModelTolerance{&f64_model, false, {}};
        }));
}
