#pragma once
// A file, standard input, a pipe or a directory, as documents. Thread-safe; blocks on the file system.

#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"

namespace plughost {

// Tells of a text that is no YAML, or YAML that is to be filled in first, what it is, and the command that
// makes of it what can be read: "this is Terraform; …". file: its name, whose ending tells, too. Empty: it is
// none of those that are known.
std::string other_language(std::string_view file, std::string_view text);

// Does the text have a word that only configurations and manifests of device plugins have? One that has, and
// cannot be read, may have been a configuration.
bool has_word_of_plugins(std::string_view text);

inline constexpr std::string_view kStandardInput = "-";

struct UnreadFile {
  std::string file;
  std::string why;         // "the line 3 is no YAML", or "this is Terraform; …"
  bool may_matter = true;  // false: no word in it is a device plugin's
};

struct ReadFiles {
  std::vector<Node> documents;     // whose marks have the files' names
  std::vector<std::string> files;  // that were read
  std::vector<UnreadFile> unread;  // of a directory: those that have another form
  // What the only file is, if that is no YAML, or YAML that is to be filled in: a sentence.
  std::string language;
};

// Of a directory and those below it the files *.yaml, *.yml and *.json, in the order of their names; links to
// directories and what begins with a dot are left out. What is wrong with a single file is reported.
ReadFiles read_files(const std::string& path, Diagnostics& diagnostics);

}  // namespace plughost
