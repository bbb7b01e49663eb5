# plughost_portable(TARGET): of the machine that it runs on, what is shipped needs glibc 2.34 or newer, and libudev.
# tests/packaging/portable_test.py reads the program.
function(plughost_portable target)
  if(NOT PLUGHOST_SANITIZE)
    # packaging/sbom reads in the map which libraries are in the program.
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,-Map=$<TARGET_FILE:${target}>.map)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/older_libc.cpp)
  endif()
endfunction()
