# Debian packages by CPack: gqaverify, libgqaverify-dev and python3-gqaverify.
#
#   cmake --preset package && cmake --build --preset package && cpack --preset package
set(CPACK_PACKAGE_NAME gqaverify)
set(CPACK_PACKAGE_VENDOR "gqaverify")
set(GQAVERIFY_PACKAGE_CONTACT "The gqaverify authors" CACHE STRING
  "Maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${GQAVERIFY_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)

set(CPACK_COMPONENTS_ALL development)
if(TARGET gqaverify_program)
  list(PREPEND CPACK_COMPONENTS_ALL program)
endif()
if(TARGET gqaverify_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "The program: audits recorded tensors and live kernels with certified
arithmetic, names the fault, and settles claims about heads, ranks, pooling
and bytes with certificates.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gqaverify)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION math)

set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "The library and its headers: for tests in C++ that ask whether attention
was computed correctly, and the header by which a kernel is put before
gqaverify.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgqaverify-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Nothing in it is linked: what its CMake package and its pkg-config file look for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  libgmp-dev libflint-dev "libboost1.81-dev | libboost-dev" libfmt-dev nlohmann-json3-dev
  libtbb-dev libzip-dev libopenblas-dev libhwy-dev)
if(FLINT_ARB_LIBRARY)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libflint-arb-dev")
endif()

if(TARGET gqaverify_python)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION
    "The Python module: audits attention in NumPy arrays and whatever speaks
DLPack, with the name of the fault in a failing pytest.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-gqaverify)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # The extension is built for one version of Python.
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  string(JOIN ", " CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${Python_VERSION_MINOR})" "python3 (<< 3.${next_minor})" python3-numpy)
  # Audits of arrays need nothing else; gqaverify.rank() and the like run the program.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS gqaverify)
endif()

# Debian keeps a package's licence under the package's own name.
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER "${component}" upper)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}"
    RENAME copyright COMPONENT ${component})
endforeach()

include(CPack)
