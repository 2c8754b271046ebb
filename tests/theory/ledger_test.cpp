#include "gqa/theory/ledger.hpp"

#include <doctest/doctest.h>

#include "gqa/report/ledger_report.hpp"
#include "gqa/theory/certificate.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

const StorageFormat two_bytes = storage_format(ElementType::binary16);

CacheModel model_of(std::int64_t layers, std::int64_t q_heads, std::int64_t kv_heads,
                    std::int64_t size) {
  CacheModel model;
  model.q_num_heads = q_heads;
  model.kv_num_heads = kv_heads;
  model.key_size = size;
  model.value_size = size;
  model.layers = {{layers, std::nullopt}};
  model.key_format = two_bytes;
  model.value_format = two_bytes;
  return model;
}

CacheUse use_of(std::int64_t batch, std::int64_t positions) {
  CacheUse use;
  use.batch = batch;
  use.positions = positions;
  return use;
}

mpz_class parameters_of(std::int64_t hidden, std::int64_t q_heads, std::int64_t kv_heads) {
  CacheModel model = model_of(1, q_heads, kv_heads, hidden / q_heads);
  model.hidden_size = hidden;
  return projection_parameters(model)->total();
}

// An independent count: every element of every head of every kept position, one by one.
std::int64_t counted_bytes(const CacheModel& model, const CacheUse& use) {
  std::int64_t bytes = 0;
  const auto row = [](const StorageFormat& format, std::int64_t size) {
    std::int64_t total = 0;
    for (std::int64_t element = 0; element < size; ++element) {
      if (element % format.block_elements == 0) total += format.block_bytes;
    }
    return total;
  };
  for (const CacheLayers& like : model.layers) {
    for (std::int64_t layer = 0; layer < like.count; ++layer) {
      std::int64_t kept = 0;
      for (std::int64_t position = 0; position < use.positions; ++position) {
        if (!like.window || position >= use.positions - *like.window) ++kept;
      }
      while (kept % use.page_size != 0) ++kept;
      for (std::int64_t head = 0; head < model.kv_num_heads; ++head) {
        bytes +=
            use.batch * kept *
            (row(model.key_format, model.key_size) + row(model.value_format, model.value_size));
      }
    }
  }
  return bytes;
}

CacheModel random_model(test::Random& random) {
  const std::int64_t kv_heads = random.integer(1, 4);
  CacheModel model = model_of(1, kv_heads * random.integer(1, 4), kv_heads, random.integer(1, 70));
  model.value_size = random.integer(1, 70);
  model.partial_block = PartialBlock::pad;
  for (StorageFormat* format : {&model.key_format, &model.value_format}) {
    *format = parse_storage_format(random.pick({"float32", "bfloat16", "q8_0", "q4_1", "7/3"}), "");
  }
  model.layers.clear();
  for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
    model.layers.push_back({random.integer(1, 3), std::nullopt});
    if (random.one_in(2)) model.layers.back().window = random.integer(1, 12);
  }
  return model;
}

}  // namespace

TEST_CASE("ledger: the stated worked examples of projection parameters") {
  CHECK(parameters_of(16, 4, 2) == 768);
  CHECK(parameters_of(16, 4, 4) == 1024);
  CHECK(parameters_of(1024, 16, 4) == 2621440);
  CacheModel model = model_of(1, 16, 4, 64);
  model.hidden_size = 1024;
  CHECK(projection_parameters(model)->key == 256 * 1024);
  model.hidden_size.reset();
  CHECK_FALSE(projection_parameters(model).has_value());
}

TEST_CASE("ledger: an explicit head size counts in the projections, not hidden_size / heads") {
  // Qwen3-32B: 64 heads of 128 are 8192 wide, beside a hidden size of 5120.
  CacheModel model = model_of(64, 64, 8, 128);
  model.hidden_size = 5120;
  CHECK(projection_parameters(model)->query == 5120L * 8192);
  CHECK(projection_parameters(model)->key == 5120L * 1024);
  CHECK(projection_parameters(model)->output == 8192L * 5120);
}

TEST_CASE("ledger: 32 to 4 KV heads at 2048 positions of 128 saves 29,360,128 bytes a layer") {
  const CacheUse use = use_of(1, 2048);
  const mpz_class saved =
      cache_bytes(model_of(1, 32, 32, 128), use) - cache_bytes(model_of(1, 32, 4, 128), use);
  CHECK(saved == 29360128);
  CHECK(saved == 28 * (1 << 20));
}

TEST_CASE("ledger: 1 GiB for 32 layers, 2 sequences of 4096, 8 KV heads, and its variants") {
  const mpz_class gib = mpz_class(1) << 30;
  const CacheModel model = model_of(32, 32, 8, 128);
  CHECK(cache_bytes(model, use_of(2, 4096)) == 1073741824);
  CHECK(layer_bytes(model, model.layers[0], use_of(2, 4096)) == 32 << 20);
  // 8,388,608 elements in the keys of a layer: half of its bytes, two bytes each.
  CHECK(layer_bytes(model, model.layers[0], use_of(2, 4096)) == 2 * 2 * mpz_class(8388608));
  CHECK(cache_bytes(with_kv_heads(model, 32), use_of(2, 4096)) == 4 * gib);
  CHECK(cache_bytes(with_kv_heads(model, 1), use_of(2, 4096)) == gib / 8);
  CHECK(cache_bytes(with_kv_heads(model, 32), use_of(2, 1024)) == gib);
  CHECK(cache_bytes(model, use_of(8, 4096)) == 4 * gib);
}

TEST_CASE("ledger: 2 GiB against 512 MiB at width 4096, 32 heads, 8 KV heads, 4096 positions") {
  CHECK(cache_bytes(model_of(32, 32, 32, 128), use_of(1, 4096)) == mpz_class(2) << 30);
  CHECK(cache_bytes(model_of(32, 32, 8, 128), use_of(1, 4096)) == 512 << 20);
}

TEST_CASE("ledger: bytes count KV heads, not query heads") {
  CHECK(bytes_per_position(model_of(32, 32, 8, 128)) == 131072);
  CHECK(bytes_per_position(model_of(32, 32, 32, 128)) == 524288);
}

TEST_CASE("ledger: 262,144 bytes with 64 layers of heads of 128") {
  CHECK(bytes_per_position(model_of(64, 64, 8, 128)) == 262144);
  CHECK(bytes_per_position(model_of(64, 64, 8, 5120 / 64)) == 163840);
}

TEST_CASE("ledger: 524,288 per token, 16,384 per layer") {
  const CacheModel model = model_of(32, 32, 32, 128);
  CHECK(bytes_per_position(model) == 524288);
  CHECK(bytes_per_layer_position(model) == 16384);
}

TEST_CASE("ledger: only 24 of 93 layers hold a cache") {
  CacheModel model = model_of(24, 8, 2, 64);
  model.layers_without_cache = 69;
  CHECK(bytes_per_position(model) == 24 * bytes_per_layer_position(model));
  // The wrong number is 31/8 of it.
  CHECK(bytes_per_position(model_of(93, 8, 2, 64)) * 8 == bytes_per_position(model) * 31);
  LedgerReport report;
  report.model = model;
  CHECK(ledger_json(report)["model"]["layers"] == 93);
  CHECK(ledger_json(report)["model"]["layers_with_cache"] == 24);
}

TEST_CASE("ledger: 2 KV heads on 8 ranks are one whole head each") {
  const CacheModel model = model_of(1, 8, 2, 64);
  CacheUse use = use_of(1, 100);
  use.ranks = 8;
  const RankShare share = rank_share(model, use);
  CHECK(share.kv_heads_per_rank == 1);
  CHECK(share.replicas == 4);
  CHECK(share.bytes_per_rank == cache_bytes(model, use) / 2);
  CHECK(share.bytes_in_all == 4 * cache_bytes(model, use));
}

TEST_CASE("ledger: which KV heads a rank holds") {
  const auto first_heads = [](std::int64_t kv_heads, std::int64_t ranks) {
    CacheUse use;
    use.ranks = ranks;
    const RankShare share = rank_share(model_of(1, 12 * kv_heads, kv_heads, 4), use);
    std::vector<std::int64_t> heads;
    for (std::int64_t rank = 0; rank < ranks; ++rank) heads.push_back(share.first_kv_head(rank));
    return heads;
  };
  CHECK(first_heads(2, 2) == std::vector<std::int64_t>{0, 1});
  CHECK(first_heads(2, 4) == std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(first_heads(12, 4) == std::vector<std::int64_t>{0, 3, 6, 9});
  for (const std::int64_t kv_heads : {1, 2, 3, 4, 6, 8}) {
    for (const std::int64_t ranks : {1, 2, 3, 4, 6, 8, 12, 24}) {
      if (kv_heads % ranks != 0 && ranks % kv_heads != 0) continue;
      const std::vector<std::int64_t> heads = first_heads(kv_heads, ranks);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(kv_heads);
        CAPTURE(ranks);
        CHECK(heads[static_cast<std::size_t>(rank)] == rank * kv_heads / ranks);
      }
    }
  }
}

TEST_CASE("ledger: a windowed layer keeps min(S, window) positions, whole pages of them") {
  CacheModel model = model_of(1, 2, 1, 1);
  model.layers = {{1, 10}};
  const auto kept = [&](std::int64_t positions, std::int64_t page) {
    CacheUse use = use_of(1, positions);
    use.page_size = page;
    return kept_positions(model.layers[0], use);
  };
  CHECK(kept(9, 1) == 9);
  CHECK(kept(10, 1) == 10);
  CHECK(kept(11, 1) == 10);
  CHECK(kept(11, 16) == 16);
  CHECK(kept(11, 4) == 12);
  CHECK(kept(0, 4) == 0);
  CHECK(bytes_per_position(model) == 4);
  CHECK(bytes_per_position_beyond_windows(model) == 0);
}

TEST_CASE(
    "ledger: q8_0 takes 34 bytes for 32 elements, and a part of a block is refused or padded") {
  CacheModel model = model_of(1, 1, 1, 128);
  model.key_format = parse_storage_format("q8_0", "");
  CHECK(bytes_per_layer_position(model) == 4 * 34 + 128 * 2);
  model.key_format = parse_storage_format("34/32", "");
  CHECK(bytes_per_layer_position(model) == 4 * 34 + 128 * 2);
  model.key_size = 100;
  CHECK(test::refusal_of([&] { validate(model); }) == "ledger.partial_block at key_size");
  model.partial_block = PartialBlock::pad;
  validate(model);
  CHECK(bytes_per_layer_position(model) == 4 * 34 + 128 * 2);
  model.key_size = 96;
  CHECK(bytes_per_layer_position(model) == 3 * 34 + 128 * 2);
}

TEST_CASE("ledger: block formats have the sizes of ggml's structs") {
  const auto bytes = [](const char* name) { return parse_storage_format(name, "").block_bytes; };
  CHECK(bytes("q8_0") == 34);
  CHECK(bytes("q5_1") == 24);
  CHECK(bytes("q5_0") == 22);
  CHECK(bytes("q4_1") == 20);
  CHECK(bytes("q4_0") == 18);
  CHECK(bytes("iq4_nl") == 18);
  CHECK(bytes("float32") == 4);
  CHECK(bytes("float8_e5m2") == 1);
}

TEST_CASE("ledger: unknown types and block formats are refused at their place") {
  const auto refusal = [](const char* text) {
    return test::refusal_of([&] { parse_storage_format(text, "--type"); });
  };
  CHECK(refusal("q3_0") == "ledger.unknown_type at --type");
  CHECK(refusal("") == "ledger.unknown_type at --type");
  CHECK(refusal("int64") == "ledger.unknown_type at --type");
  for (const char* text : {"0/32", "34/0", "-34/32", "34/", "/32", "3.5/2", "34/32/1"}) {
    CAPTURE(text);
    CHECK(refusal(text) == "ledger.bad_block_format at --type");
  }
}

TEST_CASE("ledger: totals equal a count of every element, with blocks, windows and pages") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const CacheModel model = random_model(random);
    CacheUse use = use_of(random.integer(1, 3), random.integer(0, 20));
    use.page_size = random.integer(1, 5);
    CAPTURE(seed);
    CHECK(cache_bytes(model, use) == counted_bytes(model, use));
    if (use.positions == 0) continue;
    const auto verdict = check_certificate(certificate_of(model, use).dump(), "c.json");
    INFO(verdict.reason);
    CHECK(verdict.verified);
  }
}

TEST_CASE("ledger: the positions within a budget fit, and one more does not") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const CacheModel model = random_model(random);
    CacheUse use = use_of(random.integer(1, 3), 0);
    use.page_size = random.integer(1, 5);
    use.ranks = random.pick({std::int64_t{1}, model.kv_num_heads, 2 * model.kv_num_heads});
    const mpz_class budget = static_cast<long>(random.integer(0, 20000));
    const auto positions = positions_within(model, use, budget);
    const auto fits = [&](std::int64_t tried) {
      CacheUse at = use;
      at.positions = tried;
      return rank_share(model, at).bytes_per_rank <= budget;
    };
    CAPTURE(seed);
    if (!positions) {
      CHECK(fits(1'000'000'000));
      continue;
    }
    CHECK(fits(positions->get_si()));
    CHECK_FALSE(fits(positions->get_si() + 1));
  }
}

TEST_CASE("ledger: sizes beyond 64 bits are exact") {
  const std::int64_t large = 1LL << 30;
  const mpz_class expected = mpz_class(1) << (30 + 30 + 30 + 30 + 2 + 30);
  CHECK(cache_bytes(model_of(large, large, large, large), use_of(large, large)) == expected);
  const mpz_class budget = mpz_class(1) << 200;
  const CacheModel one = model_of(1, 1, 1, 1);
  CHECK(positions_within(one, use_of(1, 0), budget) == mpz_class(budget / 4));
}

TEST_CASE("ledger: bad shapes are refused at the field") {
  const auto refusal = [](auto change) {
    CacheModel model = model_of(2, 4, 2, 8);
    CacheUse use = use_of(1, 1);
    change(model, use);
    return test::refusal_of([&] {
      validate(model);
      validate(model, use);
    });
  };
  using M = CacheModel&;
  using U = CacheUse&;
  CHECK(refusal([](M, U) {}) == "none");
  CHECK(refusal([](M m, U) { m.q_num_heads = 3; }) == "ledger.heads_not_divisible at kv_num_heads");
  CHECK(refusal([](M m, U) { m.q_num_heads = 0; }) == "ledger.not_positive at q_num_heads");
  CHECK(refusal([](M m, U) { m.kv_num_heads = -2; }) == "ledger.not_positive at kv_num_heads");
  CHECK(refusal([](M m, U) { m.key_size = 0; }) == "ledger.not_positive at key_size");
  CHECK(refusal([](M m, U) { m.value_size = -1; }) == "ledger.not_positive at value_size");
  CHECK(refusal([](M m, U) { m.hidden_size = 0; }) == "ledger.not_positive at hidden_size");
  CHECK(refusal([](M m, U) { m.layers.clear(); }) == "ledger.not_positive at layers");
  CHECK(refusal([](M m, U) { m.layers[0].count = 0; }) == "ledger.not_positive at layers");
  CHECK(refusal([](M m, U) { m.layers[0].window = 0; }) == "ledger.not_positive at window");
  CHECK(refusal([](M m, U) { m.layers_without_cache = -1; }) ==
        "ledger.not_positive at layers_without_cache");
  CHECK(refusal([](M, U u) { u.batch = 0; }) == "ledger.not_positive at batch");
  CHECK(refusal([](M, U u) { u.positions = -1; }) == "ledger.not_positive at positions");
  CHECK(refusal([](M, U u) { u.ranks = 0; }) == "ledger.not_positive at ranks");
  CHECK(refusal([](M, U u) { u.page_size = 0; }) == "ledger.not_positive at page_size");
  CHECK(refusal([](M, U u) { u.ranks = 3; }) == "ledger.ranks_not_divisible at ranks");
  CHECK(refusal([](M, U u) { u.ranks = 8; }) == "ledger.ranks_not_divisible at ranks");
  CHECK(refusal([](M, U u) { u.ranks = 4; }) == "none");
  CHECK(test::refusal_of([] { positions_within(model_of(1, 1, 1, 1), CacheUse(), -1); }) ==
        "ledger.not_positive at budget");
}
