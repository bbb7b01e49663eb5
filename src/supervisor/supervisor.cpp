#include "supervisor/supervisor.hpp"

#include <malloc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "reload/reconciliation.hpp"
#include "supervisor/resource_names.hpp"

namespace plughost {
namespace {

using Clock = EventLoop::Clock;

// Each socket of ours that comes or goes is an event: they are looked at once for many.
constexpr std::chrono::milliseconds kSocketsBurst{50};
// A kubelet that is well takes some milliseconds.
constexpr std::chrono::milliseconds kHoldersSoon{500};
// What is done once for a burst of new lists and connections.
constexpr std::chrono::seconds kAfterBurst{1};

std::optional<WallTime> on_the_wall(std::optional<EventLoop::Clock::time_point> time) {
  if (!time) return std::nullopt;
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(EventLoop::Clock::now() - *time);
}

std::optional<ApiServerStatus> api_server_status(const ApiServer& server) {
  const std::optional<ApiClientState> known = server.state();
  if (!known) return std::nullopt;
  const ApiClientState& state = *known;
  ApiServerStatus status{.requests = server.tally().read().requests};
  status.server = state.server;
  status.identity = state.identity;
  status.node = state.node;
  status.heard_at = on_the_wall(state.heard);
  status.trouble = state.trouble;
  status.warnings = state.warnings;
  for (const ApiTally::Watched& watch : state.watches)
    status.watches.push_back({.collection = watch.collection,
                              .objects = watch.objects,
                              .heard_at = on_the_wall(watch.heard),
                              .trouble = watch.trouble});
  return status;
}

}  // namespace

std::string Supervisor::Summary::text() const {
  if (!kubelet) return counted(resources, "resource") + ", waiting for the kubelet";
  return std::to_string(attached) + " of " + counted(resources, "resource") + " attached";
}

Supervisor::Supervisor(Platform& platform, Config config, const DrainFile& drains,
                       std::function<void()> on_change)
    : platform_(platform),
      config_(std::move(config)),
      on_change_(std::move(on_change)),
      removals_(platform.programs, platform.log),
      safety_(platform.loop, [this] { on_safety(); }),
      sockets_timer_(platform.loop,
                     [this] {
                       for (const auto& [name, entry] : entries_) entry->on_sockets();
                     }),
      burst_timer_(platform.loop, [this] { after_burst(); }),
      link_(make_link(config_.kubelet, nullptr)),
      cdi_(make_cdi(config_)),
      labels_(platform.loop, platform.workers, platform.log, feature_directory(config_)),
      node_capacity_(platform.loop, platform.log, platform.api_server, platform.node_watch),
      events_(platform.loop, platform.log, platform.api_server,
              [this](HoldingsReader::Done done) { read_holdings(std::move(done)); }),
      draining_(platform.loop, platform.workers, platform.log, drains, drain_hooks()),
      unhealthy_(platform.programs, platform.log,
                 [this](HoldingsReader::Done done) { read_holdings(std::move(done)); }),
      allocatable_(platform, allocatable_hooks()),
      assuming_(means_of_assuming(), config_.kubelet.pods_api()) {
  safety_.arm(kSafetyInterval);
  use_api_server();
  if (link_->watcher().current()) platform_.tallies.kubelets.add();
  for (const ResourceConfig& resource : config_.resources) add(resource);
  join();
  tell_node_counts();  // whatever they are: what a killed process has counted is ours from now on
  if (!link_->watcher().current())
    platform_.log.info("waiting for the kubelet", {{"directory", link_->config().directory.string()}});
}

Supervisor::~Supervisor() = default;

std::unique_ptr<KubeletLink> Supervisor::make_link(const KubeletConfig& config, const KubeletLink* former) {
  return std::make_unique<KubeletLink>(
      platform_, config, former, [this] { on_kubelet(); },
      [this] {
        if (!sockets_timer_.armed()) sockets_timer_.arm(kSocketsBurst);
      });
}

std::unique_ptr<CdiWriter> Supervisor::make_cdi(const Config& config) const {
  return std::make_unique<CdiWriter>(platform_.workers, platform_.host, config.cdi.directory,
                                     cdi_owner(config.kubelet.directory));
}

// A container that starts meanwhile finds its specification in the former place or in the new one.
void Supervisor::move_cdi(const Config& config) {
  if (former_cdi_ && former_cdi_->is_for(config.cdi.directory, cdi_owner(config.kubelet.directory))) {
    std::swap(cdi_, former_cdi_);
  } else {
    end_former_cdi();
    former_cdi_ = std::exchange(cdi_, make_cdi(config));
  }
  for (const auto& [name, entry] : entries_) entry->specify_anew();
}

void Supervisor::end_former_cdi() {
  if (former_cdi_) {
    former_cdi_->keep({});
    former_cdi_->keep_late({});
  }
  former_cdi_.reset();
}

FeatureDirectory Supervisor::feature_directory(const Config& config) const {
  return {platform_.host, config.labels.directory, cdi_owner(config.kubelet.directory)};
}

Assuming::Means Supervisor::means_of_assuming() {
  return {.loop = platform_.loop,
          .log = platform_.log,
          .api_server = platform_.api_server,
          .node_watch = platform_.node_watch,
          .checkpoint = [this]() -> CheckpointReader& { return link_->checkpoint(); },
          .write_late =
              [this](std::string name, std::string text,
                     const std::function<void(const std::string& trouble)>& done) {
                cdi_->write_late(std::move(name), std::move(text), done);
              },
          .keep_late = [this](std::set<std::string> names) { cdi_->keep_late(std::move(names)); }};
}

AllocatableCheck::Hooks Supervisor::allocatable_hooks() {
  return {.subjects =
              [this] {
                std::vector<AllocatableCheck::Subject> subjects;
                for (const auto& [name, entry] : entries_) {
                  entry->for_each_resource([&](const Resource& resource) {
                    subjects.push_back({.resource = resource.name(),
                                        .sent = resource.offer()->inventory,
                                        .attached_since = resource.attached_since()});
                  });
                }
                return subjects;
              },
          .register_anew =
              [this](const std::string& name) {
                for (const auto& [text, entry] : entries_) {
                  entry->for_each_resource([&](Resource& resource) {
                    if (resource.name() == name) resource.register_anew();
                  });
                }
              },
          .changed = [this] { on_change_(); }};
}

Draining::Hooks Supervisor::drain_hooks() {
  return {.offers = [this] { return offers(); },
          .read_holdings = [this](HoldingsReader::Done done) { read_holdings(std::move(done)); },
          .changed =
              [this] {
                for (const auto& [name, entry] : entries_) entry->on_other_terms();
              },
          .forgive =
              [this](const Drains::Name& name) {
                for (const auto& [text, entry] : entries_) entry->forgive(name);
              }};
}

Entry::Hooks Supervisor::hooks(const std::string& entry) {
  return {.claim = [this, entry](const std::string& resource) { return claim(resource, entry); },
          .not_before =
              [this](const std::string& resource) {
                const auto found = ended_.find(resource);
                return found == ended_.end() ? Clock::time_point{} : found->second + Resource::kForgetting;
              },
          .removed =
              [this, entry](const std::string& resource) {
                ended_[resource] = Clock::now();
                names_.release(resource, entry);
              },
          .cdi = [this]() -> CdiWriter& { return *cdi_; },
          .assuming = [this]() -> Assuming& { return assuming_; },
          .drains = [this]() -> const Drains& { return draining_.drains(); },
          .offered =
              [this](const Offer& offer) {
                unhealthy_.follow(offer);
                events_.follow(offer);
              },
          .emptied =
              [this](const Offer& last) {
                forget(last.resource);
                removals_.run(last);
              },
          .changed =
              [this] {
                if (!burst_timer_.armed()) burst_timer_.arm(kAfterBurst);
                on_change_();
              }};
}

void Supervisor::add(const ResourceConfig& resource) {
  const Template& name = resource.recipe->name;
  // What is known before anybody has looked belongs to the entry that says it.
  if (name.literal() && !resource.recipe->rename_shared) names_.claim(name.text(), name.text());
  entries_[name.text()] = std::make_unique<Entry>(platform_, *link_, resource, hooks(name.text()));
}

void Supervisor::end(const std::string& name) {
  entries_.erase(name);
  names_.release_all(name);
}

std::string Supervisor::claim(const std::string& resource, const std::string& entry) {
  const std::string& owner = names_.claim(resource, entry);
  if (owner == entry) return {};
  return owner + " (" + entries_.at(owner)->config().where + ") serves it already";
}

void Supervisor::retire(const std::string& name) {
  const auto entry = entries_.find(name);
  std::vector<std::shared_ptr<const Offer>> offers;
  entry->second->for_each_resource([&](Resource& resource) {
    offers.push_back(resource.offer());
    resource.end_for_good();
  });
  end(name);
  for (const auto& offer : offers) {
    forget(offer->resource);
    removals_.run(*offer);
  }
}

void Supervisor::forget(const std::string& resource) {
  unhealthy_.forget(resource);
  events_.forget(resource);
}

void Supervisor::read_holdings(HoldingsReader::Done done) {
  link_->holdings().read(Clock::now(), [this, done = std::move(done)](const PodResources::Answer& answer) {
    done(by_chosen_card(answer));
  });
}

PodResources::Answer Supervisor::by_chosen_card(const PodResources::Answer& answer) const {
  PodResources::Answer told = answer;
  for (const auto& [name, entry] : entries_) {
    entry->for_each_resource([&](const Resource& resource) {
      const AssumedCards* const cards = resource.assumed_cards();
      if (!cards || !told.holdings) return;
      told.holdings =
          std::make_shared<const Holdings>(cards->by_annotation(*told.holdings, resource.offer()->inventory));
    });
  }
  return told;
}

void Supervisor::stop(std::function<void()> done) {
  while (!entries_.empty()) retire(std::string(entries_.begin()->first));
  end_former_cdi();
  burst_timer_.cancel();  // without entries it would take what is to stay for what nobody wants
  const auto ended = [done = std::move(done), left = std::make_shared<int>(3)] {
    if (--*left == 0) done();
  };
  removals_.finish(kRemovalLimit, ended);
  tell_node_counts();  // there are no entries any more: 0
  node_capacity_.settle(kRemovalLimit, ended);
  events_.finish(kRemovalLimit, ended);
}

Changes Supervisor::apply(Config config) {
  Reconciliation plan = reconcile(config_, config);
  std::unique_ptr<KubeletLink> link = plan.changes.kubelet ? make_link(config.kubelet, link_.get()) : nullptr;
  for (const std::string& name : plan.changes.removed) retire(name);
  for (const std::string& name : plan.ended) end(name);
  if (link) {
    link_->holdings().abandon();
    allocatable_.forget();
    link_ = std::move(link);
    assuming_.pods().on_kubelet(config.kubelet.pods_api());
  }
  if (plan.cdi) move_cdi(config);
  labels_.use(feature_directory(config));
  for (const ResourceConfig* resource : plan.kept)
    entries_.at(resource->recipe->name.text())->set_where(resource->where);
  for (const ResourceConfig* resource : plan.updated)
    entries_.at(resource->recipe->name.text())->update(*resource);
  for (const ResourceConfig* resource : plan.begun) add(*resource);
  config_ = std::move(config);
  use_api_server();
  join();
  if (!burst_timer_.armed()) burst_timer_.arm(kAfterBurst);
  on_change_();
  for (const std::string& name : plan.changes.removed)
    platform_.log.warn(
        "resource removed: its name stays on the node, with a count of 0, until the node is made anew "
        "(kubernetes/kubernetes#52510)",
        {{"resource", name}});
  return std::move(plan.changes);
}

void Supervisor::use_api_server() {
  events_.use(config_.events);
  tell_node_counts();
  const auto use = [this] { platform_.api_server.use(config_.api_server); };
  if (config_.api_server || node_capacity_.idle())
    use();
  else
    node_capacity_.settle(kFarewellLimit, use);
}

Supervisor::Summary Supervisor::summary() const {
  Summary summary;
  summary.kubelet = link_->watcher().current().has_value();
  for (const auto& [name, entry] : entries_) {
    entry->for_each_resource([&](const Resource& resource) {
      ++summary.resources;
      if (resource.stage() == Stage::kAttached) ++summary.attached;
    });
  }
  return summary;
}

Attachments Supervisor::attachments() const {
  Attachments seen;
  // A kubelet that was killed leaves its socket.
  const bool silent = link_->registers() && !link_->registration().listening_process();
  seen.kubelet = link_->watcher().current() && !silent;
  for (const auto& [name, entry] : entries_) {
    seen.entries.insert(name);
    entry->for_each_resource([&, text = name](const Resource& resource) {
      if (resource.stage() == Stage::kAttached) seen.resources.emplace(resource.name(), text);
    });
  }
  return seen;
}

DaemonStatus Supervisor::status() const {
  DaemonStatus status;
  // A kubelet that was killed leaves its socket.
  const std::optional<pid_t> process = link_->registration().listening_process();
  const bool silent = link_->registers() && !process;
  const bool present = link_->watcher().current().has_value();
  status.kubelet = {.present = present && !silent, .directory = link_->config().directory.string()};
  if (present == status.kubelet.present) status.kubelet.since = kubelet_since_;
  if (process && *process != 0) status.kubelet.process = process;
  status.kubelet.unverified = allocatable_.unknown();
  status.api_server = api_server_status(platform_.api_server);
  status.drains = draining_.drains();
  for (const auto& [name, entry] : entries_) {
    const EntryStatus& its_entry = status.entries.emplace_back(entry->status());
    entry->for_each_resource([&, text = name](const Resource& resource) {
      ResourceStatus& told = status.resources.emplace_back(resource.status());
      told.entry = text;
      told.disagreement = allocatable_.disagreement(told.name);
      if (its_entry.trouble_at > told.trouble_at) {  // nullopt is before every time
        told.trouble = its_entry.trouble;
        told.trouble_at = its_entry.trouble_at;
      }
    });
  }
  std::ranges::sort(status.resources, {}, &ResourceStatus::name);
  return status;
}

void Supervisor::ask_status(WithHolders with, StatusDone done) {
  if (with == WithHolders::kNo) return done(status());
  const auto told = [this, done = std::move(done)](const PodResources::Answer& answer) {
    DaemonStatus status = this->status();
    status.holdings = by_chosen_card(answer).holdings;
    status.holders_unknown = answer.why;
    done(std::move(status));
  };
  link_->holdings().read(Clock::now() - HoldingsReader::kShown, told,
                         with == WithHolders::kIfToldSoon ? std::optional(kHoldersSoon) : std::nullopt);
}

std::vector<std::shared_ptr<const Offer>> Supervisor::offers() const {
  std::vector<std::shared_ptr<const Offer>> offers;
  for (const auto& [name, entry] : entries_)
    entry->for_each_resource([&](const Resource& resource) { offers.push_back(resource.offer()); });
  return offers;
}

void Supervisor::drain(const DrainOrder& order, DrainDone done) {
  draining_.carry_out(order, std::move(done));
}

void Supervisor::on_kubelet() {
  const bool present = link_->watcher().current().has_value();
  kubelet_since_ = std::chrono::system_clock::now();
  if (present) platform_.tallies.kubelets.add();
  for (const auto& [name, entry] : entries_) entry->on_kubelet();
  assuming_.pods().on_kubelet(link_->config().pods_api());
  on_change_();
  const std::string directory = link_->config().directory;
  if (present)
    platform_.log.info("a kubelet is there", {{"directory", directory}});
  else
    platform_.log.info("the kubelet's socket is gone: waiting for the next", {{"directory", directory}});
}

void Supervisor::on_safety() {
  safety_.arm(kSafetyInterval);
  std::erase_if(ended_, [](const auto& item) { return item.second + Resource::kForgetting < Clock::now(); });
  platform_.directories.refresh();
  link_->watcher().look();
  allocatable_.look(*link_);
  for (const auto& [name, entry] : entries_) {
    entry->on_sockets();
    entry->hint();
  }
}

void Supervisor::after_burst() {
  allocatable_.look(*link_);
  look_for_shared_ids();
  forget_specifications();
  tell_neighbours();
  tell_labels();
  tell_node_counts();
  tell_hopeful();
  ::malloc_trim(0);  // glibc keeps what a burst has needed until somebody asks for it
}

void Supervisor::tell_neighbours() {
  for (const auto& [name, entry] : entries_) {
    const auto other = entries_.find(entry->config().recipe->near);
    if (other == entries_.end()) continue;
    Neighbours neighbours{.given = other->second->given()};
    other->second->for_each_resource([&](const Resource& resource) {
      for (const Device& device : resource.offer()->inventory.devices()) {
        const std::string* const path = device.attribute("pciPath");
        if (device.healthy() && path) neighbours.healthy.push_back(*path);
      }
    });
    std::ranges::sort(neighbours.healthy);
    entry->set_neighbours(std::move(neighbours));
  }
}

// What is known without a look at the machine holds from the first list on.
void Supervisor::join() {
  std::vector<const Recipe*> recipes;
  for (const ResourceConfig& resource : config_.resources) recipes.push_back(resource.recipe.get());
  std::map<std::string, std::size_t> groups = same_card_groups(recipes);
  if (groups != card_groups_) given_cards_.clear();
  card_groups_ = std::move(groups);
  for (const auto& [name, entry] : entries_) {
    const auto group = card_groups_.find(name);
    if (group == card_groups_.end()) {
      entry->set_joined(nullptr);
      continue;
    }
    std::shared_ptr<GivenCards>& given = given_cards_[group->second];
    if (!given) given = std::make_shared<GivenCards>();
    entry->set_joined(given);
  }
}

void Supervisor::tell_labels() {
  std::vector<FeatureLabels::Subject> subjects;
  for (const auto& [name, entry] : entries_) {
    if (entry->config().labels.empty()) continue;
    FeatureLabels::Subject& subject =
        subjects.emplace_back(FeatureLabels::Subject{.entry = name,
                                                     .where = entry->config().where,
                                                     .labels = entry->config().labels,
                                                     .lists = {},
                                                     .settled = entry->settled()});
    entry->for_each_resource(
        [&](const Resource& resource) { subject.lists.push_back(resource.offer()->inventory); });
  }
  labels_.follow(subjects);
}

void Supervisor::tell_node_counts() {
  std::vector<NodeCapacity::Subject> subjects;
  for (const auto& [name, entry] : entries_) {
    if (entry->config().node_resources.empty()) continue;
    NodeCapacity::Subject& subject = subjects.emplace_back(NodeCapacity::Subject{
        .counts = entry->config().node_resources, .lists = {}, .settled = entry->settled()});
    entry->for_each_resource(
        [&](const Resource& resource) { subject.lists.push_back(resource.offer()->inventory); });
  }
  node_capacity_.follow(subjects);
}

// A name that they want is free: the next look may serve it.
void Supervisor::tell_hopeful() {
  for (const std::string& name : names_.take_hopeful()) entries_.at(name)->hint();
}

// Of resources that are no more. Before each entry has looked nobody knows which there are.
void Supervisor::forget_specifications() {
  std::set<std::string> specified;
  bool late = false;
  for (const auto& [name, entry] : entries_) {
    const Recipe& recipe = *entry->config().recipe;
    if (recipe.cdi == CdiNames::kNone) continue;
    if (!entry->settled()) return;
    entry->for_each_resource([&](const Resource& resource) { specified.insert(resource.name()); });
    late = late || (recipe.assume && recipe.assume->late());
  }
  cdi_->keep(std::move(specified));
  if (!late) cdi_->keep_late({});  // otherwise it is for those to say
  end_former_cdi();
}

void Supervisor::look_for_shared_ids() {
  std::vector<ListedIds> lists;
  for (const auto& [name, entry] : entries_)
    entry->for_each_resource([&, where = entry->config().where](const Resource& resource) {
      lists.push_back({resource.offer(), where});
    });
  const SharedIds shared = shared_ids(lists);
  if (shared.count > shared_ids_)
    platform_.log.warn(
        "two entries list the same id: if it is one device, keep one of them, or two containers may get it; "
        "if not, give one an `id` such as \"{resource}-{id}\", because the kubelet looks health up by id "
        "alone",
        {{"id", shared.first},
         {"resource", shared.one->offer->resource},
         {"at", shared.one->where},
         {"other", shared.other->offer->resource},
         {"other_at", shared.other->where},
         {"ids", std::to_string(shared.count)}});
  shared_ids_ = shared.count;
}

}  // namespace plughost
