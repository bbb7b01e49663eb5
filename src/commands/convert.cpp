// plughost convert: another plugin's configuration in plughost's words.

#include "convert/convert.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <variant>

#include "base/unique_fd.hpp"
#include "commands/command.hpp"
#include "config/config.hpp"
#include "document/text_file.hpp"
#include "document/yaml.hpp"

namespace plughost {
namespace {

constexpr std::string_view kStandardInput = "-";
constexpr int kNotWhole = 3;

std::string name_of(const std::string& file) { return file == kStandardInput ? "standard input" : file; }

// A pipe has no size and can be awaited, other than where the daemon reads.
std::variant<std::string, FileTrouble> text_of(const std::string& file) {
  if (file == kStandardInput) return read_text(STDIN_FILENO);
  struct stat status {};
  if (::stat(file.c_str(), &status) < 0 || !S_ISFIFO(status.st_mode)) return read_text_file(file);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_text(fd.get()) : read_text_file(file);
}

bool is_helm_template(std::string_view text) {
  return text.find("{{") != std::string_view::npos && text.find(".Values") != std::string_view::npos;
}

// nullopt: reported.
std::optional<std::vector<Node>> read(const std::string& file, Diagnostics& diagnostics) {
  const Mark whole{.file = name_of(file)};
  const auto text = text_of(file);
  if (const auto* trouble = std::get_if<FileTrouble>(&text)) {
    diagnostics.error(whole, "", "the file " + trouble->what);
    return std::nullopt;
  }
  auto documents = parse_documents(std::get<std::string>(text), name_of(file), diagnostics);
  if (!documents && is_helm_template(std::get<std::string>(text)))
    diagnostics.error(
        whole, "",
        "this is a template of Helm's; `helm get manifest RELEASE | plughost convert -` has what it became, "
        "and `helm template CHART -f VALUES | plughost convert -` what it becomes");
  if (documents && documents->empty()) {
    diagnostics.error(whole, "", "the file is empty");
    return std::nullopt;
  }
  return documents;
}

int print(const Conversion& conversion, const std::string& source) {
  for (const std::string& found : conversion.found) std::cerr << source << ": " << found << '\n';
  const std::vector<Diagnostic> errors = errors_of(conversion.text, "what it becomes");
  if (!errors.empty()) {
    for (const Diagnostic& error : errors) std::cerr << error.text() << '\n';
    std::cerr << source
              << ": plughost would refuse what it becomes, at the places above; mend it here first\n"
              << conversion.text;
    return 1;
  }
  std::cout << conversion.text;
  std::cerr << source << ": taken for the configuration of " << conversion.from
            << "; comments on what differs: " << conversion.notes
            << (conversion.left_out == 0
                    ? ""
                    : "; entries that are comments only: " + std::to_string(conversion.left_out))
            << "; try it with plughost check\n";
  for (const std::string& doubt : conversion.doubts)
    std::cerr << source << ": not certain: " << doubt << '\n';
  for (const std::string& loss : conversion.losses) std::cerr << source << ": not kept: " << loss << '\n';
  if (conversion.entries == 0) {
    std::cerr << source << ": nothing of it can be kept as it is\n";
    return 1;
  }
  return conversion.losses.empty() ? 0 : kNotWhole;
}

}  // namespace

int convert(const ConvertOptions& options) {
  const auto& [file, arguments] = options;
  Diagnostics diagnostics;
  const auto documents = file.empty() ? std::vector<Node>{} : read(file, diagnostics);
  std::optional<Conversion> conversion;
  if (documents) conversion = convert(*documents, arguments, diagnostics);
  for (const Diagnostic& error : diagnostics.all()) std::cerr << error.text() << '\n';
  return conversion ? print(*conversion, file.empty() ? "--args" : name_of(file)) : 1;
}

}  // namespace plughost
