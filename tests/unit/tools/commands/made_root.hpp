#pragma once
// A node's root directory, created from a file of tests/nodes. Not thread-safe.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "places.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

class MadeRoot {
 public:
  explicit MadeRoot(const std::filesystem::path& description) {
    std::ifstream lines(description);
    if (!lines) throw std::runtime_error(description.string() + " cannot be read");
    for (std::string line; std::getline(lines, line);) take(line);
    write();
  }

  std::string path() const { return tree_.path(); }
  const TempDir& tree() const { return tree_; }
  std::string text(const std::string& file) const {
    std::ifstream stream(tree_.at(file));
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  bool exists(const std::string& file) const {
    return std::filesystem::exists(std::filesystem::symlink_status(tree_.at(file)));
  }

 private:
  void take(const std::string& line) {
    if (line.starts_with("  ")) {
      text_ += line.substr(2) + '\n';
      return;
    }
    write();
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word.empty() || word == "#") return;
    if (word == "file") {
      words >> file_;
    } else if (word == "config") {
      file_ = "/etc/plughost/config.yaml";
    } else if (word == "link") {
      std::string from;
      std::string to;
      words >> from >> to;
      tree_.link(from, to.starts_with('/') ? tree_.at(to) : std::filesystem::path(to));
    } else if (word == "socket") {
      words >> word;
      std::filesystem::create_directories(tree_.at(word).parent_path());
      if (::mknod(tree_.at(word).c_str(), S_IFSOCK | 0600, 0) != 0) throw std::runtime_error(line);
    } else if (word == "process") {
      process(words);
    } else if (word == "enabled") {
      words >> word;
      tree_.link("/etc/systemd/system/multi-user.target.wants/" + word, "../" + word);
    } else if (word == "installed") {
      tree_.directory("/run/systemd/system");
      tree_.directory("/usr/lib/systemd/system");
      std::filesystem::copy_file(in_source("/systemd/plughost.service"),
                                 tree_.at("/usr/lib/systemd/system/plughost.service"));
    } else {
      throw std::runtime_error("what is '" + line + "'?");
    }
  }

  void process(std::istringstream& words) {
    std::string id;
    std::string unit;
    words >> id >> unit;
    std::string line;
    bool is_title = false;
    for (std::string word; words >> word;) {
      if (word == "title:") {
        is_title = true;
        continue;
      }
      if (is_title && !line.empty()) line += ' ';
      line += word;
      if (!is_title) line += '\0';
    }
    if (is_title) line += std::string(8, '\0');
    tree_.file("/proc/" + id + "/cmdline", line);
    tree_.file("/proc/" + id + "/cgroup", "0::/system.slice" + (unit == "-" ? "" : '/' + unit) + '\n');
  }

  // Writes the file whose lines have been read.
  void write() {
    if (!file_.empty()) tree_.file(file_, text_);
    file_.clear();
    text_.clear();
  }

  TempDir tree_;
  std::string file_;
  std::string text_;
};

}  // namespace plughost::test
