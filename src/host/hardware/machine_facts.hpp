#pragma once
// What a machine says of itself, whatever is plugged in. Values; machine_facts may block on the file system.

#include <string>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct MachineFacts {
  std::string hostname;
  std::string kernel;  // the release: "6.1.0-28-amd64"
  std::string arch;    // as the kernel says it: "x86_64"
  // Of the DMI table; a machine that has none, but a device tree, has its model as the product.
  std::string vendor;
  std::string product;
};

MachineFacts machine_facts(const HostRoot& host);

// What Kubernetes calls an architecture: "amd64"; one that it has no other word for is called the same.
std::string kubernetes_arch(const std::string& arch);

}  // namespace plughost
