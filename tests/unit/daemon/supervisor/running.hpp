#pragma once
// A running entry without a kubelet. Loop thread only.

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "daemon/supervisor/resource_controller.hpp"
#include "unit/daemon/scan/shown_machine.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

using namespace std::chrono_literals;

// The owner of a single entry: no other entry claims a resource.
struct OnlyOwner final : ControllerOwner {
  std::string claim(const std::string&, const std::string&) override { return ""; }
  ResourceController::Clock::time_point not_before(const std::string&) const override {
    return ResourceController::Clock::time_point::min();
  }
  void removed(const std::string&, const std::string&) override {}
  void published(const ResourceSnapshot&) override {}
  void emptied(const ResourceSnapshot&) override {}
  void changed() override {}
};

// An entry on a node without a kubelet. Its resources have its machine's devices, and are named after the
// devices' types. Release the machine before this object is destroyed.
struct Running {
  TempDir kubelet;
  Process process;
  std::shared_ptr<Machine> machine = std::make_shared<Machine>();
  KubeletLink link{process.platform,
                   {.directory = kubelet.path(), .pod_resources = kubelet.at("none")},
                   nullptr,
                   [] {},
                   [] {}};
  CdiPlaces cdi{process.workers, process.host, kubelet.at("cdi"), "plughost"};
  Assuming assuming{{.loop = process.platform.loop,
                     .log = process.platform.log,
                     .api_server = process.platform.api_server,
                     .node_watch = process.platform.node_watch,
                     .checkpoint = [this]() -> CheckpointReader& { return link.checkpoint(); },
                     .write_late = {},
                     .remove_other_late = {}},
                    kubelet.at("none")};
  HeldDevices held{process.loop, process.log, [](const HoldingsReader::Done&) {}, [] {}};
  DrainSet drains;
  OnlyOwner owner;
  Inheritance inheritance;
  std::unique_ptr<ResourceController> entry;

  void start() { start({entry_of(machine, "x.com/{type}")}); }
  void start(ResourceController::Configs configs) {
    entry = std::make_unique<ResourceController>(ResourcePublisher::Context{.platform = process.platform,
                                                                            .link = link,
                                                                            .cdi = cdi,
                                                                            .assuming = assuming,
                                                                            .held = held,
                                                                            .owner = owner},
                                                 drains, std::move(configs), &inheritance);
  }
  std::set<std::string> resources() const {
    std::set<std::string> names;
    entry->publisher().for_each_resource([&](const Resource& resource) { names.insert(resource.name()); });
    return names;
  }
  bool lists(const std::set<std::string>& names) {
    return run_until(process.loop, [&] { return resources() == names; });
  }
  bool scanned(int times) {
    return run_until(process.loop, [&] { return machine->scans() >= times; });
  }
  EntryStatus status() const { return entry->status().front(); }
  // Returns nullptr if the device is not listed.
  const Device* device(const std::string& resource, const std::string& id) {
    const Device* found = nullptr;
    entry->publisher().for_each_resource([&](const Resource& each) {
      if (each.name() == resource) found = device_of_id(each.snapshot()->inventory.devices(), id);
    });
    return found;
  }
  std::string stall(const std::string& resource) {
    std::string why;
    entry->publisher().for_each_resource([&](const Resource& each) {
      if (each.name() == resource && !each.snapshot()->stalls.empty())
        why = each.snapshot()->stalls.front().why;
    });
    return why;
  }
};

}  // namespace plughost::test
