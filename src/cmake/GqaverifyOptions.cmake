# Flags that every target of the project is compiled with.
#
# Certified bounds need IEEE semantics: no -ffast-math, no contraction that the
# source does not ask for, no flush to zero (docs/theory.md).
option(GQAVERIFY_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(GQAVERIFY_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize= (empty: none)")

# -O3 takes a tenth longer to compile; tests/bench/RESULTS.md, "Building, testing and starting".
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

add_library(gqaverify_options INTERFACE)
target_compile_features(gqaverify_options INTERFACE cxx_std_20)
target_compile_options(gqaverify_options INTERFACE
  -Wall -Wextra -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  # Not where files are compiled together: what one file calls something is no other file's concern.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
  -ffp-contract=off -fno-fast-math)
# A library that nothing is needed of is not loaded at every start either.
target_link_options(gqaverify_options INTERFACE LINKER:--as-needed)
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

# Reading the headers of the standard library, JSON, GMP and Arb is most of what a file costs to
# compile, and a precompiled header of them (277 MB) costs as much to load again. Files of one folder
# are therefore compiled together, at most so many at once; equal names in their unnamed namespaces
# are an error then. Debuggers and profilers do not mind; tools that want one file each switch it off.
option(GQAVERIFY_UNITY "Compile the files of a folder together" ON)
set(GQAVERIFY_UNITY_LINES 6000 CACHE STRING "Lines of one batch, about")

# gqaverify_unity(TARGET): after all sources have been named.
function(gqaverify_unity target)
  if(NOT GQAVERIFY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(base ${target} SOURCE_DIR)
  list(SORT sources)
  set(last_folder "")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${base}")
    get_filename_component(folder "${path}" DIRECTORY)
    # Small rooms are compiled with their neighbours.
    string(REGEX REPLACE "/(audit|diagnose)/.*" "/\\1" folder "${folder}")
    # Highway compiles such a file once for each instruction set.
    file(STRINGS "${path}" per_target REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(per_target)
      set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    file(STRINGS "${path}" lines)
    list(LENGTH lines count)
    if(NOT folder STREQUAL last_folder)
      string(MAKE_C_IDENTIFIER "${folder}" name)
      set(number 0)
      set(filled 0)
      set(last_folder "${folder}")
    endif()
    if(filled GREATER GQAVERIFY_UNITY_LINES)
      math(EXPR number "${number} + 1")
      set(filled 0)
    endif()
    math(EXPR filled "${filled} + ${count}")
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${name}_${number}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
