# plughost_embed(TARGET FILE SYMBOL): the file's bytes in the target as `plughost::SYMBOL`, a std::string_view. What is
# generated at build time is included as "embedded/<name without its extension>.hpp".
#
# For an HTML page there is `SYMBOLPolicy` as well: the Content-Security-Policy to send with it. It allows the page's own inline
# <style> and <script> by their hashes, requests to where the page came from, and nothing else.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(PLUGHOST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(plughost_embed target file symbol)
    get_filename_component(stem ${file} NAME_WE)
    get_filename_component(file ${file} ABSOLUTE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded/${stem})
    add_custom_command(
      OUTPUT ${out}.cpp ${out}.hpp
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DSYMBOL=${symbol} -DOUT=${out} -P ${PLUGHOST_EMBED_SCRIPT}
      DEPENDS ${file} ${PLUGHOST_EMBED_SCRIPT} VERBATIM)
    # A target of its own: who only reads the sources needs nothing that ${target} is linked with.
    add_custom_target(${target}_${stem} DEPENDS ${out}.cpp ${out}.hpp)
    add_dependencies(${target} ${target}_${stem})
    target_sources(${target} PRIVATE ${out}.cpp)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  endfunction()
  return()
endif()

# From here on it runs at build time: FILE, SYMBOL and OUT are given.
cmake_minimum_required(VERSION 3.25)

# The SHA-256 of a text in base64, which CMake does not have by itself.
function(hash_of text result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hash "${text}")
  string(APPEND hash 00)  # to a multiple of three bytes; the last digit of the four then is the padding
  set(encoded "")
  foreach(at RANGE 0 63 6)
    string(SUBSTRING ${hash} ${at} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 letter)
      string(APPEND encoded ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${encoded} 0 43 encoded)
  set(${result} "'sha256-${encoded}='" PARENT_SCOPE)
endfunction()

# What stands in the page's only element of that name.
function(element_of page name result)
  string(FIND "${page}" "<${name}>" begin)
  string(FIND "${page}" "</${name}>" end)
  string(FIND "${page}" "<${name}>" last REVERSE)
  string(LENGTH "<${name}>" length)
  if(begin LESS 0 OR end LESS begin OR NOT begin EQUAL last)
    message(FATAL_ERROR "${FILE}: a page needs one <${name}> without attributes, and has none or several")
  endif()
  math(EXPR begin "${begin} + ${length}")
  math(EXPR length "${end} - ${begin}")
  string(SUBSTRING "${page}" ${begin} ${length} content)
  set(${result} "${content}" PARENT_SCOPE)
endfunction()

file(READ ${FILE} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")

get_filename_component(stem ${OUT} NAME)
set(declared "extern const std::string_view ${SYMBOL};\n")
set(defined "const std::string_view ${SYMBOL}(reinterpret_cast<const char*>(kBytes), ${size});\n")
if(FILE MATCHES "[.]html$")
  file(READ ${FILE} page)
  element_of("${page}" style style)
  element_of("${page}" script script)
  hash_of("${style}" style)
  hash_of("${script}" script)
  string(APPEND declared "extern const std::string_view ${SYMBOL}Policy;\n")
  string(APPEND defined
    "const std::string_view ${SYMBOL}Policy(\n"
    "    \"default-src 'none'; style-src ${style}; script-src ${script}; connect-src 'self'; img-src data:; \"\n"
    "    \"base-uri 'none'; form-action 'none'; frame-ancestors 'none'\");\n")
endif()

file(WRITE ${OUT}.hpp "#pragma once\n#include <string_view>\n\nnamespace plughost {\n${declared}}\n")
file(WRITE ${OUT}.cpp "#include \"embedded/${stem}.hpp\"\n\nnamespace plughost {\nnamespace {\n"
  "constexpr unsigned char kBytes[] = {\n${bytes}\n};\n}\n${defined}}\n")
