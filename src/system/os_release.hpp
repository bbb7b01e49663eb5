#pragma once
// Which operating system this is, as os-release(5) says. Thread-safe; may block on the file system.

#include <string>

#include "host/host_root.hpp"

namespace plughost {

struct OsRelease {
  std::string id;    // "flatcar"; empty: nobody says
  std::string name;  // "Flatcar Container Linux by Kinvolk 4081.2.0", for people; id where there is none
  bool openshift = false;  // a CoreOS that OpenShift looks after

  // Nothing can be installed on it, and it starts no unit of ours: what runs there is a container.
  bool takes_containers_only() const { return id == "talos" || id == "bottlerocket"; }
};

OsRelease os_release(const HostRoot& host);

}  // namespace plughost
