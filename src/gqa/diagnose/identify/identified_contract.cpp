#include "gqa/diagnose/identify/identified_contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "gqa/attention/dialect.hpp"
#include "gqa/attention/layout_fit.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/attention/recorded_forms.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/identify/contract_proposal.hpp"
#include "gqa/diagnose/identify/hypothesis_search.hpp"
#include "gqa/error.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

using namespace identification;  // NOLINT: this file is its door

constexpr std::size_t rows_searched = 6;
constexpr std::size_t layouts_searched = 12;
constexpr std::size_t layouts_kept = 3;  // for the later stages
// Rows of one head that agree to a tenth are worth an audit.
constexpr double promising = 1e-2;

// The declared contract without what is searched for.
Contract plain_contract(const Contract& declared) {
  Contract plain = resolve_dialect(declared);
  plain.causal = false;
  plain.window = {};
  plain.scale.reset();
  plain.softcap = 0;
  plain.head_map = {};
  return plain;
}

// The recording as it is, or with a tensor taken for what people often mean by it.
struct Variant {
  std::vector<PackedDocument> documents;
  ProblemTensors tensors;  // of the document with most rows
  std::vector<std::string> flags = {};
};

Variant variant_of(const ProblemTensors& tensors, const Contract& declared) {
  Variant variant{cut_documents(tensors, declared), {}};
  variant.tensors = std::ranges::max_element(variant.documents, {}, [](const PackedDocument& one) {
                      return one.tensors.query ? one.tensors.query->size() : 0;
                    })->tensors;
  return variant;
}

// One layout, and the rows of one head read under it.
struct Reading {
  const Variant* variant = nullptr;
  Contract plain;
  std::unique_ptr<AttentionProblem> problem;
  std::unique_ptr<RowReader> reader;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t kv_head = 0;
  std::vector<SearchRow> rows;
  double best = 2;  // misfit so far
};

bool take_rows(Reading& reading, std::int64_t head, std::int64_t kv_head) {
  const Dimensions& d = reading.problem->dimensions;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    reading.rows = reading.reader->spread(b, head, kv_head, rows_searched);
    if (reading.rows.empty()) continue;
    reading.batch = b;
    reading.head = head;
    reading.kv_head = kv_head;
    return true;
  }
  return false;
}

std::int64_t usual_kv_head(const Dimensions& d, std::int64_t head) {
  return head * d.kv_heads / d.q_heads;
}

class ContractSearch {
 public:
  ContractSearch(const ProblemTensors& tensors, const Contract& declared,
                 const IdentifyOptions& options)
      : whole_(tensors), declared_(resolve_dialect(declared)), options_(options) {
    variants_.push_back(std::make_unique<Variant>(variant_of(whole_, declared_)));
    add_padding_mask();
    add_left_padding();
  }

  IdentifiedContract run() {
    if (!whole_.output)
      throw InputError("contract.missing_tensor", "output", "is needed and absent");
    if (!options_.declared_fails && declared_holds()) return std::move(result_);
    for (const auto& variant : variants_) read_layouts(*variant);
    if (readings_.empty()) make_problem(variants_.front()->tensors, declared_);  // says why
    for (const SearchStage stage : search_stages) {
      for (Reading& reading : readings_) {
        if (try_stage(reading, stage)) return std::move(result_);
      }
      keep_best_layouts();
    }
    if (try_other_heads()) return std::move(result_);
    tell_nearest();
    return std::move(result_);
  }

 private:
  // A mask of two axes is one of rows; many hold one of batch entries.
  void add_padding_mask() {
    const auto& mask = whole_.attn_mask;
    if (!mask || mask->shape.size() != 2) return;
    ProblemTensors other = whole_;
    other.attn_mask = padding_mask(*mask);
    variants_.push_back(std::make_unique<Variant>(variant_of(other, declared_)));
    variants_.back()->flags = {"--tensor padding_mask=attn_mask"};
  }

  void add_left_padding() {
    if (!whole_.nonpad_kv_seqlen || whole_.attn_mask) return;
    ProblemTensors other = whole_;
    try {
      count_lengths_from_the_end(other, make_problem(whole_, declared_).dimensions);
    } catch (const InputError&) {
      return;
    }
    variants_.push_back(std::make_unique<Variant>(variant_of(other, declared_)));
    variants_.back()->flags = {"--left-padding"};
  }

  bool time_is_up() {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    if (spent.count() > options_.seconds) result_.cut_short = true;
    return result_.cut_short;
  }

  // The worst of all documents.
  std::optional<OutputAudit> audited(const Variant& variant, const Contract& contract,
                                     const AddedOperands& added, std::int64_t sample) {
    ++result_.candidates;
    std::optional<OutputAudit> worst;
    for (const PackedDocument& document : variant.documents) {
      ProblemTensors own = document.tensors;
      std::optional<OutputAudit> audit;
      try {
        const AttentionProblem sized = make_problem(own, contract);
        add_operands(own, added, sized.dimensions);
        audit = audit_of(own, make_problem(own, contract), sample);
      } catch (const InputError&) {
        return std::nullopt;
      }
      const bool is_worse = !worst || (worst->result.verdict == Verdict::pass &&
                                       audit->result.verdict != Verdict::pass);
      if (is_worse) worst.emplace(std::move(*audit));
    }
    return worst;
  }

  OutputAudit audit_of(ProblemTensors tensors, const AttentionProblem& problem,
                       std::int64_t sample) const {
    AuditOptions options = options_.audit;
    if (sample > 0) {
      // What passes is audited in full.
      options.sample = RowSample{sample, 1};
      options.self_check = false;
      options.prove_violations = false;
    }
    ProblemTensors only;
    only.output = tensors.output;
    if (options_.tolerance) {
      options.tolerance = *options_.tolerance;
      return audit_outputs(problem, only, options).front();
    }
    // A model that is none of the types' own explains nothing here.
    ModelTolerance tolerance;
    std::optional<OutputAudit> first;
    for (const PrecisionModel* model : candidate_models(problem, only)) {
      tolerance.model = model;
      tolerance.tried.push_back(model);
      options.tolerance = tolerance;
      OutputAudit audit = audit_outputs(problem, only, options).front();
      if (audit.result.verdict == Verdict::pass) return audit;
      if (!first) first = std::move(audit);
    }
    return std::move(*first);
  }

  bool declared_holds() {
    auto audit = audited(*variants_.front(), declared_, {}, 0);
    if (!audit || audit->result.verdict != Verdict::pass) return false;
    result_.fit = ContractFit::declared;
    result_.contract = declared_;
    result_.audit = std::move(audit);
    tell_hidden(*variants_.front());
    return true;
  }

  void read_layouts(const Variant& variant) {
    const Contract plain = plain_contract(declared_);
    const ProblemTensors& tensors = variant.tensors;
    for (const Contract& layout : fitting_layouts(tensors, plain, layouts_searched)) {
      if (whole_.cu_seqlens_q && layout.layout_of(Operand::query) != Layout::thd) continue;
      Reading reading;
      reading.variant = &variant;
      reading.plain = layout;
      try {
        reading.problem = std::make_unique<AttentionProblem>(make_problem(tensors, layout));
      } catch (const InputError&) {
        continue;
      }
      reading.reader =
          std::make_unique<RowReader>(*reading.problem, tensors.nonpad_kv_seqlen != nullptr);
      const Dimensions& d = reading.problem->dimensions;
      for (std::int64_t h = 0; h < d.q_heads && reading.rows.empty(); ++h) {
        take_rows(reading, h, usual_kv_head(d, h));
      }
      if (!reading.rows.empty()) readings_.push_back(std::move(reading));
    }
  }

  SearchSettings settings_of(const Reading& reading) const {
    const Dimensions& d = reading.problem->dimensions;
    SearchSettings settings;
    settings.alignment = declared_.causal_alignment;
    settings.scale = 1 / std::sqrt(static_cast<double>(d.key_size));
    settings.slope = standard_alibi_slopes(d.q_heads)[extent(reading.head)];
    return settings;
  }

  bool is_possible(const Reading& reading, SearchStage stage) const {
    const bool alibi = stage == SearchStage::alibi || stage == SearchStage::alibi_softcap ||
                       stage == SearchStage::sink_alibi;
    const bool sink = stage == SearchStage::sink || stage == SearchStage::sink_softcap ||
                      stage == SearchStage::sink_alibi;
    return !(alibi && reading.problem->alibi_slopes) && !(sink && reading.problem->sink);
  }

  bool try_stage(Reading& reading, SearchStage stage) {
    if (time_is_up() || !is_possible(reading, stage)) return false;
    if (options_.progress) options_.progress(layout_flags(reading.plain));
    const std::vector<FittedHypothesis> fits =
        search_stage(reading.rows, stage, settings_of(reading),
                     reading.problem->output->format().unit_roundoff());
    constexpr std::size_t tried = 5;
    bool found = false;
    for (std::size_t i = 0; i < std::min(fits.size(), tried); ++i) {
      if (!(fits[i].hypothesis.misfit < promising) && i > 0) continue;
      reading.best = std::min(reading.best, fits[i].hypothesis.misfit);
      Proposal proposal = completed(*reading.reader, reading.plain, fits[i], reading.batch,
                                    reading.head, reading.kv_head);
      proposal.reading = reading.variant->flags;
      proposal.rules = rule_cost(fits[i], settings_of(reading));
      if (found) {
        note_equivalent(*reading.variant, proposal);
        continue;
      }
      found = is_right(*reading.variant, proposal);
      // What fits but for a few elements is the contract; no other rule will mend those.
      if (!found && is_right_but_for_a_few(*reading.variant, proposal, reading)) return true;
      rules_found_ = proposal.rules;
    }
    if (found) tell_hidden(*reading.variant);
    return found;
  }

  // Audits a proposal: a sample first, then all.
  bool is_right(const Variant& variant, const Proposal& given) {
    Proposal proposal = given;
    if (proposal.misfit < nearest_.misfit) {
      nearest_ = proposal;
      nearest_variant_ = &variant;
    }
    if (!(proposal.misfit < promising)) return false;
    constexpr std::int64_t sample = 64;
    for (const EmptyRow policy : {declared_.empty_row, EmptyRow::nan, EmptyRow::mean}) {
      proposal.contract.empty_row = policy;
      proposal.contract.stated.empty_row = true;
      auto audit = audited(variant, proposal.contract, proposal.added, sample);
      if (!audit || audit->result.verdict != Verdict::pass) {
        if (!audit || !may_have_empty_rows(proposal)) return false;
        continue;
      }
      audit = audited(variant, proposal.contract, proposal.added, 0);
      if (audit && audit->result.verdict == Verdict::pass) {
        take(proposal, ContractFit::found, std::move(audit));
        return true;
      }
      if (!may_have_empty_rows(proposal)) return false;
    }
    return false;
  }

  bool is_right_but_for_a_few(const Variant& variant, const Proposal& proposal,
                              const Reading& reading) {
    const double roundoff = reading.problem->output->format().unit_roundoff();
    constexpr double roundings = 16;
    if (proposal.misfit > square(roundings * std::max(roundoff, 0x1p-24))) return false;
    constexpr std::int64_t few = 20;  // at most one element of so many
    constexpr std::int64_t sample = 256;
    const auto sampled = audited(variant, proposal.contract, proposal.added, sample);
    const auto is_few = [](const std::optional<OutputAudit>& audit) {
      return audit && few * audit->result.tally.violations < audit->result.tally.elements;
    };
    if (!is_few(sampled)) return false;
    auto audit = audited(variant, proposal.contract, proposal.added, 0);
    if (!is_few(audit)) return false;
    take(proposal, ContractFit::nearest, std::move(audit));
    return true;
  }

  static bool may_have_empty_rows(const Proposal& proposal) {
    return proposal.contract.causal || !proposal.contract.window.is_unbounded() ||
           proposal.added.lengths;
  }

  void take(const Proposal& proposal, ContractFit fit, std::optional<OutputAudit> audit) {
    result_.fit = fit;
    result_.contract = proposal.contract;
    result_.added = proposal.added;
    result_.notes = proposal.notes;
    result_.flags = flags_of(proposal, declared_);
    result_.audit = std::move(audit);
  }

  void note_equivalent(const Variant& variant, const Proposal& proposal) {
    if (!(proposal.misfit < promising) || proposal.rules > rules_found_) return;
    const std::string flags = fmt::format("{}", fmt::join(flags_of(proposal, declared_), " "));
    if (flags == result_.flags_text() ||
        std::ranges::find(result_.equivalents, flags) != result_.equivalents.end()) {
      return;
    }
    constexpr std::int64_t sample = 256;
    const auto audit = audited(variant, proposal.contract, proposal.added, sample);
    if (audit && audit->result.verdict == Verdict::pass) result_.equivalents.push_back(flags);
  }

  // A layout that is wrong stays wrong with more rules.
  void keep_best_layouts() {
    std::ranges::stable_sort(readings_, {}, &Reading::best);
    if (readings_.size() > layouts_kept) readings_.resize(layouts_kept);
  }

  // Another KV head for the head that was searched, or another head: something may be wrong with
  // the first one alone.
  bool try_other_heads() {
    for (Reading& reading : readings_) {
      const Dimensions& d = reading.problem->dimensions;
      for (std::int64_t kv_head = 0; kv_head < d.kv_heads; ++kv_head) {
        if (kv_head == reading.kv_head || !take_rows(reading, reading.head, kv_head)) continue;
        if (try_stage(reading, SearchStage::plain)) return true;
      }
      const std::int64_t last = d.q_heads - 1;
      if (last == reading.head || !take_rows(reading, last, usual_kv_head(d, last))) continue;
      if (try_stage(reading, SearchStage::plain)) return true;
    }
    return false;
  }

  void tell_nearest() {
    std::optional<OutputAudit> nearest;
    if (nearest_.misfit < 1) {
      nearest = audited(*nearest_variant_, nearest_.contract, nearest_.added, 0);
    }
    std::optional<OutputAudit> declared;
    if (options_.declared_audit != nullptr) {
      declared = *options_.declared_audit;
    } else {
      declared = audited(*variants_.front(), declared_, {}, 0);
    }
    const auto violations = [](const std::optional<OutputAudit>& audit) {
      return audit ? audit->result.tally.violations : std::numeric_limits<std::int64_t>::max();
    };
    if (nearest && violations(nearest) < violations(declared)) {
      take(nearest_, ContractFit::nearest, std::move(nearest));
    } else if (declared) {
      take({declared_, {}, {}, 1}, ContractFit::nearest, std::move(declared));
    }
    // Where most elements are off, nothing has been learnt.
    if (result_.audit &&
        2 * result_.audit->result.tally.violations > result_.audit->result.tally.elements) {
      result_.fit = ContractFit::none;
    }
  }

  void tell_hidden(const Variant& variant) {
    ProblemTensors own = variant.tensors;
    add_operands(own, result_.added, make_problem(own, result_.contract).dimensions);
    const DiagnosisCase problem =
        make_diagnosis_case(own, result_.contract, result_.audit->tolerance);
    result_.hidden = hidden_faults(problem, problem.declared);
  }

  const ProblemTensors& whole_;
  Contract declared_;
  const IdentifyOptions& options_;
  std::vector<std::unique_ptr<Variant>> variants_;
  std::vector<Reading> readings_;
  Proposal nearest_{.contract = {}, .added = {}, .notes = {}, .misfit = 2};
  const Variant* nearest_variant_ = nullptr;
  int rules_found_ = 0;
  IdentifiedContract result_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string_view name(ContractFit fit) {
  switch (fit) {
    case ContractFit::declared:
      return "declared";
    case ContractFit::found:
      return "found";
    case ContractFit::nearest:
      return "nearest";
    case ContractFit::none:
      return "none";
  }
  return "?";
}

std::string IdentifiedContract::flags_text() const {
  return fmt::format("{}", fmt::join(flags, " "));
}

IdentifiedContract identify_contract(const ProblemTensors& tensors, const Contract& declared,
                                     const IdentifyOptions& options) {
  const PlainRecording plain = plain_recording(tensors, declared);
  return ContractSearch(plain.tensors, plain.contract, options).run();
}

}  // namespace gqa
