#pragma once
// The checks, each a pure function of what is under the prefix and of what was observed. doctor.cpp has their
// names. Thread-safe.

#include <cstddef>

#include "tools/doctor/doctor.hpp"

namespace plughost {

// Of a list in a sentence.
inline constexpr std::size_t kMostShown = 3;

// What was found; where that is nothing, that all is well.
Findings or_ok(Findings found, std::string where, std::string what);

// checks_of_configuration.cpp
Findings check_configuration(const HostRoot& host, const Observed& observed);
Findings check_drop_ins(const HostRoot& host, const Observed& observed);
Findings check_devices(const HostRoot& host, const Observed& observed);
Findings check_api_server(const HostRoot& host, const Observed& observed);
// checks_of_kubelet.cpp
Findings check_kubelet_directory(const HostRoot& host, const Observed& observed);
Findings check_kubelet(const HostRoot& host, const Observed& observed);
Findings check_pod_resources(const HostRoot& host, const Observed& observed);
// checks_of_plugins.cpp
Findings check_daemon(const HostRoot& host, const Observed& observed);
Findings check_stale_sockets(const HostRoot& host, const Observed& observed);
Findings check_owners(const HostRoot& host, const Observed& observed);
Findings check_counts(const HostRoot& host, const Observed& observed);
// checks_of_runtime.cpp
Findings check_cdi(const HostRoot& host, const Observed& observed);
Findings check_access(const HostRoot& host, const Observed& observed);
Findings check_dev_char(const HostRoot& host, const Observed& observed);
// checks_of_system.cpp
Findings check_systemd(const HostRoot& host, const Observed& observed);
Findings check_sandbox(const HostRoot& host, const Observed& observed);
Findings check_udevd(const HostRoot& host, const Observed& observed);
Findings check_selinux(const HostRoot& host, const Observed& observed);
Findings check_apparmor(const HostRoot& host, const Observed& observed);
Findings check_descriptors(const HostRoot& host, const Observed& observed);
Findings check_inotify(const HostRoot& host, const Observed& observed);
Findings check_clock(const HostRoot& host, const Observed& observed);

}  // namespace plughost
