# Flags for our own code; generated code is compiled without the warnings.

add_library(plughost_warnings INTERFACE)
target_compile_options(plughost_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # Aggregates have defaults, and designated initializers name what differs from them.
  -Wno-missing-field-initializers)

# Sections that nothing calls are dropped: most of a static gRPC.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

if(PLUGHOST_SANITIZE)
  # No vptr: it probes memory through a pipe, and cries wolf in the test that runs out of descriptors.
  add_compile_options(-fsanitize=${PLUGHOST_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PLUGHOST_SANITIZE})
endif()

# What most of our files include of the standard library, parsed once: a large part of an instrumented build. A
# file still includes what it uses: the release build, which has no precompiled header, says where one does not. (g++ 12
# would cry wolf: once <string> is precompiled, it warns of array bounds in there.)
if(PLUGHOST_SANITIZE)
  file(CONFIGURE OUTPUT standard.cpp CONTENT "")
  add_library(plughost_standard OBJECT ${CMAKE_CURRENT_BINARY_DIR}/standard.cpp)
  target_precompile_headers(plughost_standard PRIVATE
    <algorithm> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <deque> <filesystem> <fstream> <functional>
    <future> <iostream> <map> <memory> <mutex> <optional> <ranges> <set> <span> <sstream> <stdexcept> <string>
    <string_view> <system_error> <thread> <unordered_map> <utility> <variant> <vector>)
endif()

# plughost_ours(TARGET): what our own code is built with.
function(plughost_ours target)
  target_link_libraries(${target} PRIVATE plughost_warnings)
  if(PLUGHOST_SANITIZE)
    target_precompile_headers(${target} REUSE_FROM plughost_standard)
  endif()
endfunction()

# plughost_library(NAME SOURCES … DEPENDS …): one static library, one folder.
function(plughost_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(plughost_${name} STATIC ${arg_SOURCES})
  target_include_directories(plughost_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND plughost_)
  target_link_libraries(plughost_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
  plughost_ours(plughost_${name})
endfunction()
