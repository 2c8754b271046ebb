#include "gqa/io/contract_json.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "gqa/attention/dialect.hpp"
#include "gqa/error.hpp"
#include "gqa/io/json_reader.hpp"
#include "gqa/near_words.hpp"

namespace gqa {
namespace {

using nlohmann::json;

constexpr JsonReader contract_reader{"contract"};

// Numbers keep the decimal that they were written as: 0.1 means 1/10.
std::string number_text(const json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number())
    contract_reader.wrong_type(value, where, "a number or a string holding one");
  return value.dump();
}

std::int64_t head_count_of(const json& value, const std::string& where) {
  const std::int64_t count = contract_reader.integer(value, where);
  if (count <= 0) contract_reader.wrong_type(value, where, "a positive number of heads");
  return count;
}

HeadMap head_map_of(const json& value, const std::string& where) {
  if (value.is_string()) return parse_head_map(value.get<std::string>(), where);
  if (!value.is_array()) contract_reader.wrong_type(value, where, "a name or a list of KV heads");
  return {HeadMapKind::explicit_list, contract_reader.integers(value, where)};
}

Window window_of(const json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 2)
    contract_reader.wrong_type(value, where, "[left, right]");
  return {contract_reader.integer(value[0], where), contract_reader.integer(value[1], where)};
}

using Reader = std::function<void(const json&, Contract&, const std::string&)>;

const std::map<std::string, Reader>& field_readers() {
  using C = Contract;
  using S = std::string;
  static const std::map<std::string, Reader> readers{
      {"layout",
       [](const json& v, C& c, const S& w) { state_layouts(c, contract_reader.text(v, w), w); }},
      {"q_num_heads", [](const json& v, C& c, const S& w) { c.q_num_heads = head_count_of(v, w); }},
      {"kv_num_heads",
       [](const json& v, C& c, const S& w) { c.kv_num_heads = head_count_of(v, w); }},
      {"head_map", [](const json& v, C& c, const S& w) { c.head_map = head_map_of(v, w); }},
      {"scale",
       [](const json& v, C& c, const S& w) { c.scale = parse_scale(number_text(v, w), w); }},
      {"causal", [](const json& v, C& c, const S& w) { c.causal = contract_reader.flag(v, w); }},
      {"causal_alignment",
       [](const json& v, C& c, const S& w) {
         c.causal_alignment = parse_causal_alignment(contract_reader.text(v, w), w);
         c.stated.causal_alignment = true;
       }},
      {"window",
       [](const json& v, C& c, const S& w) {
         c.window = window_of(v, w);
         c.window_word.reset();
       }},
      {"softcap",
       [](const json& v, C& c, const S& w) { c.softcap = parse_rational(number_text(v, w), w); }},
      {"empty_row",
       [](const json& v, C& c, const S& w) {
         c.empty_row = parse_empty_row(contract_reader.text(v, w), w);
         c.stated.empty_row = true;
       }},
      {"lse_base",
       [](const json& v, C& c, const S& w) {
         c.lse.base =
             parse_lse_base(v.is_number_integer() ? v.dump() : contract_reader.text(v, w), w);
       }},
      {"lse_empty",
       [](const json& v, C& c, const S& w) {
         c.lse.empty = parse_lse_empty(contract_reader.text(v, w), w);
       }},
      {"lse_layout",
       [](const json& v, C& c, const S& w) {
         c.lse.layout = parse_lse_layout(contract_reader.text(v, w), w);
       }},
      {"dialect",
       [](const json& v, C& c, const S& w) {
         c.dialect = parse_dialect(contract_reader.text(v, w), w).name;
       }},
  };
  return readers;
}

// window and the dialects' words for it say the same thing: one of them may be there.
void require_one_window(const json& object, const std::string& where) {
  std::vector<std::string_view> names = window_words();
  names.push_back("window");
  std::string_view found;
  for (const std::string_view name : names) {
    if (!object.contains(name)) continue;
    if (!found.empty()) {
      throw InputError("contract.window_stated_twice", fmt::format("{}: {}", where, name),
                       fmt::format("{} is there too; one of them is expected", found));
    }
    found = name;
  }
}

bool read_window_word(const std::string& field, const json& value, Contract& contract,
                      const std::string& where) {
  for (const std::string_view word : window_words()) {
    if (field != word) continue;
    state_window(contract, word, contract_reader.integer(value, where), where);
    return true;
  }
  return false;
}

// "; did you mean causal?", or nothing.
std::string meant_field(const std::string& field) {
  std::vector<std::string_view> known;
  for (const auto& [name, reader] : field_readers()) known.push_back(name);
  const std::vector<std::string> near = near_words(field, known);
  return near.empty() ? "" : "; " + did_you_mean(near);
}

}  // namespace

void read_contract(const json& object, Contract& contract, const std::string& where) {
  if (!object.is_object())
    contract_reader.wrong_type(object, where, "an object of contract fields");
  require_one_window(object, where);
  for (const auto& [field, value] : object.items()) {
    if (read_window_word(field, value, contract, where + ": " + field)) continue;
    const auto reader = field_readers().find(field);
    if (reader == field_readers().end()) {
      throw InputError("contract.unknown_field", where + ": " + field,
                       "is not a field of the contract" + meant_field(field));
    }
    reader->second(value, contract, where + ": " + field);
  }
  try {
    validate(contract);
  } catch (const InputError& error) {
    throw error.within(where);
  }
}

nlohmann::ordered_json to_json(const Contract& contract) {
  nlohmann::ordered_json object;
  object["layout"] = layouts_text(contract);
  if (contract.q_num_heads) object["q_num_heads"] = *contract.q_num_heads;
  if (contract.kv_num_heads) object["kv_num_heads"] = *contract.kv_num_heads;
  if (contract.head_map.kind == HeadMapKind::explicit_list) {
    object["head_map"] = contract.head_map.list;
  } else {
    object["head_map"] = name(contract.head_map.kind);
  }
  object["scale"] = contract.scale ? to_text(*contract.scale) : std::string("default");
  object["causal"] = contract.causal;
  object["causal_alignment"] = name(contract.causal_alignment);
  if (contract.window_word) {
    object[contract.window_word->word] = contract.window_word->size;
  } else {
    object["window"] = {contract.window.left, contract.window.right};
  }
  object["softcap"] = to_text(contract.softcap);
  object["empty_row"] = name(contract.empty_row);
  // Of recordings without an lse they say nothing.
  if (contract.lse.base != LseForm{}.base) object["lse_base"] = name(contract.lse.base);
  if (contract.lse.empty != LseForm{}.empty) object["lse_empty"] = name(contract.lse.empty);
  if (contract.lse.layout != LseForm{}.layout) object["lse_layout"] = name(contract.lse.layout);
  if (!contract.dialect.empty()) object["dialect"] = contract.dialect;
  return object;
}

}  // namespace gqa
