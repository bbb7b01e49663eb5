#include "host/hardware/machine_facts.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

TEST_CASE("a machine is described by what the kernel and its firmware report") {
  const test::TempDir tree;
  tree.file("proc/sys/kernel/hostname", "gpu-7\n");
  tree.file("proc/sys/kernel/osrelease", "6.1.0-28-arm64\n");
  tree.file("proc/sys/kernel/arch", "aarch64\n");
  tree.file("sys/class/dmi/id/sys_vendor", "Example Corp. \n");
  tree.file("sys/class/dmi/id/product_name", "Blade 3\n");
  const MachineFacts machine = machine_facts(HostRoot(tree.path()));
  CHECK(machine.hostname == "gpu-7");
  CHECK(machine.kernel == "6.1.0-28-arm64");
  CHECK(machine.arch == "aarch64");
  CHECK(machine.vendor == "Example Corp.");
  CHECK(machine.product == "Blade 3");
}

TEST_CASE("without a DMI table the device tree's model is the product") {
  const test::TempDir tree;
  tree.file("proc/device-tree/model", std::string("Raspberry Pi 4 Model B Rev 1.4\0", 31));
  const MachineFacts machine = machine_facts(HostRoot(tree.path()));
  CHECK(machine.vendor.empty());
  CHECK(machine.product == "Raspberry Pi 4 Model B Rev 1.4");
}

TEST_CASE("a kernel without a file for its architecture reports it by uname") {
  const test::TempDir tree;
  CHECK_FALSE(machine_facts(HostRoot(tree.path())).arch.empty());
}

TEST_CASE("architectures have Kubernetes' names, too") {
  CHECK(kubernetes_arch("x86_64") == "amd64");
  CHECK(kubernetes_arch("aarch64") == "arm64");
  CHECK(kubernetes_arch("riscv64") == "riscv64");
}

}  // namespace
}  // namespace plughost
