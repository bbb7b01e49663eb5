#include "host/services/kubernetes.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

TEST_CASE("os-release is read with and without quotes, and /etc/os-release overrides /usr/lib/os-release") {
  const MadeNode node;
  CHECK(os_release(node.host).id.empty());
  node.tree.file("usr/lib/os-release", "ID=flatcar\n");
  CHECK(os_release(node.host).id == "flatcar");
  CHECK(os_release(node.host).name == "flatcar");
  node.tree.file("etc/os-release",
                 "NAME=x\nPRETTY_NAME=\"Talos (v1.8.0)\"\nID='talos'\nVERSION_ID=\"\nnothing\n");
  CHECK(os_release(node.host).id == "talos");
  CHECK(os_release(node.host).name == "Talos (v1.8.0)");
}

TEST_CASE("OpenShift's CoreOS is recognised by its name or version, and no other RHEL is") {
  const MadeNode node;
  const auto is_openshift = [&](const std::string& text) {
    node.tree.file("etc/os-release", text);
    return os_release(node.host).openshift;
  };
  CHECK(is_openshift("ID=\"rhcos\"\n"));
  CHECK(is_openshift("ID=scos\n"));
  CHECK(is_openshift("ID=\"rhel\"\nOPENSHIFT_VERSION=\"4.19\"\n"));
  CHECK_FALSE(is_openshift("ID=\"rhel\"\nVARIANT_ID=coreos\n"));
}

TEST_CASE("nothing is installed on Talos and Bottlerocket") {
  CHECK(OsRelease{.id = "talos"}.takes_containers_only());
  CHECK(OsRelease{.id = "bottlerocket"}.takes_containers_only());
  CHECK_FALSE(OsRelease{.id = "flatcar"}.takes_containers_only());
  CHECK_FALSE(OsRelease{}.takes_containers_only());
}
