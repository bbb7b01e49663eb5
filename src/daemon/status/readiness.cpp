#include "daemon/status/readiness.hpp"

#include <algorithm>
#include <set>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Whoever takes the line cuts it at a byte.
std::string cut(const std::string& text) {
  constexpr std::string_view kMore = "...";
  std::string line;
  for (const char c : text) {
    const bool plain = !is_control(c) && static_cast<unsigned char>(c) < 0x80;
    line += plain ? c : '?';
  }
  if (line.size() <= Readiness::kMostBytes) return line;
  line.resize(Readiness::kMostBytes - kMore.size());
  return line.append(kMore);
}

}  // namespace

std::vector<std::string> problems(const DaemonStatus& status) {
  std::vector<std::string> missing;
  std::vector<std::string> others;
  for (const ResourceStatus& resource : status.resources) {
    if (resource.stage != Stage::kAttached)
      others.push_back("not attached: " + resource.name);
    else if (!resource.disagreement.empty())
      others.push_back("the kubelet counts other devices: " + resource.name);
  }
  for (const EntryStatus& entry : status.entries) {
    const auto of_entry = [&](const ResourceStatus& resource) { return resource.entry == entry.name; };
    const auto offers_one = [&](const ResourceStatus& resource) {
      // One that a pod has from another plugin is there.
      return of_entry(resource) &&
             std::ranges::any_of(resource.snapshot->inventory.devices(), &Device::in_service);
    };
    // One whose name has a placeholder may rightly have no resource.
    if (entry.scans_completed == 0 && std::ranges::none_of(status.resources, of_entry))
      others.push_back("not looked at yet: " + entry.name);
    else if (entry.required && std::ranges::none_of(status.resources, offers_one))
      missing.push_back("required, and no device is Healthy: " + entry.name);
    if (entry.stalled) others.push_back("device scan hangs: " + entry.name);
  }
  for (const NotHere& entry : status.configuration.others) {
    if (entry.unknown) others.push_back("nobody can tell whether it is for this node: " + entry.name);
  }
  missing.insert(missing.end(), others.begin(), others.end());
  // What several entries of one name have in common is one problem.
  std::set<std::string> told;
  std::erase_if(missing, [&](const std::string& problem) { return !told.insert(problem).second; });
  return missing;
}

Readiness readiness_of(const Json& status) {
  const Json::Array& wrong = status["problems"].array();
  if (!wrong.empty()) {
    const std::string more = wrong.size() == 1 ? "" : " (and " + std::to_string(wrong.size() - 1) + " more)";
    // The first one's name may be long, and how many there are is worth more than its end.
    std::string first = cut(wrong.front().text());
    if (first.size() + more.size() > Readiness::kMostBytes) {
      first.resize(Readiness::kMostBytes - more.size() - 3);
      first += "...";
    }
    return {Readiness::Verdict::kProblem, first + more};
  }
  std::int64_t healthy = 0;
  std::int64_t all = 0;
  for (const Json& resource : status["resources"].array()) {
    healthy += resource["devices"]["healthy"].number();
    all += resource["devices"]["healthy"].number() + resource["devices"]["unhealthy"].number();
  }
  const auto resources = static_cast<std::int64_t>(status["resources"].array().size());
  return {Readiness::Verdict::kOk, counted(resources, "resource") + " attached, " + std::to_string(healthy) +
                                       " of " + counted(all, "device") + " Healthy"};
}

Readiness unknown_readiness(const std::string& why) { return {Readiness::Verdict::kUnknown, cut(why)}; }

}  // namespace plughost
