// plughost convert: converts another plugin's configuration.

#include "tools/convert/convert.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <set>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "tools/commands/command.hpp"
#include "tools/convert/manifests/read_files.hpp"

namespace plughost {
namespace {

constexpr int kNotWhole = 3;

// Writes one line about the input, whose names and texts are not trusted.
void tell(const std::string& line) { std::cerr << printable(line) << '\n'; }

void print_unread(const ReadFiles& files, const std::string& source) {
  std::size_t others = 0;
  for (const UnreadFile& unread : files.unread) {
    if (unread.may_matter)
      tell(unread.file + ": not read: " + unread.why);
    else
      ++others;
  }
  if (others > 0)
    tell(source + ": not read, and without a word of a device plugin: " + counted(others, "file"));
}

// Prints which file had which configuration, and which had none.
void print_files(const Conversion& conversion, const ReadFiles& files, const std::string& source) {
  std::set<std::string> with_something;
  for (const Conversion::Found& found : conversion.found) {
    with_something.insert(found.file);
    const bool told = !found.what.empty() || files.files.size() > 1;
    if (told)
      tell((found.file.empty() ? source : found.file) + ": " +
           (found.what.empty() ? "a configuration" : found.what));
  }
  print_unread(files, source);
  if (files.files.size() < 2) return;
  std::vector<std::string> others;
  std::ranges::copy_if(files.files, std::back_inserter(others),
                       [&](const std::string& file) { return !with_something.contains(file); });
  constexpr std::size_t kMostNamed = 20;
  const std::size_t named = std::min(others.size(), kMostNamed);
  std::string line = source + ": " + counted(files.files.size(), "file") +
                     " read; files without a configuration: " + std::to_string(others.size());
  for (std::size_t i = 0; i < named; ++i) line += (i == 0 ? " (" : ", ") + others[i];
  tell(line + (others.size() > named ? ", …)" : named > 0 ? ")" : ""));
}

int print(const Conversion& conversion, const ReadFiles& files, const std::string& source, bool explain) {
  print_files(conversion, files, source);
  const std::vector<Diagnostic> errors = errors_of(conversion.text, "what it becomes");
  if (!errors.empty()) {
    for (const Diagnostic& error : errors) std::cerr << error.text() << '\n';
    if (!files.language.empty()) tell(source + ": " + files.language);
    tell(source +
         ": plughost would refuse the converted configuration, at the places above; correct this one first");
    std::cerr << conversion.text;
    return 1;
  }
  if (!explain) std::cout << conversion.text;
  for (const std::string& line : conversion.explanations)
    if (explain) std::cout << printable(line) << '\n';
  tell(source + ": recognised as the configuration of " + conversion.from +
       "; comments on differences: " + std::to_string(conversion.notes) +
       (conversion.left_out == 0
            ? ""
            : "; entries that are comments only: " + std::to_string(conversion.left_out)));
  for (const std::string& doubt : conversion.doubts) tell(source + ": not certain: " + doubt);
  for (const std::string& loss : conversion.losses) tell(source + ": not kept: " + loss);
  if (conversion.entries == 0) {
    const bool empty = conversion.left_out == 0 && conversion.losses.empty();
    tell(source + (empty ? ": it has no resource" : ": nothing of it can be converted"));
    return 1;
  }
  if (!explain) std::cerr << "next: save the output as FILE, and run plughost check FILE\n";
  const bool whole = conversion.losses.empty() && std::ranges::none_of(files.unread, &UnreadFile::may_matter);
  return whole ? 0 : kNotWhole;
}

std::vector<NearPair> pairs_of(const std::vector<std::string>& texts, Diagnostics& diagnostics) {
  std::vector<NearPair> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      diagnostics.error({.file = "--near"}, "",
                        quote(text) + " is not a pair of resources such as a.example/gpu=a.example/audio");
    else
      pairs.push_back({.one = text.substr(0, equals), .other = text.substr(equals + 1)});
  }
  return pairs;
}

}  // namespace

int convert(const ConvertOptions& options) {
  const auto& [file, arguments, near, explain] = options;
  Diagnostics diagnostics;
  const ReadFiles files = file.empty() ? ReadFiles{} : read_files(file, diagnostics);
  const auto conversion = convert(files.documents, arguments, diagnostics, pairs_of(near, diagnostics));
  const std::string source = file.empty() ? "--args" : file == kStandardInput ? "standard input" : file;
  if (conversion) {
    for (const Diagnostic& error : diagnostics.all()) std::cerr << error.text() << '\n';
    return print(*conversion, files, source, explain);
  }
  print_unread(files, source);
  // A template may parse as YAML with a different meaning, so its errors are not printed.
  if (!files.language.empty())
    tell(source + ": " + files.language);
  else
    for (const Diagnostic& error : diagnostics.all()) std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace plughost
