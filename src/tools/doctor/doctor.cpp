#include "tools/doctor/doctor.hpp"

#include <array>
#include <exception>
#include <utility>

#include "base/text/words.hpp"
#include "tools/doctor/checks.hpp"

namespace plughost {
namespace {

constexpr std::array<Check, 22> kChecks{{
    {"configuration", "Does the configuration load, and without warnings?", check_configuration},
    {"drop-ins", "Is every file of plugins.d read?", check_drop_ins},
    {"devices", "Does every entry find its devices, and are they healthy?", check_devices},
    {"kubelet-directory", "Is the kubelet's directory there, with the right owner and mode?",
     check_kubelet_directory},
    {"kubelet", "Which kubelet listens, in which version, and with which root directory?", check_kubelet},
    {"pod-resources", "Does the kubelet say which pod holds which device, and where we ask?",
     check_pod_resources},
    {"daemon", "Does plughost run?", check_daemon},
    {"stale-sockets", "Are there sockets that nobody listens on?", check_stale_sockets},
    {"owners", "Does another plugin serve a resource of this configuration?", check_owners},
    {"counts", "Does the kubelet count the devices that plughost finds?", check_counts},
    {"api-server", "Does the API server allow what the configuration needs?", check_api_server},
    {"cdi", "Will the container runtime find the CDI devices that are promised?", check_cdi},
    {"access", "Can containers that are not root open their devices?", check_access},
    {"dev-char", "Do containers keep their devices over a systemctl daemon-reload?", check_dev_char},
    {"systemd", "Is the unit enabled, and does it start before the kubelet?", check_systemd},
    {"sandbox", "Does the unit give plughost what the configuration needs?", check_sandbox},
    {"udevd", "Does udevd run?", check_udevd},
    {"selinux", "Does SELinux let containers use devices, and the kubelet reach us?", check_selinux},
    {"apparmor", "Does an AppArmor profile confine plughost or the kubelet?", check_apparmor},
    {"descriptors", "Are there file descriptors enough for every resource?", check_descriptors},
    {"inotify", "Are there inotify watches left?", check_inotify},
    {"clock", "Is the clock right?", check_clock},
}};

}  // namespace

std::string_view name_of(Level level) {
  static constexpr Word<Level> kLevels[] = {
      {"ok", Level::kOk}, {"note", Level::kNote}, {"warning", Level::kWarning}, {"problem", Level::kProblem}};
  return word_of(kLevels, level);
}

std::span<const Check> checks() { return kChecks; }

Findings or_ok(Findings found, std::string where, std::string what) {
  if (found.empty()) found.push_back({.where = std::move(where), .what = std::move(what)});
  return found;
}

Findings examine(const HostRoot& host, const Observed& observed) {
  Findings all;
  for (const Check& check : kChecks) {
    Findings found;
    try {
      found = check.run(host, observed);
    } catch (const std::exception& error) {
      found.push_back({.level = Level::kWarning,
                       .where = "doctor",
                       .what = std::string("this could not be looked at: ") + error.what(),
                       .why = "what it would have found is not known",
                       .advice = "run it as root, on the node itself"});
    }
    for (Finding& finding : found) {
      finding.check = check.name;
      all.push_back(std::move(finding));
    }
  }
  return all;
}

}  // namespace plughost
