# Flags for our own code; generated code is compiled without the warnings.

add_library(plughost_warnings INTERFACE)
target_compile_options(plughost_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # Aggregates have defaults, and designated initializers name what differs from them.
  -Wno-missing-field-initializers)
# Errors where CMAKE_COMPILE_WARNING_AS_ERROR says so: the presets of developers, and CI. Another compiler's new
# warning is no reason for a stranger not to get a release.

# Sections that nothing calls are dropped: most of a static gRPC.
add_compile_options(-ffunction-sections -fdata-sections)
# A byte that is not ASCII is below zero on every machine.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")
  add_compile_options(-fsigned-char)
endif()
# A build's number is how a debugger finds the debug information of a stripped program.
add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,--build-id=sha1)

if(PLUGHOST_SANITIZE)
  # No vptr: it probes memory through a pipe, and cries wolf in the test that runs out of descriptors.
  add_compile_options(-fsanitize=${PLUGHOST_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PLUGHOST_SANITIZE})
endif()

# What our files include of the standard library, and of gRPC, parsed once: most of a build. A file still includes what it
# uses.
option(PLUGHOST_PRECOMPILE "precompiled headers" ON)
set(PLUGHOST_STANDARD
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <deque> <filesystem> <fstream>
  <functional> <iostream> <map> <memory> <mutex> <optional> <ranges> <set> <span> <sstream> <stdexcept> <string>
  <string_view> <system_error> <thread> <unordered_map> <utility> <variant> <vector>)

# plughost_precompiled(NAME HEADERS … [DEPENDS …]): for targets that have the flags of DEPENDS, and our warnings: g++ takes a
# header for another one's that was precompiled without -Wpedantic.
function(plughost_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;DEPENDS" ${ARGN})
  if(PLUGHOST_PRECOMPILE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cpp CONTENT "")
    add_library(plughost_precompiled_${name} OBJECT ${PROJECT_BINARY_DIR}/empty.cpp)
    target_link_libraries(plughost_precompiled_${name} PRIVATE plughost_warnings ${arg_DEPENDS})
    target_precompile_headers(plughost_precompiled_${name} PRIVATE ${arg_HEADERS})
  endif()
endfunction()

function(plughost_reuse target name)
  if(PLUGHOST_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM plughost_precompiled_${name})
  endif()
endfunction()

plughost_precompiled(standard HEADERS ${PLUGHOST_STANDARD})

# plughost_ours(TARGET [PRECOMPILED]): what our own code is built with.
function(plughost_ours target)
  target_link_libraries(${target} PRIVATE plughost_warnings)
  if(ARGN)
    plughost_reuse(${target} ${ARGN})
  else()
    plughost_reuse(${target} standard)
  endif()
endfunction()

# The files of a folder in a few translation units: the compiler and clang-tidy read once for all of them what they include.
# Two files of a folder cannot use one name for two things then. The preset dev compiles each file alone, which is quicker
# after a small change, and finds an include that a neighbour only happens to have.
option(PLUGHOST_UNITY "few translation units" OFF)

# plughost_library(NAME SOURCES … DEPENDS … PRIVATE … [PRECOMPILED …]): one static library, one folder.
function(plughost_library name)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(plughost_${name} STATIC ${arg_SOURCES})
  target_include_directories(plughost_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND plughost_)
  target_link_libraries(plughost_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  plughost_ours(plughost_${name} ${arg_PRECOMPILED})
  set_target_properties(plughost_${name} PROPERTIES UNITY_BUILD ${PLUGHOST_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()
