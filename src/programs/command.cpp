#include "programs/command.hpp"

#include <optional>
#include <utility>

namespace plughost {
namespace {

constexpr std::size_t kMostOutput = 4u << 20;

}  // namespace

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

std::vector<std::string> words_as(const std::string& user) {
  if (user.empty()) return {};
  // To look users up can block. At / this program only does that, and takes the user's groups.
  return {"/usr/sbin/chroot", "--userspec=" + user + ':', "/"};
}

std::string read_user(Fields& fields) {
  std::string user = fields.text("user", "");
  if (fields.has("user") && (user.empty() || user.find_first_of(": /") != std::string::npos))
    fields.error("user", "the name of a user is expected here, as in nobody");
  return user;
}

Program document_program(std::vector<std::string> command) {
  return {.command = std::move(command),
          .errors = Program::Errors::kApart,
          .most_output = kMostOutput,
          .excess = Program::Excess::kFatal};
}

}  // namespace plughost
