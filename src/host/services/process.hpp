#pragma once
// Processes as /proc shows them. What may not be read is not seen. Thread-safe.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct SeenProcess {
  pid_t id = 0;
  std::vector<std::string> arguments;  // argv; empty: a kernel thread, or one that has ended
  std::string unit;                    // systemd's, as in "kubelet.service"; empty: none
  std::string pod;                     // the UID of the pod that it is in; empty: none

  // The last part of argv[0]; of a title that the process has given itself ("/usr/local/bin/k3s server") that
  // of its first word.
  std::string name() const;
  // "process 812 (kubelet --root-dir /data)": cut after some words.
  std::string text() const;
  // The value of "--name value" or "--name=value"; the last one, if it is there several times.
  std::optional<std::string> option(std::string_view name) const;
};

// nullopt: there is none, or it may not be seen.
std::optional<SeenProcess> process_of(const HostRoot& host, pid_t id);
// By id.
std::vector<SeenProcess> processes(const HostRoot& host);

}  // namespace plughost
