# Finds FLINT with ball arithmetic and defines FLINT::flint.
#
# FLINT 3 carries Arb itself (flint/arb.h); with FLINT 2, Arb is a library of
# its own, which Debian names flint-arb and others arb.
find_path(FLINT_INCLUDE_DIR flint/flint.h)
find_library(FLINT_LIBRARY flint)
find_path(FLINT_ARB_INCLUDE_DIR NAMES flint/arb.h arb.h)
find_library(FLINT_ARB_LIBRARY NAMES flint-arb arb)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FLINT
  REQUIRED_VARS FLINT_LIBRARY FLINT_INCLUDE_DIR FLINT_ARB_INCLUDE_DIR)
if(FLINT_FOUND AND NOT TARGET FLINT::flint)
  add_library(FLINT::flint INTERFACE IMPORTED)
  target_include_directories(FLINT::flint SYSTEM INTERFACE
    "${FLINT_INCLUDE_DIR}" "${FLINT_ARB_INCLUDE_DIR}")
  if(FLINT_ARB_LIBRARY AND NOT EXISTS "${FLINT_INCLUDE_DIR}/flint/arb.h")
    target_link_libraries(FLINT::flint INTERFACE "${FLINT_ARB_LIBRARY}")
  endif()
  target_link_libraries(FLINT::flint INTERFACE "${FLINT_LIBRARY}")
endif()
mark_as_advanced(FLINT_INCLUDE_DIR FLINT_LIBRARY FLINT_ARB_INCLUDE_DIR FLINT_ARB_LIBRARY)
