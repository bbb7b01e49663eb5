# Flags for our own code; generated code is compiled without the warnings.

add_library(plughost_warnings INTERFACE)
target_compile_options(plughost_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # Aggregates have defaults, and designated initializers name what differs from them.
  -Wno-missing-field-initializers)

# Sections that nothing calls are dropped: most of a static gRPC.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

if(PLUGHOST_SANITIZE)
  # No vptr: it probes memory through a pipe, and cries wolf in the test that runs out of descriptors.
  add_compile_options(-fsanitize=${PLUGHOST_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -O1)
  # g++ 12 sees uninitialized values in the standard library once it is instrumented.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${PLUGHOST_SANITIZE})
endif()

# plughost_library(NAME SOURCES … DEPENDS …): one static library, one folder.
function(plughost_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(plughost_${name} STATIC ${arg_SOURCES})
  target_include_directories(plughost_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM arg_DEPENDS PREPEND plughost_)
  target_link_libraries(plughost_${name} PUBLIC ${arg_DEPENDS} PRIVATE plughost_warnings ${arg_PRIVATE})
endfunction()
