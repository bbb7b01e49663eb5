// Converts arbitrary bytes as a different plugin's configuration, and the bytes after a line "--args" as that
// plugin's command line: the result must be diagnostics with an error, or valid YAML.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/document/yaml.hpp"
#include "model/device/names.hpp"
#include "tools/convert/convert.hpp"

namespace {

// Returns true if read_text_file would accept the text.
bool is_text(const std::string& text) {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return false;
  }
  return plughost::valid_utf8(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plughost;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string mark = "\n--args\n";
  const std::size_t at = text.find(mark);
  const std::string file = text.substr(0, at);
  const std::string arguments = at == std::string::npos ? "" : text.substr(at + mark.size());
  if (!is_text(file)) return 0;
  Diagnostics diagnostics;
  const auto documents = parse_documents(file, "theirs", diagnostics);
  if (!documents) return 0;
  const auto conversion = convert(*documents, arguments, diagnostics);
  if (!conversion) {
    if (!diagnostics.has_errors()) std::abort();
    return 0;
  }
  Diagnostics ours;
  if (!parse_yaml(conversion->text, "ours", ours) || ours.has_errors()) std::abort();
  return 0;
}
