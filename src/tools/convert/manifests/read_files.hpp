#pragma once
// Reads a file, standard input, a pipe or a directory as documents. Thread-safe; blocks on the file system.

#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"

namespace plughost {

// Returns what a text in another language is, and the command that turns it into a readable text: "this is
// Terraform; …". Judges by the text and the extension of `file`. Empty if it is not recognized.
std::string other_language(std::string_view file, std::string_view text);

// Returns true if the text has a word that only configurations and manifests of device plugins have. If such
// a text cannot be read, a configuration may be lost.
bool has_word_of_plugins(std::string_view text);

inline constexpr std::string_view kStandardInput = "-";

struct UnreadFile {
  std::string file;
  std::string why;         // "the line 3 is no YAML", or "this is Terraform; …"
  bool may_matter = true;  // false: it has no word of a device plugin
};

struct ReadFiles {
  std::vector<Node> documents;     // their marks have the files' names
  std::vector<std::string> files;  // files read
  std::vector<UnreadFile> unread;  // files of a directory that have another form
  // A sentence on the only file if it is in another language or a template.
  std::string language;
};

// Reads the files *.yaml, *.yml and *.json of a directory and its subdirectories, by name, without links to
// directories and hidden files. Reports errors of a single file.
ReadFiles read_files(const std::string& path, Diagnostics& diagnostics);

}  // namespace plughost
