#pragma once
// A simulated node for doctor's checks: its files, and what doctor has observed. Not thread-safe.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/doctor/doctor.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

inline constexpr const char* kPlugins = "/var/lib/kubelet/device-plugins";
inline constexpr const char* kKubeletSocket = "/var/lib/kubelet/device-plugins/kubelet.sock";
inline constexpr const char* kPodResources = "/var/lib/kubelet/pod-resources/kubelet.sock";
inline constexpr pid_t kKubelet = 812;
inline constexpr pid_t kDaemon = 4242;

class MadeNode {
 public:
  MadeNode() : host(tree.path()) {
    observed.user = ::geteuid();
    observed.now = 1'800'000'000;
    observed.descriptors = 524'288;
  }

  // Sets a configuration with these lines below `resources:`, and scans its entries on this node.
  void configure(const std::string& resources, const std::string& more = {}) {
    files.file("config.yaml", more + "resources:\n" + resources);
    observed.file = files.at("config.yaml");
    observed.config = load_config(observed.file);
    observed.devices = survey(*observed.config, host);
  }
  // Adds a process. `arguments` are separated by blanks.
  void process(pid_t id, std::string arguments, const std::string& unit = {}) const {
    std::ranges::replace(arguments, ' ', '\0');
    const std::string directory = "proc/" + std::to_string(id);
    tree.file(directory + "/cmdline", arguments + '\0');
    if (!unit.empty()) tree.file(directory + "/cgroup", "0::/system.slice/" + unit + "\n");
  }
  void listens(const std::string& socket, pid_t id) {
    observed.sockets[socket] = {SocketOwner::State::kListens, id};
  }
  void kubelet(const std::string& arguments = "/usr/bin/kubelet",
               const std::string& unit = "kubelet.service") {
    tree.directory(kPlugins);
    process(kKubelet, arguments, unit);
    listens(kKubeletSocket, kKubelet);
    observed.kubelet_version = "Kubernetes v1.33.1";
  }
  void daemon() {
    process(kDaemon, "/usr/bin/plughost run --config " + observed.file.string());
    listens(observed.control(), kDaemon);
  }

  // Returns the findings of one check.
  Findings look(std::string_view check) const {
    for (const Check& each : checks()) {
      if (each.name == check) return each.run(host, observed);
    }
    FAIL("no check of that name: " << check);
    return {};
  }
  // Returns the only finding of one check. Every finding that is not ok must have a reason and advice.
  Finding one(std::string_view check) const {
    const Findings found = look(check);
    REQUIRE(found.size() == 1);
    if (found[0].level == Level::kOk) {
      CHECK(found[0].why.empty());
      CHECK(found[0].advice.empty());
    } else {
      CHECK_FALSE(found[0].why.empty());
      CHECK_FALSE(found[0].advice.empty());
    }
    return found[0];
  }

  TempDir tree;   // the machine's files
  TempDir files;  // the configuration's files
  HostRoot host;
  Observed observed;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace plughost::test
