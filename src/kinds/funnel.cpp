#include "kinds/funnel.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <numeric>
#include <system_error>

#include "base/document/diagnostics.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostReasons = 4;
constexpr std::size_t kMostNames = 10'000;  // names that are compared with a missing one

std::string without_digits(std::string_view text) {
  std::string letters(text);
  std::erase_if(letters, is_digit);
  return letters;
}

// Returns " (did you mean /dev/fuse?)" if a name in the directories differs by one typing error. A name that
// differs in digits only, such as ttyUSB1, belongs to a second device and is no typing error.
std::string similar_name(const HostRoot& host, std::initializer_list<std::string> directories,
                         std::string_view name, std::string_view shown_before) {
  if (!host.runs_programs()) return {};
  std::string similar;
  std::size_t compared = 0;
  for (const std::string& directory : directories) {
    // Not HostRoot::list, which reads all names: any user can fill a directory such as /tmp.
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(host.at(directory), failed), end;
         !failed && entry != end && ++compared <= kMostNames && similar.empty(); entry.increment(failed)) {
      const std::string each = entry->path().filename().string();
      if (each.size() > name.size() + 1 || name.size() > each.size() + 1) continue;
      if (typing_errors(name, each) == 1 && without_digits(name) != without_digits(each)) similar = each;
    }
  }
  return similar.empty() ? "" : " (did you mean " + std::string(shown_before) + similar + "?)";
}

}  // namespace

bool Funnel::pass(std::string_view rule) {
  ++seen;
  if (rule.empty()) return true;
  const auto known = std::ranges::find(left_out, rule, &Rule::text);
  if (known == left_out.end())
    left_out.push_back({std::string(rule), 1});
  else
    ++known->count;
  return false;
}

std::size_t Funnel::matched() const {
  return std::accumulate(left_out.begin(), left_out.end(), seen,
                         [](std::size_t rest, const Rule& rule) { return rest - rule.count; });
}

std::string Funnel::why_empty() const {
  if (matched() > 0) return {};
  if (!nothing.empty()) return nothing;
  if (left_out.empty()) return "there is no " + candidates;
  std::string text = counted(seen, candidates);
  text += left_out.size() == 1 ? ", left out: " + left_out.front().text : ", left out:";
  for (std::size_t i = 0; left_out.size() > 1 && i < left_out.size(); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(left_out[i].count) + " (" + left_out[i].text + ')';
  return text;
}

std::vector<std::string> Funnel::lines() const {
  std::vector<std::string> lines{counted(seen, candidates)};
  for (const Rule& rule : left_out) lines.push_back(std::to_string(rule.count) + " left out: " + rule.text);
  lines.push_back(std::to_string(matched()) + (matched() == 1 ? " matches" : " match"));
  if (matched() == 0 && !nothing.empty()) lines.back() += ": " + nothing;
  return lines;
}

std::string why_no_devices(const std::vector<Funnel>& funnels) {
  std::vector<std::string> reasons;
  for (const Funnel& funnel : funnels) {
    std::string why = funnel.optional ? "" : funnel.why_empty();
    if (!why.empty() && std::ranges::find(reasons, why) == reasons.end()) reasons.push_back(std::move(why));
  }
  const std::size_t more = reasons.size() - std::min(reasons.size(), kMostReasons);
  reasons.resize(reasons.size() - more);
  if (reasons.empty()) return "its scan found none that can be listed";
  return joined(reasons, "; ") + (more > 0 ? "; and " + std::to_string(more) + " more" : "");
}

std::string no_such_path(const HostRoot& host, const std::string& path, std::string_view noun) {
  const std::filesystem::path whole = path;
  std::filesystem::path missing = whole;
  while (missing.has_parent_path() && missing.parent_path() != missing &&
         !host.exists(missing.parent_path().string()))
    missing = missing.parent_path();
  const std::string directory = missing.parent_path().string();
  const std::string text = "no such " + std::string(noun) + ' ' + path;
  const std::string prefix = directory == "/" ? directory : directory + '/';
  const std::string hint = similar_name(host, {directory}, missing.filename().string(), prefix);
  return missing == whole ? text + hint : text + ": " + missing.string() + " does not exist" + hint;
}

std::string no_such_subsystem(const HostRoot& host, const std::string& subsystem) {
  if (host.exists("/sys/class/" + subsystem) || host.exists("/sys/bus/" + subsystem))
    return "the subsystem " + subsystem + " has no device";
  const std::string hint = similar_name(host, {"/sys/class", "/sys/bus"}, subsystem, "");
  return "no subsystem " + subsystem + (hint.empty() ? ": is its driver loaded?" : hint);
}

}  // namespace plughost
