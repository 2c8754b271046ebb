// What goes wrong with one input belongs to that input, not to the run.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

#include "gqa/error.hpp"

namespace gqa::program {

/// Calls `work`, and `on_error` with the InputError that it ended with. Memory that there is not
/// (std::bad_alloc, std::length_error) is one as well: "memory.exhausted" at `place`.
template <class Work, class OnError>
void with_errors_of(const std::string& place, Work work, OnError on_error) {
  try {
    work();
  } catch (const InputError& error) {
    on_error(error);
  } catch (const std::bad_alloc&) {
    on_error(InputError("memory.exhausted", place, "needs more memory than there is"));
  } catch (const std::length_error&) {
    on_error(InputError("memory.exhausted", place, "needs more memory than there can be"));
  }
}

}  // namespace gqa::program
