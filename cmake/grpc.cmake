# gRPC without TLS (unix sockets need none) and protobuf's lite runtime. Linked statically they take less
# memory than as shared libraries (`./dev bench`, docs/performance.md). Sanitizers get the shared ones:
# only there can a suppression name the library that is not instrumented.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_program(PLUGHOST_PROTOC protoc REQUIRED)
find_program(PLUGHOST_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
pkg_check_modules(PROTOBUF REQUIRED protobuf-lite)
# Asked directly: pkg_check_modules() asks many times, and with abseil below each answer is slow.
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc++_unsecure
                OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

string(REGEX REPLACE "(^| )-l" "\\1" names "${libraries}")
separate_arguments(names UNIX_COMMAND "${names}")
list(REMOVE_DUPLICATES names)

add_library(plughost_grpc INTERFACE)
if(PLUGHOST_SANITIZE)
  target_link_libraries(plughost_grpc INTERFACE ${names} ${PROTOBUF_LINK_LIBRARIES} Threads::Threads)
else()
  # grpc++_unsecure.pc names abseil, but not the other libraries that libgrpc_unsecure.a itself calls.
  list(REMOVE_ITEM names rt atomic)
  list(APPEND names address_sorting upb re2 cares z protobuf-lite)
  foreach(name IN LISTS names)
    find_library(PLUGHOST_STATIC_${name} lib${name}.a REQUIRED)
    mark_as_advanced(PLUGHOST_STATIC_${name})
    list(APPEND static_grpc ${PLUGHOST_STATIC_${name}})
  endforeach()
  target_link_libraries(plughost_grpc INTERFACE
    -Wl,--start-group ${static_grpc} -Wl,--end-group Threads::Threads)
endif()

# What speaks gRPC parses its headers once, too.
plughost_precompiled(grpc HEADERS ${PLUGHOST_STANDARD} <grpcpp/grpcpp.h> <google/protobuf/message_lite.h>
  <google/protobuf/repeated_ptr_field.h> <google/protobuf/io/coded_stream.h> DEPENDS plughost_grpc)

# plughost_proto(TARGET FILE): messages and gRPC stubs of one .proto, included as <FILE>.grpc.pb.h.
function(plughost_proto target file)
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(folder ${file} DIRECTORY)
  set(out ${PROJECT_BINARY_DIR}/proto)
  set(generated)
  foreach(suffix pb.cc pb.h grpc.pb.cc grpc.pb.h)
    list(APPEND generated ${out}/${folder}/${stem}.${suffix})
  endforeach()
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND ${PLUGHOST_PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${PLUGHOST_GRPC_PLUGIN} ${file}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} VERBATIM)
  add_library(${target} STATIC ${generated})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC plughost_grpc)
  plughost_ours(${target} grpc)
  target_compile_options(${target} PRIVATE -w)
endfunction()
