#include "supervisor/device_program.hpp"

#include <optional>
#include <system_error>

#include "device/output_line.hpp"

namespace plughost {

CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device) {
  CommandLine line;
  for (const Template& word : command) {
    auto text = word.expand(
        [&](std::string_view placeholder) -> std::optional<std::string> {
          if (placeholder == "resource") return resource;
          const std::string* value = device.attribute(placeholder);
          return value ? std::optional(*value) : std::nullopt;
        },
        &line.missing);
    if (!text) {
      line.words.clear();
      return line;
    }
    line.words.push_back(std::move(*text));
  }
  return line;
}

std::string verdict(std::string_view what, const Subprocess::Result& result) {
  using enum Subprocess::Result::End;
  const std::string program(what);
  if (result.end == kNotStarted)
    return program + " cannot be started: " + std::generic_category().message(result.number);
  if (result.end == kExited && result.number == 0) return {};
  if (std::string line = first_line(result.output); !line.empty()) return line;
  return program + (result.end == kExited ? " exited with " : " was ended by signal ") +
         std::to_string(result.number);
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

}  // namespace plughost
