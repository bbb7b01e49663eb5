#include "commands/given_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "config/yaml.hpp"

namespace plughost {
namespace {

constexpr std::string_view kStandardInput = "-";

void add_objects(const Node& node, const std::string& kind, const std::string& plural,
                 std::vector<Node>& objects) {
  if (const Node* const items = node.find("items")) {
    for (const Node& item : items->items) add_objects(item, kind, plural, objects);
    return;
  }
  const Node* const its_kind = node.find("kind");
  if (node.kind != Node::Kind::kMap || (its_kind && its_kind->scalar != kind))
    throw std::runtime_error(node.mark.text() + ": this is " +
                             (its_kind ? "a " + printable(its_kind->scalar) : node.kind_name()) + ", and " +
                             plural + " are wanted, as `kubectl get " + plural + " -o yaml` prints them");
  objects.push_back(node);
}

}  // namespace

std::string name_of_given(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

std::variant<std::string, FileTrouble> text_of_given(const std::string& file) {
  if (file == kStandardInput) return read_text(STDIN_FILENO);
  struct stat status {};
  if (::stat(file.c_str(), &status) < 0 || !S_ISFIFO(status.st_mode)) return read_text_file(file);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_text(fd.get()) : read_text_file(file);
}

std::vector<Node> objects_of_given(const std::string& file, const std::string& kind,
                                   const std::string& plural) {
  const std::string name = name_of_given(file);
  const auto text = text_of_given(file);
  if (const auto* const trouble = std::get_if<FileTrouble>(&text))
    throw std::runtime_error(name + ": the file " + trouble->what);
  Diagnostics diagnostics;
  const auto documents = parse_documents(std::get<std::string>(text), name, diagnostics);
  if (!documents || !diagnostics.all().empty()) throw std::runtime_error(diagnostics.all().front().text());
  std::vector<Node> objects;
  for (const Node& document : *documents) add_objects(document, kind, plural, objects);
  return objects;
}

}  // namespace plughost
