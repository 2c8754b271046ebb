#include "gqa/theory/certificate_writer.hpp"

namespace gqa {

using nlohmann::ordered_json;

namespace {

template <class List>
ordered_json list_json(const List& list) {
  ordered_json json = ordered_json::array();
  for (const auto& entry : list) json.push_back(exact_json(entry));
  return json;
}

}  // namespace

ordered_json exact_json(const Rational& value) {
  return to_text(value);
}
ordered_json exact_json(const RationalVector& values) {
  return list_json(values);
}
ordered_json exact_json(const RationalMatrix& rows) {
  return list_json(rows);
}
ordered_json exact_json(const RationalMatrices& all) {
  return list_json(all);
}

ordered_json new_certificate(const char* kind) {
  return {{"schema", "gqaverify.certificate/1"}, {"kind", kind}};
}

}  // namespace gqa
