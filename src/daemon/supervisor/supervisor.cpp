#include "daemon/supervisor/supervisor.hpp"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"
#include "config/selection.hpp"

namespace plughost {
namespace {

using Clock = EventLoop::Clock;

// Each of our sockets that appears or goes causes an event; one check serves a burst of them.
constexpr std::chrono::milliseconds kSocketsBurst{50};
// A healthy kubelet answers in milliseconds.
constexpr std::chrono::milliseconds kHoldersSoon{500};
// Delay of the work that follows a burst of new lists and connections.
constexpr std::chrono::seconds kAfterBurst{1};

}  // namespace

void ResourceAffinity::join(const std::vector<ResourceConfig>& entries) {
  std::vector<const AllocationSpec*> specs;
  for (const ResourceConfig& entry : entries) specs.push_back(entry.spec.get());
  std::map<std::string, std::size_t> groups = same_card_groups(specs);
  if (groups != card_groups_) given_cards_.clear();
  card_groups_ = std::move(groups);
  controllers_.for_each([&](const std::string& name, ResourceController& controller) {
    const auto group = card_groups_.find(name);
    if (group == card_groups_.end()) return controller.publisher().set_joined(nullptr);
    std::shared_ptr<GivenCards>& given = given_cards_[group->second];
    if (!given) given = std::make_shared<GivenCards>();
    controller.publisher().set_joined(given);
  });
}

void ResourceAffinity::update() {
  log_shared_ids();
  publish_neighbours();
}

void ResourceAffinity::publish_neighbours() {
  controllers_.for_each([&](const std::string&, ResourceController& controller) {
    const ResourceController* const other = controllers_.find(controller.config().spec->near);
    if (!other) return;
    Neighbours neighbours{.given = other->publisher().given()};
    other->publisher().for_each_resource([&](const Resource& resource) {
      for (const Device& device : resource.snapshot()->inventory.devices()) {
        const std::string* const path = device.attribute("pciPath");
        if (device.healthy() && path) neighbours.healthy.push_back(*path);
      }
    });
    std::ranges::sort(neighbours.healthy);
    controller.publisher().set_neighbours(std::move(neighbours));
  });
}

void ResourceAffinity::log_shared_ids() {
  std::vector<ListedIds> lists;
  controllers_.for_each_resource([&](const Resource& resource, const ResourceController& controller) {
    lists.push_back({resource.snapshot(), controller.config().where});
  });
  const SharedIds shared = shared_ids(lists);
  if (shared.count > shared_ids_)
    log_.warn(
        "two entries list the same id: if it is one device, keep one of them; "
        "if not, give one an `id` such as \"{resource}-{id}\", because the kubelet looks up health by id "
        "alone",
        {{"id", shared.first},
         {"resource", shared.one->snapshot->resource},
         {"at", shared.one->where},
         {"other", shared.other->snapshot->resource},
         {"other_at", shared.other->where},
         {"ids", std::to_string(shared.count)}});
  shared_ids_ = shared.count;
}

std::string Supervisor::Summary::text() const {
  if (!kubelet) return counted(resources, "resource") + ", waiting for the kubelet";
  return std::to_string(attached) + " of " + counted(resources, "resource") + " attached";
}

Supervisor::Supervisor(Platform& platform, Config config, const DrainFile& drains,
                       std::function<void()> on_change, const Inheritance* inheritance)
    : platform_(platform),
      config_(std::move(config)),
      on_change_(std::move(on_change)),
      safety_(platform.loop, [this] { on_safety(); }),
      sockets_timer_(
          platform.loop,
          [this] { controllers_.for_each([](const auto&, auto& controller) { controller.on_sockets(); }); }),
      burst_timer_(platform.loop, [this] { after_burst(); }),
      link_(make_link(config_.kubelet, nullptr, inheritance)),
      cdi_(platform.workers, platform.host, config_.cdi_directory, config_.kubelet.files_owner()),
      reporter_(platform, config_, [this](HoldingsReader::Done done) { read_holdings(std::move(done)); }),
      drain_controller_(platform.loop, platform.workers, platform.log, drains, *this),
      allocatable_(platform, *this),
      assuming_(assuming_context(), config_.kubelet.pods_api()),
      held_(
          platform.loop, platform.log, [this](HoldingsReader::Done done) { read_holdings(std::move(done)); },
          [this] { on_overlay(); }, !inheritance),
      controllers_(platform, cdi_, assuming_, held_, drain_controller_.drains(), reporter_,
                   [this] { on_changed(); }),
      affinity_(platform.log, controllers_) {
  safety_.arm(kSafetyInterval);
  if (link_->watcher().current()) platform_.tallies.kubelets.add();
  for (EntriesOfName& entry : by_name(config_.resources))
    controllers_.add(copies_of(entry), *link_, inheritance);
  affinity_.join(config_.resources);
  reporter_.use(config_, controllers_.subjects());
  if (!link_->watcher().current())
    platform_.log.info("waiting for the kubelet", {{"directory", link_->config().directory.string()}});
}

Supervisor::~Supervisor() = default;

std::unique_ptr<KubeletLink> Supervisor::make_link(const KubeletConfig& config, const KubeletLink* former,
                                                   const Inheritance* inheritance) {
  return std::make_unique<KubeletLink>(
      platform_, config, former, [this] { on_kubelet(); },
      [this] {
        if (!sockets_timer_.armed()) sockets_timer_.arm(kSocketsBurst);
      },
      inheritance != nullptr);
}

Assuming::Context Supervisor::assuming_context() {
  return {.loop = platform_.loop,
          .log = platform_.log,
          .api_server = platform_.api_server,
          .node_watch = platform_.node_watch,
          .checkpoint = [this]() -> CheckpointReader& { return link_->checkpoint(); },
          .write_late =
              [this](auto name, auto text, const auto& done) {
                cdi_.present().write_late(std::move(name), std::move(text), done);
              },
          .remove_other_late = [this](auto names) { cdi_.present().remove_other_late(std::move(names)); }};
}

std::vector<AllocatableCheck::Subject> Supervisor::subjects() const {
  std::vector<AllocatableCheck::Subject> subjects;
  controllers_.for_each_resource([&](const Resource& resource, const ResourceController&) {
    subjects.push_back({.resource = resource.name(),
                        .sent = resource.snapshot()->inventory,
                        .attached_since = resource.attached_since()});
  });
  return subjects;
}

void Supervisor::register_again(const std::string& name) {
  controllers_.for_each_resource([&](Resource& resource, const ResourceController&) {
    if (resource.name() == name) resource.register_again();
  });
}

void Supervisor::forgive(const DrainSet::Name& name) {
  controllers_.for_each([&](const auto&, auto& controller) { controller.forgive(name); });
}

void Supervisor::on_overlay() {
  controllers_.for_each([](const auto&, auto& controller) { controller.on_overlay(); });
}

void Supervisor::read_holdings(HoldingsReader::Done done) {
  link_->holdings().read(Clock::now(), [this, done = std::move(done)](const PodResources::Answer& answer) {
    controllers_.by_chosen_card(answer, done);
  });
}

void Supervisor::stop(const std::function<void()>& done) {
  controllers_.retire_all();
  cdi_.end_former();
  burst_timer_.cancel();  // without entries, after_burst() would remove specifications that must stay
  reporter_.finish(kRemovalLimit, done);
}

Changes Supervisor::apply(Config config) {
  Reconciliation plan = reconcile(config_, config);
  std::unique_ptr<KubeletLink> link = plan.changes.kubelet ? make_link(config.kubelet, link_.get()) : nullptr;
  for (const std::string& name : plan.changes.removed) controllers_.retire(name);
  for (const std::string& name : plan.ended) controllers_.end(name);
  if (link) {
    link_->holdings().abandon();
    allocatable_.forget();
    link_ = std::move(link);
    assuming_.pods().on_kubelet(config.kubelet.pods_api());
  }
  if (plan.cdi) {
    cdi_.move(config.cdi_directory, config.kubelet.files_owner());
    controllers_.for_each([](const auto&, auto& controller) { controller.specify_anew(); });
  }
  for (const EntriesOfName& entry : plan.kept) controllers_.at(name_of(entry)).set_where(copies_of(entry));
  for (const EntriesOfName& entry : plan.updated) controllers_.at(name_of(entry)).update(copies_of(entry));
  for (const EntriesOfName& entry : plan.begun) controllers_.add(copies_of(entry), *link_);
  config_ = std::move(config);
  reporter_.use(config_, controllers_.subjects());
  affinity_.join(config_.resources);
  if (!burst_timer_.armed()) burst_timer_.arm(kAfterBurst);
  on_change_();
  for (const std::string& name : plan.changes.removed)
    platform_.log.warn(
        "resource removed: the node shows its name with a count of 0 until the Node object is deleted "
        "(kubernetes/kubernetes#52510)",
        {{"resource", name}});
  return std::move(plan.changes);
}

Supervisor::Summary Supervisor::summary() const {
  Summary summary;
  summary.kubelet = link_->watcher().current().has_value();
  controllers_.for_each_resource([&](const Resource& resource, const ResourceController&) {
    ++summary.resources;
    if (resource.stage() == Stage::kAttached) ++summary.attached;
  });
  return summary;
}

Attachments Supervisor::attachments() const {
  Attachments seen;
  seen.kubelet = kubelet_status().present;
  controllers_.for_each([&](const std::string& name, const ResourceController& controller) {
    seen.entries.insert(name);
    controller.publisher().for_each_resource([&](const Resource& resource) {
      if (resource.stage() == Stage::kAttached) seen.resources.emplace(resource.name(), name);
    });
  });
  return seen;
}

KubeletStatus Supervisor::kubelet_status() const {
  KubeletStatus status{.directory = link_->config().directory.string()};
  const std::optional<pid_t> process = link_->registration().listening_process();
  const bool there = link_->watcher().current().has_value();
  // A killed kubelet leaves its socket behind.
  status.present = there && (process || !link_->registers());
  if (there == status.present) status.since = kubelet_since_;
  if (process && *process != 0) status.process = process;
  status.unverified = allocatable_.unknown();
  return status;
}

DaemonStatus Supervisor::status() const {
  DaemonStatus status;
  status.kubelet = kubelet_status();
  status.api_server = api_server_status(platform_.api_server);
  status.drains = drain_controller_.drains();
  controllers_.for_each([&](const std::string& name, const ResourceController& controller) {
    const std::vector<EntryStatus> parts = controller.status();
    status.entries.insert(status.entries.end(), parts.begin(), parts.end());
    const EntryStatus& its_entry = *std::ranges::max_element(parts, {}, &EntryStatus::error_at);
    controller.publisher().for_each_resource([&](const Resource& resource) {
      ResourceStatus& told = status.resources.emplace_back(resource.status());
      told.entry = name;
      told.disagreement = allocatable_.disagreement(told.name);
      if (its_entry.error_at > told.error_at) {  // nullopt sorts before every time
        told.error = its_entry.error;
        told.error_at = its_entry.error_at;
      }
    });
  });
  std::ranges::sort(status.resources, {}, &ResourceStatus::name);
  return status;
}

void Supervisor::query_status(WithHolders with, StatusDone done) {
  if (with == WithHolders::kNo) return done(status());
  const auto told = [this, done = std::move(done)](const PodResources::Answer& answer) {
    controllers_.by_chosen_card(answer, [this, done](const PodResources::Answer& known) {
      DaemonStatus status = this->status();
      status.holdings = known.holdings;
      status.holders_unknown = known.why;
      done(std::move(status));
    });
  };
  link_->holdings().read(Clock::now() - HoldingsReader::kShown, told,
                         with == WithHolders::kIfToldSoon ? std::optional(kHoldersSoon) : std::nullopt);
}

void Supervisor::on_kubelet() {
  const bool present = link_->watcher().current().has_value();
  kubelet_since_ = std::chrono::system_clock::now();
  if (present) platform_.tallies.kubelets.add();
  controllers_.for_each([](const auto&, auto& controller) { controller.on_kubelet(); });
  assuming_.pods().on_kubelet(link_->config().pods_api());
  on_change_();
  const std::string directory = link_->config().directory;
  if (present)
    platform_.log.info("kubelet found", {{"directory", directory}});
  else
    platform_.log.info("kubelet socket is gone: waiting for a new one", {{"directory", directory}});
}

void Supervisor::on_changed() {
  if (!burst_timer_.armed()) burst_timer_.arm(kAfterBurst);
  on_change_();
}

void Supervisor::on_safety() {
  safety_.arm(kSafetyInterval);
  controllers_.forget_ended();
  platform_.directories.refresh();
  link_->watcher().check();
  allocatable_.check(*link_);
  controllers_.for_each([](const std::string&, ResourceController& controller) {
    controller.on_sockets();
    controller.request_scan();
  });
}

void Supervisor::after_burst() {
  allocatable_.check(*link_);
  affinity_.update();
  // A predecessor may still give what is not specified here.
  if (held_.ledger()->complete()) controllers_.forget_specifications();
  reporter_.follow(controllers_.subjects());
  controllers_.retry_waiting();
  // glibc keeps the memory of a burst until trimmed, which takes milliseconds.
  platform_.computations.run([] { ::malloc_trim(0); }, [] {}, HoldingsReader::kMergeDeadline, [] {});
}

}  // namespace plughost
