// Faults in one region: what is said of them, and where.
#include <doctest/doctest.h>

#include "diagnose/local/local_kernel.hpp"
#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/report/diagnosis_report.hpp"

using namespace gqa;
using test::LocalKernel;
using test::LocalRow;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// The first explanation of an audited case: names, region as JSON, sentence.
struct Told {
  std::string status, faults, region, sentence;
};

Told told(const AuditCase& entry) {
  Told result;
  REQUIRE(entry.diagnosis.has_value());
  result.status = std::string(name(entry.diagnosis->status));
  if (entry.diagnosis->explanations.empty()) return result;
  const Explanation& first = entry.diagnosis->explanations.front();
  result.faults = first.describe();
  result.region = region_json(first.region).dump();
  result.sentence = first.sentence();
  return result;
}

// Checks verdict, name, region and sentence.
void check(LocalKernel& kernel, const std::vector<float>& written, const Told& expected) {
  const AuditCase entry = kernel.audited(written);
  CHECK(entry.verdict == Verdict::fail);
  const Told found = told(entry);
  CHECK(found.status == expected.status);
  CHECK(found.faults == expected.faults);
  CHECK(found.region == expected.region);
  CHECK(found.sentence == expected.sentence);
}

template <class Body>
void for_each_kernel(const Body& body) {
  for (const ElementType type : {ElementType::binary32, ElementType::bfloat16}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      CAPTURE(name(type));
      CAPTURE(seed);
      LocalKernel kernel({}, type, seed);
      body(kernel);
    }
  }
}

}  // namespace

TEST_CASE("local faults: the right kernel passes without a name and without a finding") {
  for_each_kernel([](LocalKernel& kernel) {
    const AuditCase entry = kernel.audited(kernel.output);
    CHECK(entry.verdict == Verdict::pass);
    CHECK(told(entry).status == "none");
    CHECK(entry.diagnosis->explanations.empty());
  });
}

TEST_CASE("local faults: a rule of the catalogue in one head or batch entry alone") {
  for_each_kernel([](LocalKernel& kernel) {
    check(kernel, kernel.every_row([](auto, auto h, auto, LocalRow& row) {
      if (h == 1) row.visible = [](auto) { return true; };
    }),
          {"named", "causal.missing", R"({"heads":[[1,1]]})",
           "causal.missing in query head 1 alone"});
    check(
        kernel, kernel.every_row([](auto b, auto, auto, LocalRow& row) {
          if (b == 1) row.scale = 1;
        }),
        {"named", "scale.missing", R"({"batch":[[1,1]]})", "scale.missing in batch entry 1 alone"});
  });
}

TEST_CASE("local faults: keys that are skipped or counted twice, by tile and one by one") {
  for_each_kernel([](LocalKernel& kernel) {
    const auto without = [](std::int64_t first, std::int64_t last, double share) {
      return [=](std::int64_t j) { return first <= j && j <= last ? share : 1.0; };
    };
    check(kernel, kernel.every_row([&](auto, auto, auto i, LocalRow& row) {
      if (i >= 96) row.share = without(32, 63, 0);
    }),
          {"measured", "keys.skipped (keys 32 to 63 (a tile of 32))",
           R"({"rows":[[96,127]],"keys":[[32,63]]})",
           "rows 96 to 127 do not read keys 32 to 63 (a tile of 32)"});
    check(kernel, kernel.every_row([&](auto, auto, auto, LocalRow& row) {
      row.share = without(64, 95, 2);
    }),
          {"measured", "keys.counted_twice (keys 64 to 95 (a tile of 32))", R"({"keys":[[64,95]]})",
           "keys 64 to 95 are counted twice"});
    check(kernel, kernel.every_row([&](auto, auto, auto, LocalRow& row) {
      row.share = without(37, 37, 0);
    }),
          {"measured", "keys.skipped (key 37)", R"({"keys":[[37,37]]})", "key 37 is never read"});
  });
}

TEST_CASE("local faults: rows and columns that hold zero, NaN, or what belongs elsewhere") {
  for_each_kernel([](LocalKernel& kernel) {
    const auto size = static_cast<std::size_t>(kernel.s.size);
    const auto each_row = [&](auto body) {
      std::vector<float> o = kernel.output;
      for (std::int64_t b = 0; b < kernel.s.batch; ++b) {
        for (std::int64_t h = 0; h < kernel.s.q_heads; ++h) {
          for (std::int64_t i = 0; i < kernel.s.queries; ++i) {
            body(b, h, i, o.data() + kernel.place(b, h, i));
          }
        }
      }
      return o;
    };
    check(kernel, each_row([&](auto, auto, auto i, float* o) {
            if (i >= 122) std::fill(o, o + size, 0.0F);
          }),
          {"measured", "rows.not_written (zero)", R"({"rows":[[122,127]]})",
           "rows 122 to 127 are zero, in every head"});
    check(kernel, each_row([&](auto b, auto h, auto i, float* o) {
            if (b == 1 && h == 3 && i >= 16 && i < 32) std::fill(o, o + size, not_a_number);
          }),
          {"measured", "rows.not_written (NaN)",
           R"({"batch":[[1,1]],"heads":[[3,3]],"rows":[[16,31]]})",
           "rows 16 to 31 of batch 1, head 3 are NaN"});
    check(kernel, each_row([&](auto, auto, auto, float* o) { std::copy(o + 8, o + 12, o + 12); }),
          {"measured", "columns.copied (columns 8 to 11)", R"({"columns":[[12,15]]})",
           "columns 12 to 15 hold columns 8 to 11"});
    check(kernel, each_row([&](auto b, auto h, auto i, float* o) {
            if (i < 32 || i >= 64) return;
            const float* from = kernel.output.data() + kernel.place(b, h, i - 32);
            std::copy(from, from + size, o);
          }),
          {"measured", "rows.copied (rows 0 to 31)", R"({"rows":[[32,63]]})",
           "rows 32 to 63 hold rows 0 to 31"});
  });
}

TEST_CASE("local faults: heads that read another KV head, and tiles that take stale values") {
  for_each_kernel([](LocalKernel& kernel) {
    check(kernel, kernel.every_row([](auto, auto h, auto, LocalRow& row) {
      if (h == 3) row.kv_head = 0;
    }),
          {"measured", "head_map.other (0,0,1,0)", R"({"heads":[[3,3]]})",
           "query head 3 reads KV head 0"});
    check(kernel, kernel.every_row([](auto, auto, auto, LocalRow& row) {
      row.value_of = [](std::int64_t j) { return 64 <= j && j < 96 ? j - 32 : j; };
    }),
          {"measured", "values.stale (keys 64 to 95 take the values of keys 32 to 63)",
           R"({"keys":[[64,95]]})", "keys 64 to 95 take the values of keys 32 to 63"});
  });
}

TEST_CASE("local faults: an accumulator of one head that is not rescaled") {
  for_each_kernel([](LocalKernel& kernel) {
    check(kernel, kernel.every_row([](auto, auto h, auto, LocalRow& row) {
      if (h == 2) row.lost_tile = 32;
    }),
          {"measured", "accumulator.not_rescaled (tiles of 32 keys)", R"({"heads":[[2,2]]})",
           "query head 2: keys before the last growth of the maximum have another factor in the "
           "numerator than in the denominator (the accumulator of tiles of 32 keys is not "
           "rescaled)"});
  });
}

TEST_CASE("local faults: a diagonal that is one key short in every second tile of rows") {
  for_each_kernel([](LocalKernel& kernel) {
    check(kernel, kernel.every_row([](auto, auto, auto i, LocalRow& row) {
      if (i / 32 % 2 == 1) row.visible = [i](std::int64_t j) { return j < i; };
    }),
          {"measured", "causal.diagonal (keys up to p-1)",
           R"({"rows":{"tile":32,"every":2,"first":1}})",
           "one key too few at the diagonal in rows of odd tiles of 32"});
  });
}

TEST_CASE("local faults: what no rule explains is located") {
  for_each_kernel([](LocalKernel& kernel) {
    std::vector<float> shifted = kernel.output;
    for (std::int64_t c = 0; c < kernel.s.size; ++c) {
      shifted[kernel.place(0, 2, 40) + static_cast<std::size_t>(c)] += 0.05F;
    }
    const Told row = told(kernel.audited(shifted));
    CHECK(row.status == "located");
    CHECK(row.faults.empty());
    CHECK(row.region == R"({"batch":[[0,0]],"heads":[[2,2]],"rows":[[40,40]]})");
    CHECK(row.sentence.starts_with(
        "unexplained; one row (row 40 of batch 0, head 2), shifted by one constant (about 0.05"));
    std::vector<float> halved = kernel.output;
    test::Random random(7);
    for (float& x : halved) {
      if (random.one_in(400)) x *= 0.5F;
    }
    const Told scattered = told(kernel.audited(halved));
    CHECK(scattered.status == "located");
    CHECK(scattered.region == "{}");
    CHECK(scattered.sentence.find("scattered single elements") != std::string::npos);
    CHECK(scattered.sentence.ends_with("about half as large"));
  });
}

// Faults that are in no list, in a random region: whatever is named is wrong.
TEST_CASE("local faults: nothing in no list gets a name") {
  std::int64_t located = 0, unexplained = 0;
  for (const std::uint64_t seed : test::seeds(24)) {
    CAPTURE(seed);
    test::Random random(seed);
    const ElementType type = random.pick({ElementType::binary32, ElementType::bfloat16});
    LocalKernel kernel({.queries = 64, .keys = 64}, type, seed);
    const std::int64_t b = random.integer(0, 1), head = random.integer(0, 3);
    const std::int64_t first = random.integer(0, 40), last = first + random.integer(8, 23);
    const std::int64_t kind = random.integer(0, 3);
    CAPTURE(kind);
    std::vector<float> o = kernel.output;
    if (kind == 3) {
      // Every row drops keys of its own.
      o = kernel.every_row([&](auto batch, auto h, auto i, LocalRow& row) {
        if (batch != b || h != head || i < first || i > last) return;
        row.share = [i](std::int64_t j) { return (i * 5 + j * j * 7 + j) % 4 == 0 ? 0.0 : 1.0; };
      });
    }
    for (std::int64_t i = first; kind < 3 && i <= last; ++i) {
      float* row = o.data() + kernel.place(b, head, i);
      const auto factor = static_cast<float>(random.uniform(0.2, 3));
      for (std::int64_t c = 0; c < kernel.s.size; ++c) {
        if (kind == 0) row[c] = static_cast<float>(random.normal());
        if (kind == 1) row[c] *= factor;
        if (kind == 2) row[c] += static_cast<float>(0.2 * random.normal());
      }
    }
    const AuditCase entry = kernel.audited(o);
    const Told found = told(entry);
    CAPTURE(found.faults);
    CAPTURE(found.sentence);
    CHECK((found.status == "located" || found.status == "unexplained"));
    (found.status == "located" ? located : unexplained) += 1;
  }
  MESSAGE("located ", located, ", unexplained ", unexplained);
}

TEST_CASE("local faults: a missing newest key below every single rounding is a finding") {
  for (const std::uint64_t seed : test::seeds(3)) {
    CAPTURE(seed);
    // A chunk at the end of a long history: one key is a thousandth of the weights.
    LocalKernel kernel({.batch = 1, .q_heads = 4, .kv_heads = 1, .queries = 16, .keys = 1024},
                       ElementType::bfloat16, seed);
    const auto finds = [&](const std::vector<float>& written) {
      const AuditCase entry = kernel.audited(written);
      REQUIRE(entry.diagnosis.has_value());
      return std::pair(entry.verdict, entry.diagnosis->findings);
    };
    const auto [healthy, none] = finds(kernel.output);
    CHECK(healthy == Verdict::pass);
    CHECK(none.empty());
    const auto [verdict, findings] = finds(kernel.every_row([&](auto, auto, auto i, LocalRow& row) {
      const std::int64_t last = i + kernel.s.keys - kernel.s.queries;
      row.visible = [last](std::int64_t j) { return j < last; };
    }));
    if (verdict != Verdict::pass) continue;  // its rounding shows it already
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().starts_with("the errors look like a missing newest key: beta = "));
  }
}

TEST_CASE("local faults: pages of a cache in another order are told by the keys that are read") {
  for (const ElementType type : {ElementType::binary32, ElementType::bfloat16}) {
    CAPTURE(name(type));
    LocalKernel kernel({1, 4, 2, 1, 128, 32}, type, 5);
    kernel.contract.causal = false;
    const std::vector<std::int64_t> length{100};
    kernel.tensors.nonpad_kv_seqlen = integer_tensor({1}, length);
    // Page 0 of 64 keys comes last, and the length ends it after 36.
    const auto reordered = kernel.every_row([](auto, auto, auto, LocalRow& row) {
      row.visible = [](std::int64_t j) { return j < 36 || j >= 64; };
    });
    check(kernel, reordered,
          {"measured", "keys.reordered (pages of 32 (page 1 last) or 64 (page 0 last))", "{}",
           "keys 36 to 63 are not read, and keys 100 to 127 beyond the length of 100 are, as where "
           "pages of 32 (page 1 last) or 64 (page 0 last) keys are taken in another order"});
  }
}

TEST_CASE("local faults: a key that is not recorded is told by what all rows have in common") {
  for (const ElementType type : {ElementType::binary32, ElementType::bfloat16}) {
    CAPTURE(name(type));
    LocalKernel kernel({1, 8, 2, 1, 13, 64}, type, 6);
    const std::vector<float> read = kernel.every_row(
        [](auto, auto, auto, LocalRow& row) { row.visible = [](std::int64_t) { return true; }; });
    const auto without_last = [&](const TypedTensor& tensor) {
      const std::vector<double> all = decode(tensor, "tensor").data();
      std::vector<double> kept;
      for (std::size_t n = 0; n < all.size(); ++n) {
        if (n / 64 % 13 != 12) kept.push_back(all[n]);
      }
      return encoded_tensor(type, {1, 2, 12, 64}, kept);
    };
    kernel.tensors.key = without_last(*kernel.tensors.key);
    kernel.tensors.value = without_last(*kernel.tensors.value);
    check(kernel, read,
          {"measured", "keys.unrecorded (one more)", "{}",
           "one key more than those recorded is read, with a value that none of them has (a length "
           "that is one too long, or a step that was written one slot late)"});
  }
}
