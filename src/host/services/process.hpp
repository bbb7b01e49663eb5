#pragma once
// Processes according to /proc. Processes that may not be read are missing. Thread-safe.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct SeenProcess {
  pid_t id = 0;
  std::vector<std::string> arguments;  // argv; empty: a kernel thread, or an ended process
  std::string unit;                    // systemd's, such as "kubelet.service"; empty: none
  std::string pod;                     // the UID of its pod; empty: none

  // Returns the file name of argv[0]; if the process has set a title ("/usr/local/bin/k3s server"), the file
  // name of the title's first word.
  std::string name() const;
  // Returns "process 812 (kubelet --root-dir /data)", cut after some words.
  std::string text() const;
  // Returns the value of "--name value" or "--name=value"; the last occurrence counts.
  std::optional<std::string> option(std::string_view name) const;
};

// Returns nullopt if the process does not exist or may not be read.
std::optional<SeenProcess> process_of(const HostRoot& host, pid_t id);
// Returns all processes that may be read, sorted by id.
std::vector<SeenProcess> processes(const HostRoot& host);

}  // namespace plughost
