#include "tools/convert/manifests/arguments.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using enum OtherPlugin;

std::optional<OtherPlugin> of_image(const std::string& image, std::vector<std::string> words = {}) {
  return running_plugin({.image = image, .words = std::move(words), .environment = {}});
}

std::optional<OtherPlugin> of_words(std::vector<std::string> words) {
  return running_plugin({.image = "registry.example/own", .words = std::move(words), .environment = {}});
}

TEST_CASE("an image's path identifies its plugin, whatever its registry and tag") {
  CHECK(of_image("generic-device-plugin") == kGenericDevicePlugin);
  CHECK(of_image("registry.example:5000/mirror/squat/generic-device-plugin:0.1.1") == kGenericDevicePlugin);
  CHECK(of_image("generic-device-plugin@sha256:00") == kGenericDevicePlugin);
  CHECK(of_image("registry.example/hub-generic-device-plugin:a") == kGenericDevicePlugin);
  CHECK(of_image("registry.example/nvidia/k8s-device-plugin:v0.17.0") == kNvidia);
  CHECK(of_image("rocm/k8s-device-plugin:latest") == kRocm);
  CHECK(of_image("intel/intel-gpu-plugin:0.32.0") == kIntelGpu);
  CHECK(of_image("registry.example/smarter-device-manager:v1.20.12") == kSmarter);
  CHECK(of_image("registry.example/sriov-network-device-plugin") == kSriov);
  CHECK(of_image("registry.example/k8s-rdma-shared-dev-plugin:v1.5.1") == kRdmaShared);
  CHECK_FALSE(of_image("registry.example/k8s-device-plugin"));
  CHECK_FALSE(of_image("registry.example/mygeneric-device-plugin"));
  CHECK_FALSE(of_image("registry.example/generic-device-plugin-docs"));
  CHECK_FALSE(of_image(""));
}

TEST_CASE("other programs of NVIDIA's and ROCm's images are not plugins") {
  CHECK(of_image("nvidia/k8s-device-plugin:v1", {"nvidia-device-plugin"}) == kNvidia);
  CHECK(of_image("nvidia/k8s-device-plugin:v1", {"--mig-strategy=none"}) == kNvidia);
  CHECK_FALSE(of_image("nvidia/k8s-device-plugin:v1", {"gpu-feature-discovery"}));
  CHECK_FALSE(of_image("nvidia/k8s-device-plugin:v1", {"/usr/bin/config-manager"}));
  CHECK_FALSE(of_image("rocm/k8s-device-plugin:labeller-latest", {"./k8s-node-labeller", "--vram"}));
  CHECK_FALSE(of_image("rocm/k8s-device-plugin:labeller-latest"));
}

TEST_CASE("in an unknown image, the program, a flag or a variable identifies the plugin") {
  CHECK(of_words({"/usr/bin/sriovdp"}) == kSriov);
  CHECK(of_words({"/bin/k8s-rdma-shared-dp"}) == kRdmaShared);
  CHECK(of_words({"./amdgpu-device-plugin"}) == kRocm);
  CHECK(of_words({"/start", "--device", "{name: a, groups: []}"}) == kGenericDevicePlugin);
  CHECK_FALSE(of_words({"/start", "--device", "a"}));
  CHECK_FALSE(of_words({"/start", "-pulse=30"}));
  CHECK(running_plugin({.image = {}, .words = {"--domain", "a"}, .environment = {}}) == kGenericDevicePlugin);
  CHECK(running_plugin({.image = {}, .words = {"-pulse=30"}, .environment = {}}) == kRocm);
  CHECK(of_words({"-shared-dev-num=3"}) == kIntelGpu);
  CHECK(of_words({"--mig-strategy=none"}) == kNvidia);
  CHECK_FALSE(of_words({"--devices", "a"}));
  CHECK_FALSE(of_words({"device"}));
  CHECK(running_plugin({.image = {}, .words = {}, .environment = {{"PASS_DEVICE_SPECS", "true"}}}) ==
        kNvidia);
  CHECK_FALSE(running_plugin({.image = {}, .words = {}, .environment = {{"DOMAIN", "a"}}}));
}

TEST_CASE("NVIDIA's flag or program does not count if the image or a flag belongs to a different plugin") {
  CHECK_FALSE(of_image("x/volcano-vgpu-device-plugin", {"--device-list-strategy=envvar"}));
  CHECK_FALSE(of_image("x/other-device-plugin", {"--device-list-strategy=envvar"}));
  CHECK(of_image("x/k8s-device-plugin", {"--device-list-strategy=envvar"}) == kNvidia);
  CHECK(of_image("x/our-nvidia-device-plugin", {"--device-list-strategy=envvar"}) == kNvidia);
  CHECK(of_image("x/gpu-share", {"--device-list-strategy=envvar"}) == kNvidia);
  CHECK_FALSE(of_image("x/our", {"nvidia-device-plugin", "--device-split-count=10"}));
  CHECK_FALSE(of_image("projecthami/hami:v2", {"nvidia-device-plugin"}));
}

TEST_CASE("an unknown device plugin is named") {
  const auto named = [](const std::string& image, std::vector<std::string> words = {}) {
    return unknown_plugin({.image = image, .words = std::move(words), .environment = {}});
  };
  CHECK(named("x/fuse-device-plugin:1") == "the image x/fuse-device-plugin");
  CHECK(named("projecthami/hami:1") == "HAMi's device plugin (projecthami/hami)");
  CHECK(named("", {"--device-split-count", "2"}) == "HAMi's or Volcano's vGPU device plugin");
  CHECK(named("nvidia/k8s-device-plugin", {"gpu-feature-discovery"}).empty());
  CHECK(named("x/generic-device-plugin").empty());
  CHECK(named("nginx").empty());
}

}  // namespace
}  // namespace plughost
