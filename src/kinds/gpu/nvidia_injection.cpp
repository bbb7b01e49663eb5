#include "kinds/gpu/nvidia_injection.hpp"

#include "allocate/cdi.hpp"

namespace plughost {
namespace {

const std::string kVolumeRoot = "/var/run/nvidia-container-devices";

MountRecipe volume(const std::string& below) {
  return {.host_path = Template("/dev/null"), .container_path = Template(kVolumeRoot + '/' + below)};
}

std::string imex_cdi_name(const std::string& channel) {
  return std::string(kNvidiaCdiVendor) + "/imex-channel=" + channel;
}

void add_cdi(const NvidiaInjection& injection, KindRecipe& recipe) {
  std::vector<std::string> channels;
  for (const std::string& channel : injection.imex_channels) channels.push_back(imex_cdi_name(channel));
  const auto add = [&](CdiNames way) {
    add_cdi_names(recipe, way, "nvidia-device-plugin", "{cdi}", channels);
  };
  if (injection.cdi_annotations) add(CdiNames::kAnnotations);
  if (injection.cdi_cri) add(CdiNames::kCri);
}

// The daemon of MPS is NVIDIA's; here is what its clients need.
void add_mps(const NvidiaInjection& injection, KindRecipe& recipe) {
  const std::string root = Template::escape(injection.mps_root);
  recipe.env.emplace_back(Template("CUDA_MPS_PIPE_DIRECTORY"), Template("/mps/{resource}/pipe"));
  recipe.mounts.push_back(
      {.host_path = Template(root + "/{resource}/pipe"), .container_path = Template("/mps/{resource}/pipe")});
  recipe.mounts.push_back({.host_path = Template(root + "/shm"), .container_path = Template("/dev/shm")});
}

}  // namespace

std::shared_ptr<const KindRecipe> nvidia_recipe(const NvidiaInjection& injection) {
  KindRecipe recipe;
  const auto set = [&](std::string_view name, std::string_view value) {
    recipe.env.emplace_back(Template(name), Template(value));
  };
  add_cdi(injection, recipe);
  if (injection.mps) add_mps(injection, recipe);
  // With both of them the volumes count.
  if (injection.volume_mounts)
    set("NVIDIA_VISIBLE_DEVICES", kVolumeRoot);
  else if (injection.envvar)
    set("NVIDIA_VISIBLE_DEVICES", "{visible}");
  if (injection.volume_mounts) recipe.mounts.push_back(volume("{visible}"));
  std::string channels;
  for (const std::string& channel : injection.imex_channels) {
    channels += (channels.empty() ? "" : ",") + channel;
    const Template node("/dev/nvidia-caps-imex-channels/channel" + channel);
    if (injection.volume_mounts) recipe.mounts.push_back(volume("imex/" + channel));
    if (injection.pass_device_specs) recipe.nodes.push_back({.host_path = node, .container_path = node});
  }
  if (injection.envvar && !channels.empty()) set("NVIDIA_IMEX_CHANNELS", channels);
  if (injection.gds) set("NVIDIA_GDS", "enabled");
  if (injection.mofed) set("NVIDIA_MOFED", "enabled");
  if (injection.gdrcopy) set("NVIDIA_GDRCOPY", "enabled");
  return std::make_shared<const KindRecipe>(std::move(recipe));
}

std::string nvidia_cdi_name(const std::string& visible) {
  return std::string(kNvidiaCdiVendor) + "/gpu=" + visible;
}

}  // namespace plughost
