#include "places.hpp"
#include "tools/setup/plan.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

constexpr const char* kHead =
    "# Written by plughost setup, which replaces it; `plughost setup --undo` removes it.\n";

std::string node_file(const Kubernetes& kubernetes, const std::vector<std::string>& spec_dirs) {
  const RuntimeSettings settings{.spec_dirs = spec_dirs};
  return node_file_text(kubernetes, &settings);
}

const Kubernetes kUsual{.directory = "/var/lib/kubelet/device-plugins"};
const std::string kCdi =
    std::string(kHead) +
    "# Directories in unusual places on this node. The configuration overrides them.\ncdi:\n";

}  // namespace

TEST_CASE("the drop-in has each need's lines below its sentence, and the section [Unit] before [Service]") {
  CHECK(drop_in_text({}).empty());
  const std::vector<Need> needs{
      {.what = "a", .settings = {{"Service", "X", "1"}}},
      {.what = "b", .settings = {{"Unit", "Y", "2"}, {"Service", "X", "3"}, {"Service", "Z", ""}}}};
  CHECK(drop_in_text(needs) ==
        std::string(kHead) + "\n[Unit]\n# b.\nY=2\n\n[Service]\n# a.\nX=1\n# b.\nX=3\nZ=\n");
  CHECK(drop_in_text(std::vector<Need>{needs[0]}) == std::string(kHead) + "\n[Service]\n# a.\nX=1\n");
}

TEST_CASE("directories in usual places need no file") {
  CHECK(node_file_text(kUsual, nullptr).empty());
  CHECK(node_file(kUsual, {"/etc/cdi", "/var/run/cdi"}).empty());
  CHECK(node_file(kUsual, {"/run/cdi"}).empty());
  CHECK(node_file(kUsual, {}).empty());
}

TEST_CASE("directories in unusual places are written to node.yaml") {
  Kubernetes kubernetes = kUsual;
  kubernetes.root = "/data";
  CHECK(node_file_text(kubernetes, nullptr) ==
        std::string(kHead) +
            "# Directories in unusual places on this node. The configuration overrides them.\nkubelet:\n"
            "  pluginsRegistry: /data/plugins_registry\n  podResources: "
            "/data/pod-resources/kubelet.sock\n");
  kubernetes.root = kKubeletRoot;
  kubernetes.directory = "/data/device-plugins";
  CHECK(node_file_text(kubernetes, nullptr).ends_with("kubelet:\n  directory: /data/device-plugins\n"));
}

TEST_CASE("CDI specifications go to a directory that the runtime reads, preferably to one below /run") {
  CHECK(node_file(kUsual, {"/etc/cdi"}) == kCdi + "  directory: /etc/cdi\n");
  CHECK(node_file(kUsual, {"/run/other", "/etc/cdi"}) == kCdi + "  directory: /run/other\n");
  CHECK(node_file(kUsual, {"/a", "/var/run/x"}) == kCdi + "  directory: /var/run/x\n");
  CHECK(node_file(kUsual, {"/a", "/b"}) == kCdi + "  directory: /b\n");
}

TEST_CASE("the unit starts the given program, and is the packages' unit if that is the packages' program") {
  const std::string text = unit_text("/opt/bin/plughost");
  CHECK(text.starts_with(kHead));
  CHECK(is_of_setup(text));
  CHECK(text.find("\nExecStart=/opt/bin/plughost run ") != text.npos);
  CHECK(text.find("\nExecReload=/opt/bin/plughost reload\n") != text.npos);
  CHECK(text.find(kPackagedProgram) == text.npos);
  const HostRoot source(in_source(""));
  CHECK(unit_text(kPackagedProgram) == kHead + source.text("/systemd/plughost.service").value());
}

TEST_CASE("only a file that begins with the mark is setup's") {
  CHECK(is_of_setup("# Written by plughost setup, in another version"));
  CHECK_FALSE(is_of_setup("\n# Written by plughost setup"));
  CHECK_FALSE(is_of_setup(""));
  CHECK(is_of_setup(sysusers_text()));
}
