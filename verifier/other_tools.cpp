#include "other_tools.hpp"

#include <algorithm>
#include <array>

#include "gqa/near_words.hpp"

namespace gqa::program {
namespace {

// A word in plain spelling (near_words.hpp), what to write for it, and the flag that it takes.
struct OtherWord {
  std::string_view word;
  std::string_view advice;
  std::string_view flag;
};

constexpr std::string_view write_scale = "write --scale";
constexpr std::string_view write_softcap = "write --softcap";
constexpr std::string_view write_causal = "write --causal, or --causal=top_left or =bottom_right";
constexpr std::string_view write_lengths =
    "write --lengths N,... for the keys of every batch entry";
constexpr std::string_view query_heads =
    "shapes say how many heads there are; a folded layout (BSH) needs --q-heads";
constexpr std::string_view kv_heads =
    "shapes say how many heads there are; a folded layout (BSH) needs --kv-heads";
constexpr std::string_view write_tolerance =
    "write --atol A --rtol R, --max-ulp N or --model NAME; without any, the rounding of the file's "
    "types decides";
constexpr std::string_view a_tensor =
    "a mask is a tensor of the recording: name it with --tensor attn_mask=NAME";
constexpr std::string_view types =
    "the file says what types its tensors have; --model says how the kernel computes, --type is of "
    "generated problems";
constexpr std::string_view reports =
    "text goes to standard output; write --json FILE, --html FILE or --junit FILE for others";

constexpr std::array other_words{
    OtherWord{"softmaxscale", write_scale, "--scale"},
    OtherWord{"smscale", write_scale, "--scale"},
    OtherWord{"scaling", write_scale, "--scale"},
    OtherWord{"scalefactor", write_scale, "--scale"},
    OtherWord{"qkscale", write_scale, "--scale"},
    OtherWord{"logitssoftcap", write_softcap, "--softcap"},
    OtherWord{"logitsoftcap", write_softcap, "--softcap"},
    OtherWord{"logitcap", write_softcap, "--softcap"},
    OtherWord{"attnlogitsoftcapping", write_softcap, "--softcap"},
    OtherWord{"softcapping", write_softcap, "--softcap"},
    OtherWord{"iscausal", write_causal, "--causal"},
    OtherWord{"unidirectional", write_causal, "--causal"},
    OtherWord{"windowsize",
              "write --window LEFT,RIGHT, the two numbers of window_size in flash-attention; -1 is "
              "unbounded",
              "--window"},
    OtherWord{"enablegqa",
              "nothing is needed: heads are grouped wherever there are fewer KV heads; --head-map "
              "says how",
              "--head-map"},
    OtherWord{"numheads", query_heads, "--q-heads"},
    OtherWord{"nheads", query_heads, "--q-heads"},
    OtherWord{"numqheads", query_heads, "--q-heads"},
    OtherWord{"numattentionheads", query_heads, "--q-heads"},
    OtherWord{"numkvheads", kv_heads, "--kv-heads"},
    OtherWord{"nkvheads", kv_heads, "--kv-heads"},
    OtherWord{"kvnumheads", kv_heads, "--kv-heads"},
    OtherWord{"numkeyvalueheads", kv_heads, "--kv-heads"},
    OtherWord{"seqlens", write_lengths, "--lengths"},
    OtherWord{"kvlens", write_lengths, "--lengths"},
    OtherWord{"cacheseqlens", write_lengths, "--lengths"},
    OtherWord{"seqlensk", write_lengths, "--lengths"},
    OtherWord{"nonpadkvseqlen", write_lengths, "--lengths"},
    OtherWord{"alibislopes", "write --alibi", "--alibi"},
    OtherWord{"sinks", "write --sink", "--sink"},
    OtherWord{"attentionsinks", "write --sink", "--sink"},
    OtherWord{"tolerance", write_tolerance, "--atol"},
    OtherWord{"tol", write_tolerance, "--atol"},
    OtherWord{"eps", write_tolerance, "--atol"},
    OtherWord{"precision", write_tolerance, "--atol"},
    OtherWord{"attnmask", a_tensor, "--tensor"},
    OtherWord{"mask", a_tensor, "--tensor"},
    OtherWord{"attnbias", a_tensor, "--tensor"},
    OtherWord{"dropout", "record without dropout: what it does cannot be audited", "--tensor"},
    OtherWord{"dropoutp", "record without dropout: what it does cannot be audited", "--tensor"},
    OtherWord{"dtype", types, "--model"},
    OtherWord{"device", "the audit runs on the processor; record anywhere", "--tensor"},
    OtherWord{"o", reports, "--json"},
    OtherWord{"output", reports, "--json"},
    OtherWord{"out", reports, "--json"},
    OtherWord{"format", reports, "--json"},
    OtherWord{"xml", reports, "--json"}};

}  // namespace

std::string_view meaning_elsewhere(std::string_view flag, const std::vector<std::string>& flags) {
  const std::string word = plain_spelling(flag);
  for (const OtherWord& other : other_words) {
    if (other.word == word && std::ranges::find(flags, other.flag) != flags.end()) {
      return other.advice;
    }
  }
  return "";
}

bool is_value_of_causal(std::string_view word) {
  constexpr std::array<std::string_view, 14> values{
      "true", "false", "yes",         "no",      "on",         "off",       "1",
      "0",    "onnx",  "bottomright", "topleft", "lowerright", "upperleft", "dialect"};
  return std::ranges::find(values, plain_spelling(word)) != values.end();
}

bool value_is_output(std::string_view flag) {
  constexpr std::array<std::string_view, 5> flags{"--json", "--html", "--junit", "--witness",
                                                  "--journal"};
  return std::ranges::find(flags, flag) != flags.end();
}

}  // namespace gqa::program
