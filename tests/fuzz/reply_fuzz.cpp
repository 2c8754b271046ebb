// Fuzz target: what is read of a kernel's reply is in its range, whatever the bytes.
#include <cstring>

#include "fuzz/fuzz_target.hpp"
#include "gqa/kernel/host_protocol.hpp"

GQAVERIFY_FUZZ_TARGET(reply, ".reply") {
  using namespace gqa::host_protocol;
  Reply reply{};
  if (size > 0) std::memcpy(&reply, data, size < sizeof reply ? size : sizeof reply);
  const std::uint64_t number = reply.number;
  if (is_valid(reply, number + 1)) gqa::fuzz::fail();
  if (!is_valid(reply, number)) return 0;
  if (std::strlen(reply.text.data()) >= reply.text.size()) gqa::fuzz::fail();
  const bool answers = reply.kind == ReplyKind::returned || reply.kind == ReplyKind::threw;
  if (answers && !(reply.seconds >= 0)) gqa::fuzz::fail();
  if (reply.kind == ReplyKind::fault && !is_fatal_signal(reply.code)) gqa::fuzz::fail();
  return 0;
}
