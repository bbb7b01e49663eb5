#pragma once
// Facts about a machine that do not depend on its devices. Values; machine_facts may block on the file
// system.

#include <string>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct MachineFacts {
  std::string hostname;
  std::string kernel;  // the release: "6.1.0-28-amd64"
  std::string arch;    // the kernel's name: "x86_64"
  // From the DMI table. Without a DMI table, the product is the model of the device tree.
  std::string vendor;
  std::string product;
};

MachineFacts machine_facts(const HostRoot& host);

// Returns Kubernetes' name of an architecture: "amd64". Returns an unknown architecture unchanged.
std::string kubernetes_arch(const std::string& arch);

}  // namespace plughost
