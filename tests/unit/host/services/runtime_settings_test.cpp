#include "host/services/runtime_settings.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using Cdi = RuntimeSettings::Cdi;

namespace {

constexpr const char* kConfig = "etc/containerd/config.toml";

}  // namespace

TEST_CASE("containerd's settings are found at each version's place, including imports") {
  MadeNode node;
  CHECK_FALSE(runtime_settings(node.host));
  node.tree.file(kConfig, "version = 2\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOffByDefault);
  CHECK(runtime_settings(node.host)->spec_dirs == std::vector<std::string>{"/etc/cdi", "/var/run/cdi"});
  node.tree.file(kConfig, "version = 3\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOn);
  node.tree.file(kConfig,
                 "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = true\n"
                 "cdi_spec_dirs = [\"/opt/cdi\"]\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOn);
  CHECK(runtime_settings(node.host)->spec_dirs == std::vector<std::string>{"/opt/cdi"});
  node.tree.file(kConfig, "version = 3\nimports = [\"conf.d/*.toml\"]\n");
  node.tree.file("etc/containerd/conf.d/cdi.toml",
                 "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOff);
}

TEST_CASE("device_ownership_from_security_context is read from the configurations of containerd and CRI-O") {
  MadeNode node;
  node.tree.file(kConfig, "version = 3\n");
  CHECK_FALSE(runtime_settings(node.host)->nodes_are_the_users);
  node.tree.file(kConfig,
                 "version = 3\nimports = [\"more.toml\"]\n[plugins.'io.containerd.cri.v1.runtime']\n"
                 "device_ownership_from_security_context = true\n");
  CHECK(runtime_settings(node.host)->nodes_are_the_users);
  node.tree.file("etc/containerd/more.toml",
                 "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = true\n");
  CHECK(runtime_settings(node.host)->nodes_are_the_users);
  node.tree.remove(kConfig);
  node.tree.file("etc/crio/crio.conf.d/10.conf",
                 "[crio.runtime]\ndevice_ownership_from_security_context = true\n");
  CHECK(runtime_settings(node.host)->nodes_are_the_users);
}

TEST_CASE("the configuration of the running containerd is used") {
  MadeNode node;
  node.tree.file(kConfig, "version = 3\n");
  node.tree.file("var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n");
  node.process(5, "containerd -c /var/lib/rancher/k3s/agent/etc/containerd/config.toml");
  CHECK(runtime_settings(node.host)->file == "/var/lib/rancher/k3s/agent/etc/containerd/config.toml");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOffByDefault);
}

TEST_CASE("CRI-O's drop-ins override its main file") {
  MadeNode node;
  node.tree.file("etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/a\"]\n");
  node.tree.file("etc/crio/crio.conf.d/10.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/b\"]\n");
  const auto settings = runtime_settings(node.host);
  CHECK(settings->runtime == "CRI-O");
  CHECK(settings->cdi == Cdi::kOn);
  CHECK(settings->spec_dirs == std::vector<std::string>{"/b"});
}

TEST_CASE(
    "the configuration of a distribution's own containerd is used, unless a different containerd runs") {
  MadeNode node;
  const std::string own = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml";
  CHECK_FALSE(runtime_settings(node.host, own));
  node.tree.file(kConfig, "version = 2\n");
  CHECK(runtime_settings(node.host, own)->file == "/etc/containerd/config.toml");
  node.tree.file(own, "version = 3\n");
  CHECK(runtime_settings(node.host, own)->file == own);
  CHECK(runtime_settings(node.host)->file == "/etc/containerd/config.toml");
  node.process(5, "/usr/bin/containerd");
  CHECK(runtime_settings(node.host, own)->file == "/etc/containerd/config.toml");
}
