#pragma once
// The resources that are served, and what they have in common. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/publish/cdi_places.hpp"
#include "daemon/publish/resource_names.hpp"
#include "daemon/report/node_reporter.hpp"
#include "daemon/supervisor/resource_controller.hpp"

namespace plughost {

class ResourceControllers final : private ControllerOwner {
 public:
  // changed: a stage, a list, or the set of resources. All outlive it.
  ResourceControllers(Platform& platform, CdiPlaces& cdi, Assuming& assuming, HeldDevices& held,
                      const DrainSet& drains, NodeReporter& reporter, std::function<void()> changed);
  ~ResourceControllers() override = default;
  ResourceControllers& operator=(ResourceControllers&&) = delete;

  // entry: the configuration's entries of one name. link outlives the controller.
  void add(ResourceController::Configs entry, KubeletLink& link);
  // Another one of its name may begin.
  void end(const std::string& name);
  // It ends for good: whoever wants to be told is.
  void retire(const std::string& name);
  void retire_all();
  // One that was refused a resource's name scans again when that is free.
  void retry_waiting();
  // Those of resources that are no more go.
  void forget_specifications();
  // When resources' streams were ended long ago does not matter any more.
  void forget_ended();

  ResourceController& at(const std::string& name) { return *controllers_.at(name); }
  // nullptr: there is none.
  ResourceController* find(const std::string& name) const;
  // Visits name and Entry&.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, controller] : controllers_) visit(name, *controller);
  }
  // Visits the resource and its entry.
  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, controller] : controllers_)
      controller->publisher().for_each_resource(
          [&, &its = *controller](Resource& resource) { visit(resource, its); });
  }
  std::vector<SharedSnapshot> snapshots() const;
  NodeReporter::Subjects subjects() const;
  // Replaces the kubelet's ids by those of the cards that the pods' annotations name, on a worker, where a
  // scheduler chooses the cards. done runs in the loop, maybe at once; never, if this is gone by then.
  void by_chosen_card(const PodResources::Answer& answer, HoldingsReader::Done done) const;

 private:
  std::string claim(const std::string& resource, const std::string& entry) override;
  EventLoop::Clock::time_point not_before(const std::string& resource) const override;
  void removed(const std::string& resource, const std::string& entry) override;
  void published(const ResourceSnapshot& snapshot) override { reporter_.follow(snapshot); }
  void emptied(const ResourceSnapshot& last) override { reporter_.end(last); }
  void changed() override { changed_(); }

  Platform& platform_;
  CdiPlaces& cdi_;
  Assuming& assuming_;
  HeldDevices& held_;
  const DrainSet& drains_;
  NodeReporter& reporter_;
  const std::function<void()> changed_;
  std::map<std::string, EventLoop::Clock::time_point> ended_;  // when we ended a resource's stream
  ResourceNames names_;
  std::map<std::string, std::unique_ptr<ResourceController>> controllers_;  // by the text of the entry's name
  Lifetime lifetime_;
};

}  // namespace plughost
