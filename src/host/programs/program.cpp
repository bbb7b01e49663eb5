#include "host/programs/program.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/document/yaml.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestCharacter = 4;

constexpr std::string_view kBlank = " \t\r\n";

// text must not contain a newline.
std::string shown(std::string_view text) {
  std::string line;
  while (!text.empty() && line.size() + kLongestCharacter <= kLongestLine) {
    const auto [code, length] = first_character(text);
    if (length == 0)
      line += '?';
    else if (is_unsafe(code))
      line += ' ';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

constexpr std::size_t kMostOutput = 4u << 20;

std::string size_text(std::size_t bytes) {
  return bytes % (1u << 20) == 0 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

std::string first_line(std::string_view output) {
  output.remove_prefix(std::min(output.find_first_not_of(kBlank), output.size()));
  return shown(output.substr(0, output.find('\n')));
}

std::string last_line(std::string_view output) {
  output = output.substr(0, output.find_last_not_of(kBlank) + 1);
  output.remove_prefix(output.rfind('\n') + 1);  // npos + 1 is 0
  return shown(output.substr(std::min(output.find_first_not_of(kBlank), output.size())));
}

CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device) {
  CommandLine line;
  for (const Template& word : command) {
    auto text = word.expand(
        [&](std::string_view placeholder) {
          return placeholder == "resource" ? std::optional(resource) : device.value(placeholder);
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
  // The child looks up the user, because a lookup may block. With "/", chroot only sets the user and groups.
  return {"/usr/sbin/chroot", "--userspec=" + user + ':', "/"};
}

std::string read_user(Fields& fields) {
  std::string user = fields.text("user", "");
  if (fields.has("user") && (user.empty() || user.find_first_of(": /") != std::string::npos))
    fields.error("user", "must be the name of a user, as in nobody");
  return user;
}

void check_program(Fields& fields, std::string_view key, const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 200;  // of a line that a message repeats
  const std::string line = words[0].substr(0, kLongest);
  std::istringstream pieces(line);
  std::vector<std::string> split{std::istream_iterator<std::string>(pieces), {}};
  const bool has_arguments =
      words.size() == 1 && (line.find(" -") != std::string::npos || line.find(" /") != std::string::npos);
  const bool is_line = has_arguments || (fields.node(key)->kind == Node::Kind::kScalar && split.size() > 1);
  std::string list;
  if (is_line) {
    if (line.find_first_of("|&;<>$`\"'") != std::string::npos)
      split = {"/bin/sh", "-c", line};
    else if (!split[0].starts_with('/'))
      split[0].insert(0, "/usr/bin/");
    list = "write a list, as in " + std::string(key) + ": " + yaml_in_one_line(Json(split));
  }
  if (const std::string error = path_error(words[0]); !error.empty())
    fields.error(key, "the program: " + error + (is_line ? "; " + list : ""));
  else if (has_arguments)
    fields.error(key, "a program and its arguments are separate words: " + list);
  else if (is_line)
    fields.warning(key, "this is the path of one program, blanks included; if it has arguments, " + list);
  static constexpr std::string_view kOfShells[] = {"|", "||", "&&", ">", ">>", "<", "2>&1", ";", "&"};
  const auto of_shell = std::ranges::find_first_of(words, kOfShells);
  // `cut -d "|"` is meant so.
  const bool is_value = of_shell != words.begin() && of_shell[-1].size() == 2 && of_shell[-1][0] == '-';
  if (of_shell != words.end() && !is_value)
    fields.warning(key, quote(*of_shell) + " is an argument of the program, since no shell runs it; write " +
                            std::string(key) + ": [/bin/sh, -c, \"...\"]");
}

Program document_program(std::vector<std::string> command) {
  return {.command = std::move(command),
          .errors = Program::Errors::kApart,
          .most_output = kMostOutput,
          .excess = Program::Excess::kFatal};
}

std::string why_failed(const Spoken& spoken, const Ending& ending) {
  using enum Ending::How;
  const std::string what(spoken.what);
  if (ending.how == kNotStarted || ending.how == kNoMeans)
    return what + (spoken.path.empty() ? "" : ' ' + std::string(spoken.path)) +
           " cannot be started: " + std::generic_category().message(ending.number);
  if (ending.how == kHangs) return what + " was not started: earlier runs that were killed have not ended";
  const std::string words = last_words(ending.errors);
  if (ending.how == kOverdue)
    return what + " was killed" + std::string(spoken.late) + duration_text(ending.timeout) + words;
  const bool apart = spoken.words == Program::Errors::kApart;
  if (ending.excess && apart)
    return what + " was killed: it printed more than " + size_text(ending.output.size()) + words;
  if (ending.how == kExited && ending.number == 0) return {};
  if (std::string line = apart ? "" : first_line(ending.output); !line.empty()) return line;
  if (ending.how == kUntold) return what + " has ended, and its exit status is unknown" + words;
  return what + (ending.how == kExited ? " exited with " : " was ended by signal ") +
         std::to_string(ending.number) + words;
}

std::string last_words(std::string_view errors) {
  const std::string line = last_line(errors);
  return line.empty() ? "" : ": " + line;
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

}  // namespace plughost
