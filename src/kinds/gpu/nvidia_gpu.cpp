#include "kinds/gpu/nvidia_gpu.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "host/hardware/pci_function.hpp"
#include "host/hardware/sysfs.hpp"

namespace plughost {
namespace {

// The library directories of distributions.
constexpr const char* kDirectories[] = {
    "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
    "/lib64",     "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu"};

// "GPU-" and a UUID in lower or upper case.
bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (!text.starts_with("GPU-") || text.size() != kForm.size() + 4) return false;
  text.remove_prefix(4);
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == '-' ? c == '-' : is_hex_digit(c); });
}

// Returns the lines "key: value" of one of the driver's files.
std::map<std::string, std::string> facts_in(const HostRoot& host, const std::string& file) {
  std::map<std::string, std::string> facts;
  const std::string text = host.text(file).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    facts[std::string(without_blanks(line.substr(0, colon)))] = without_blanks(line.substr(colon + 1));
  }
  return facts;
}

std::vector<NvidiaGpu> cards_in_proc(const HostRoot& host, Scan& scan) {
  std::vector<NvidiaGpu> cards;
  for (const std::string& path : host.glob("/proc/driver/nvidia/gpus/*/information").paths) {
    auto facts = facts_in(host, path);
    NvidiaGpu card;
    card.uuid = facts["GPU UUID"];
    card.pci = facts["Bus Location"];
    card.name = facts["Model"];
    card.minor = number_in<unsigned>(facts["Device Minor"]);
    card.index = std::to_string(cards.size());
    if (!is_uuid(card.uuid)) {
      scan.remarks.push_back(path + " has no well-formed UUID of a GPU: the card is left out");
      continue;
    }
    if (card.minor) card.nodes = {nvidia_node(*card.minor)};
    cards.push_back(std::move(card));
  }
  return cards;
}

// NVIDIA's systems on a chip have no NVML, or an NVML without data. Source: go-nvlib's pkg/nvlib/info.
bool is_tegra(const HostRoot& host) {
  if (host.exists("/etc/nv_tegra_release")) return true;
  return to_lower(host.text("/sys/devices/soc0/family").value_or("")).find("tegra") != std::string::npos;
}

std::vector<PciFunction> nvidia_functions(const HostRoot& host) {
  std::vector<PciFunction> functions;
  for (const SysDevice& device : devices_of(host, "pci")) {
    PciFunction function = pci_function(device);
    const bool display = function.class_code.starts_with("0300") || function.class_code.starts_with("0302");
    if (function.vendor == "10de" && display) functions.push_back(std::move(function));
  }
  return functions;
}

// Adds a remark if there are cards without a driver.
void remark_on_driverless(const HostRoot& host, const std::string& why, Scan& scan) {
  for (const PciFunction& function : nvidia_functions(host)) {
    const bool idle = function.driver.empty() || function.driver == "nouveau" || function.driver == "nvidia";
    if (!idle) continue;
    scan.remarks.push_back(
        function.address + " is a card of NVIDIA's that cannot be offered: " +
        (function.driver.empty() ? "no driver is bound to it" : "its driver is " + function.driver) +
        ", and NVML cannot be used (" + why + "); install NVIDIA's driver, or load it with modprobe nvidia");
  }
}

}  // namespace

std::string library_below(const HostRoot& host, const std::string& root, const std::string& library) {
  const std::string name = std::filesystem::path(library).filename();
  for (const char* const directory : kDirectories) {
    const std::string path = root + directory + '/' + name;
    if (host.exists(path)) return host.at(path).string();
  }
  return {};
}

std::string node_below(const HostRoot& host, const std::string& root, const std::string& node) {
  return !root.empty() && host.exists(root + node) ? root + node : node;
}

std::vector<NvidiaGpu> nvidia_gpus_without_nvml(const HostRoot& host, const Nvml::Unusable& why, Scan& scan) {
  std::vector<NvidiaGpu> cards = cards_in_proc(host, scan);
  if (!cards.empty()) {
    if (!why.refuses)
      scan.remarks.push_back("NVML cannot be used (" + why.why +
                             "): the cards are those that /proc/driver/nvidia shows, without MIG and health");
    return cards;
  }
  if (is_tegra(host)) return {tegra_gpu()};
  remark_on_driverless(host, why.why, scan);
  return {};
}

std::string why_no_nvidia_gpu(const HostRoot& host) {
  const std::size_t cards = nvidia_functions(host).size();
  const bool loaded = host.exists("/proc/driver/nvidia");
  const std::string text =
      cards == 0 ? "the PCI bus has no nvidia GPU" : "the PCI bus has " + counted(cards, "nvidia GPU");
  if (!loaded) return text + ", and no NVIDIA driver is loaded";
  return cards == 0 ? text
                    : text +
                          ", of which the driver offers none: are they divided by MIG, or in use by virtual "
                          "machines?";
}

NvidiaGpu tegra_gpu() { return {{.uuid = "tegra", .name = "Tegra", .index = "0"}, {}}; }

}  // namespace plughost
