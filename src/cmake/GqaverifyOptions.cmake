# Flags that every target of the project is compiled with.
#
# Certified bounds need IEEE semantics: no -ffast-math, no contraction that the
# source does not ask for, no flush to zero (docs: THEORY of the filter).
option(GQAVERIFY_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(GQAVERIFY_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize= (empty: none)")

add_library(gqaverify_options INTERFACE)
target_compile_features(gqaverify_options INTERFACE cxx_std_20)
target_compile_options(gqaverify_options INTERFACE
  -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor
  -ffp-contract=off -fno-fast-math)
if(GQAVERIFY_WARNINGS_AS_ERRORS)
  target_compile_options(gqaverify_options INTERFACE -Werror)
endif()
if(GQAVERIFY_SANITIZE)
  # The three that are left out double the time to compile; what they look for at every use of a
  # pointer, the address sanitizer sees as well.
  target_compile_options(gqaverify_options INTERFACE
    -fsanitize=${GQAVERIFY_SANITIZE} -fno-sanitize=null,object-size,vptr
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gqaverify_options INTERFACE -fsanitize=${GQAVERIFY_SANITIZE})
endif()

# Reading the headers of the standard library, fmt, JSON, GMP and Arb is half of the time that a
# file takes to compile. Compiler caches do not like precompiled headers: switch them off there.
option(GQAVERIFY_PRECOMPILED_HEADERS "Read common headers once per target" ON)
set(gqaverify_common_headers
  <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
  <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
  "${PROJECT_SOURCE_DIR}/src/gqa/num/ball.hpp" "${PROJECT_SOURCE_DIR}/src/gqa/num/rational.hpp")

# From a precompiled header GCC 12 takes warnings about what it inlines from the standard library (the
# copy of a string that it thinks may overlap) for warnings about this project.
function(gqaverify_quiet_standard_library target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE
      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

# gqaverify_precompile(TARGET HEADER...): the common headers and some more.
function(gqaverify_precompile target)
  if(GQAVERIFY_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} PRIVATE ${gqaverify_common_headers} ${ARGN})
  endif()
endfunction()
