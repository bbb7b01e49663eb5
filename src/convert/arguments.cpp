#include "convert/arguments.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"

namespace plughost {
namespace {

std::string variable_of(std::string_view flag) {
  std::string name;
  for (const char c : flag) {
    const bool lower = c >= 'a' && c <= 'z';
    name += c == '-' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

}  // namespace

Arguments::Arguments(const PluginCommand& line, const std::string& name, Diagnostics& diagnostics)
    : image_(line.image), environment_(line.environment.begin(), line.environment.end()) {
  const std::vector<std::string>& words = line.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (!given_.empty())
        diagnostics.error({.file = name}, "", quote(word) + " belongs to no flag; flags begin with '-'");
      continue;
    }
    const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::size_t equals = bare.find('=');
    Given given{.flag = bare.substr(0, equals), .value = {}};
    if (equals != std::string::npos) {
      given.value = bare.substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      given.value = words[++i];
    }
    given_.push_back(std::move(given));
  }
}

bool Arguments::has(std::string_view flag) const {
  return std::ranges::find(given_, flag, &Given::flag) != given_.end();
}

std::optional<std::string> Arguments::value(std::string_view flag) {
  std::vector<std::string> all = values(flag);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

std::vector<std::string> Arguments::values(std::string_view flag) {
  asked_.emplace(flag);
  std::vector<std::string> all;
  for (const Given& given : given_) {
    if (given.flag == flag) all.push_back(given.value);
  }
  if (all.empty()) {
    if (auto found = variable(variable_of(flag)); found && !found->empty()) all.push_back(*std::move(found));
  }
  return all;
}

std::optional<bool> Arguments::truth(std::string_view flag) {
  const auto given = value(flag);
  if (!given) return std::nullopt;
  const std::string word = to_lower(*given);
  return word != "false" && word != "0" && word != "f";
}

std::optional<std::string> Arguments::variable(std::string_view name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Arguments::unused() const {
  std::vector<std::string> flags;
  for (const Given& given : given_) {
    if (!asked_.contains(given.flag)) flags.push_back(given.flag);
  }
  return flags;
}

}  // namespace plughost
