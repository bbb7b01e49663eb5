#include "daemon/supervisor/resource_controllers.hpp"

#include <set>
#include <utility>

namespace plughost {

using Clock = EventLoop::Clock;

ResourceControllers::ResourceControllers(Platform& platform, CdiPlaces& cdi, Assuming& assuming,
                                         HeldDevices& held, const DrainSet& drains, NodeReporter& reporter,
                                         std::function<void()> changed)
    : platform_(platform),
      cdi_(cdi),
      assuming_(assuming),
      held_(held),
      drains_(drains),
      reporter_(reporter),
      changed_(std::move(changed)) {}

void ResourceControllers::add(ResourceController::Configs entry, KubeletLink& link) {
  const std::shared_ptr<const AllocationSpec> spec = entry.front().spec;
  const Template& name = spec->name;
  // A name that is known before the first scan belongs to the entry that says it.
  if (name.literal() && !spec->rename_shared) names_.claim(name.text(), name.text());
  controllers_[name.text()] =
      std::make_unique<ResourceController>(ResourcePublisher::Context{.platform = platform_,
                                                                      .link = link,
                                                                      .cdi = cdi_,
                                                                      .assuming = assuming_,
                                                                      .held = held_,
                                                                      .owner = *this},
                                           drains_, std::move(entry));
}

void ResourceControllers::end(const std::string& name) {
  controllers_.erase(name);
  names_.release_all(name);
}

void ResourceControllers::retire(const std::string& name) {
  std::vector<SharedSnapshot> snapshots;
  at(name).publisher().for_each_resource([&](Resource& resource) {
    snapshots.push_back(resource.snapshot());
    resource.end_for_good();
  });
  end(name);
  for (const auto& snapshot : snapshots) reporter_.end(*snapshot);
}

void ResourceControllers::retire_all() {
  while (!controllers_.empty()) retire(std::string(controllers_.begin()->first));
}

void ResourceControllers::retry_waiting() {
  for (const std::string& name : names_.take_waiting()) at(name).request_scan();
}

// Before each entry has scanned nobody knows which resources there are.
void ResourceControllers::forget_specifications() {
  std::set<std::string> specified;
  bool late = false;
  for (const auto& [name, controller] : controllers_) {
    if (!controller->names_by_cdi()) continue;
    const AllocationSpec& spec = *controller->config().spec;
    if (!controller->settled()) return;
    controller->publisher().for_each_resource(
        [&](const Resource& resource) { specified.insert(resource.name()); });
    late = late || (spec.assume && spec.assume->late());
  }
  if (!late) cdi_.present().remove_other_late({});  // otherwise it is for those to say
  cdi_.remove_others(std::move(specified));
}

void ResourceControllers::forget_ended() {
  std::erase_if(ended_,
                [](const auto& item) { return item.second + KubeletLink::kForgetting < Clock::now(); });
}

ResourceController* ResourceControllers::find(const std::string& name) const {
  const auto found = controllers_.find(name);
  return found == controllers_.end() ? nullptr : found->second.get();
}

std::vector<SharedSnapshot> ResourceControllers::snapshots() const {
  std::vector<SharedSnapshot> snapshots;
  for_each_resource(
      [&](const Resource& resource, const ResourceController&) { snapshots.push_back(resource.snapshot()); });
  return snapshots;
}

NodeReporter::Subjects ResourceControllers::subjects() const {
  NodeReporter::Subjects subjects;
  for (const auto& [name, controller] : controllers_) {
    const ResourceConfig& config = controller->config();
    if (config.labels.empty() && config.node_resources.empty()) continue;
    std::vector<Inventory> lists;
    controller->publisher().for_each_resource(
        [&](const Resource& resource) { lists.push_back(resource.snapshot()->inventory); });
    if (!config.labels.empty())
      subjects.labels.push_back({.entry = name,
                                 .where = config.where,
                                 .labels = config.labels,
                                 .lists = lists,
                                 .settled = controller->settled()});
    if (!config.node_resources.empty())
      subjects.counts.push_back(
          {.counts = config.node_resources, .lists = lists, .settled = controller->settled()});
  }
  return subjects;
}

void ResourceControllers::by_chosen_card(const PodResources::Answer& answer,
                                         HoldingsReader::Done done) const {
  std::vector<std::pair<std::string, AssumedCards::HoldersByCard>> chosen;
  for_each_resource([&](const Resource& resource, const ResourceController&) {
    if (const AssumedCards* const cards = resource.assumed_cards())
      chosen.emplace_back(resource.name(), cards->by_annotation(resource.snapshot()->inventory));
  });
  if (!answer.holdings || chosen.empty()) return done(answer);
  const auto known = std::make_shared<Holdings>(*answer.holdings);
  const auto open = std::make_shared<HoldingsReader::Done>(std::move(done));
  platform_.computations.run(
      [chosen = std::move(chosen), known] {
        for (const auto& [resource, by_card] : chosen) {
          const auto held = known->find(resource);
          if (held != known->end()) held->second = by_card(held->second);
        }
      },
      lifetime_.bound([answer, known, open] {
        PodResources::Answer told = answer;
        told.holdings = known;
        if (const auto done = std::exchange(*open, nullptr)) done(told);
      }),
      HoldingsReader::kMergeDeadline,
      lifetime_.bound([open] { std::exchange(*open, nullptr)(HoldingsReader::too_late()); }));
}

std::string ResourceControllers::claim(const std::string& resource, const std::string& entry) {
  const std::string& owner = names_.claim(resource, entry);
  if (owner == entry) return {};
  return owner + " (" + at(owner).config().where + ") serves it already";
}

Clock::time_point ResourceControllers::not_before(const std::string& resource) const {
  const auto found = ended_.find(resource);
  return found == ended_.end() ? Clock::time_point{} : found->second + KubeletLink::kForgetting;
}

void ResourceControllers::removed(const std::string& resource, const std::string& entry) {
  ended_[resource] = Clock::now();
  names_.release(resource, entry);
}

}  // namespace plughost
