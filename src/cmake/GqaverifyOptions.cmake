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
  target_compile_options(gqaverify_options INTERFACE
    -fsanitize=${GQAVERIFY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gqaverify_options INTERFACE -fsanitize=${GQAVERIFY_SANITIZE})
endif()
