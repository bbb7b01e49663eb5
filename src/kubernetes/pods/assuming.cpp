#include "kubernetes/pods/assuming.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

// Returns the free ids of a resource, each once. Examines each id of the inventory at most twice, regardless
// of how many ids it returns.
class FreeIds {
 public:
  using Ids = std::map<std::string, std::shared_ptr<const Holder>, std::less<>>;

  FreeIds(const Inventory& inventory, const Ids& taken) : inventory_(inventory), taken_(taken) {}

  // Returns the first free id of the device, or else of any device; empty if there is none.
  std::string take(const Device& device) {
    for (unsigned& n = next_[&device]; n < device.replicas;) {
      std::string id = replica_id(device, n++);
      if (!taken_.contains(id)) return id;
    }
    for (; any_ < inventory_.devices().size(); ++any_) {
      const Device& other = inventory_.devices()[any_];
      for (unsigned& n = next_[&other]; n < other.replicas;) {
        std::string id = replica_id(other, n++);
        if (!taken_.contains(id)) return id;
      }
    }
    return {};
  }

 private:
  const Inventory& inventory_;
  const Ids& taken_;
  std::map<const Device*, unsigned> next_;  // the next replica to examine
  std::size_t any_ = 0;                     // no device before this index has a free id
};

}  // namespace

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource) {
  std::vector<HeldUnits> held;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource != resource) continue;
    held.push_back({.pod_uid = some.pod_uid, .container = some.container, .ids = some.set});
  }
  return held;
}

AnsweredContainers containers_of(const std::vector<HeldUnits>& held) {
  AnsweredContainers containers;
  for (const HeldUnits& each : held) containers.emplace(each.pod_uid, each.container);
  return containers;
}

const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder) {
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource == resource && some.pod_uid == holder.pod_uid && some.container == holder.container)
      return some.allocation ? &*some.allocation : nullptr;
  }
  return nullptr;
}

std::set<std::string> late_devices(const Checkpoint& checkpoint) {
  std::set<std::string> devices;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) devices.insert(late_device(some.set));
  return devices;
}

HoldersOfIds by_card(const HoldersOfIds& holders, const Inventory& inventory,
                     const std::function<const Device*(const Holder& holder)>& card) {
  FreeIds::Ids taken;
  FreeIds free(inventory, taken);
  // Stores the card of each container, so that a container with 48,000 ids needs one lookup.
  std::map<Holder, const Device*> cards;
  std::vector<HoldersOfIds::Held> others;
  for (const HoldersOfIds::Held& held : holders) {
    const auto known = cards.find(*held.holder);
    const Device* const device =
        known == cards.end() ? cards[*held.holder] = card(*held.holder) : known->second;
    const std::string id = device ? free.take(*device) : "";
    if (id.empty())
      others.push_back(held);
    else
      taken.emplace(id, held.holder);
  }
  for (const HoldersOfIds::Held& held : others) {
    const Device* const device = taken.contains(held.id) ? inventory.find(held.id) : nullptr;
    const std::string id = device ? free.take(*device) : std::string(held.id);
    if (!id.empty()) taken.emplace(id, held.holder);
  }
  std::vector<HoldersOfIds::Held> all;
  for (const auto& [id, holder] : taken) all.push_back({.id = id, .holder = holder});
  return HoldersOfIds(std::move(all));
}

HoldersOfIds by_name(const HoldersOfIds& holders,
                     const std::function<Holder(const Holder& holder)>& known_as) {
  std::map<Holder, std::shared_ptr<const Holder>> known;
  std::vector<HoldersOfIds::Held> all;
  for (const HoldersOfIds::Held& held : holders) {
    std::shared_ptr<const Holder>& name = known[*held.holder];
    if (!name) name = std::make_shared<const Holder>(known_as(*held.holder));
    all.push_back({.id = held.id, .holder = name});
  }
  return HoldersOfIds(std::move(all));
}

namespace {

// gpushare's label for a node whose kernel must not isolate containers on one card.
constexpr const char* kNoIsolation = "cgpu.disable.isolation";

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Holder named(const AskingPod& pod, const std::string& container) {
  const std::size_t slash = pod.name.find('/');
  return {
      .pod_namespace = pod.name.substr(0, slash), .pod = pod.name.substr(slash + 1), .container = container};
}

}  // namespace

PodMarks::PodMarks(EventLoop& loop, ApiServer& server, Log& log)
    : server_(server), log_(log), again_(loop, [this] { write(); }), user_(server.users(), [this] {
        call_.reset();
        if (writing_) waiting_.push_front(std::move(*writing_));
        writing_.reset();
        backoff_.reset();
        again_.arm({});
      }) {}

void PodMarks::add(const AskingPod& pod, std::string patch) {
  const auto its = [&](const Mark& mark) { return mark.uid == pod.uid; };
  if ((writing_ && its(*writing_)) || std::ranges::any_of(waiting_, its)) return;
  waiting_.push_front(
      {.pod = pod.name, .uid = pod.uid, .annotation = pod.names.assigned, .patch = std::move(patch)});
  write();
}

void PodMarks::keep(const std::function<bool(const std::string& uid)>& wanted) {
  std::erase_if(waiting_, [&](const Mark& mark) { return !wanted(mark.uid); });
  if (!writing_ || wanted(writing_->uid)) return;
  call_.reset();
  writing_.reset();
  write();
}

// Patches the pod's status: the kubelet's identity may patch a pod's status, but not the pod itself.
void PodMarks::write() {
  ApiClient* const client = writing_ || waiting_.empty() ? nullptr : server_.client();
  if (!client) return;  // the subscription calls this again for a new client
  again_.cancel();
  writing_ = std::move(waiting_.front());
  waiting_.pop_front();
  const std::size_t slash = writing_->pod.find('/');
  call_ = client->send({.verb = ApiVerb::kPatch,
                        .path = "/api/v1/namespaces/" + url_encoded(writing_->pod.substr(0, slash)) +
                                "/pods/" + url_encoded(writing_->pod.substr(slash + 1)) + "/status",
                        .content_type = ApiRequest::kMergePatch,
                        .body = writing_->patch},
                       [this](const ApiAnswer& answer) { on_answer(answer); });
}

void PodMarks::on_answer(const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(call_);
  Mark mark = std::move(*writing_);
  writing_.reset();
  // The pod is gone, or has been replaced by a pod of the same name with another UID.
  if (answer.code == ApiAnswer::kNotFound || answer.code == ApiAnswer::kUnprocessable) return write();
  if (answer.ok()) {
    backoff_.reset();
    if (std::exchange(failing_, false))
      log_.info("pod annotation written", {{"pod", printable(mark.pod)}, {"what", mark.annotation}});
    return write();
  }
  again_.arm(std::max<EventLoop::Clock::duration>(backoff_.next(),
                                                  answer.retry_after.value_or(std::chrono::seconds(0))));
  if (!std::exchange(failing_, true))
    log_.warn("cannot write a pod annotation: retrying",
              {{"pod", printable(mark.pod)}, {"what", mark.annotation}, {"why", answer.error}});
  waiting_.push_back(std::move(mark));
}

std::unique_ptr<AssumedCards> AssumedCards::of(Assuming& assuming, const ResourceSnapshot& snapshot) {
  return snapshot.spec->assume->late() ? late_cards(assuming, snapshot) : guessed_cards(assuming, snapshot);
}

AssumedCards::AssumedCards(Assuming& assuming, const ResourceSnapshot& snapshot)
    : assuming_(assuming),
      resource_(snapshot.resource),
      terms_(*snapshot.spec->assume),
      marks_(assuming.loop(), assuming.api_server(), assuming.log()),
      pods_(assuming.loop(), assuming.pods(), resource_, terms_, [this](bool anew) {
        marks_.keep([this](const std::string& uid) { return pods_.book().find(uid) != nullptr; });
        on_pods();
        if (anew) find_unmarked();
      }) {
  if (terms_.dialect == Dialect::kGpushare) node_ = assuming.node_watch().follow([] {});
}

bool AssumedCards::without_isolation() const {
  const NodeObject* const node = node_ ? assuming_.node_watch().node() : nullptr;
  if (!node) return false;
  const auto label = node->labels.find(kNoIsolation);
  return label != node->labels.end() && label->second == "true";
}

AssumedCards::HoldersByCard AssumedCards::by_annotation(const Inventory& inventory) const {
  return [book = pods_.book(), terms = terms_, inventory](const HoldersOfIds& holders) {
    std::map<std::string_view, const AskingPod*> names;
    for (const AskingPod* const pod : book.all()) names[pod->name] = pod;
    const auto pod_of = [&](const Holder& holder) {
      if (holder.pod_namespace.empty()) return book.find(holder.pod);
      const auto found = names.find(holder.pod_namespace + '/' + holder.pod);
      return found == names.end() ? nullptr : found->second;
    };
    const auto card = [&](const Holder& holder) -> const Device* {
      const AskingPod* const pod = pod_of(holder);
      return pod ? card_named(terms, *pod, inventory) : nullptr;
    };
    const auto known_as = [&](const Holder& holder) {
      const AskingPod* const pod = holder.pod_namespace.empty() ? pod_of(holder) : nullptr;
      return pod ? named(*pod, holder.container) : holder;
    };
    return by_name(by_card(holders, inventory, card), known_as);
  };
}

void AssumedCards::mark(const AskingPod& pod) {
  marks_.add(pod, mark_patch(terms_, pod, nanoseconds_now()));
  pods_.book().set_marked(pod.uid);
}

void AssumedCards::mark(const std::vector<HeldUnits>& held) {
  for (const AskingPod* const pod : to_be_marked(pods_.book().all(), containers_of(held))) mark(*pod);
}

void AssumedCards::find_unmarked() {
  bool unmarked = false;
  for (const AskingPod* const pod : pods_.book().all()) unmarked = unmarked || (pod->time && !marked(*pod));
  if (!unmarked) return;
  assuming_.read_checkpoint(lifetime_.bound([this](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint) mark(held_units(*checkpoint, resource_));
  }));
}

using Clock = EventLoop::Clock;

Assuming::Assuming(Context context, std::filesystem::path pods_api)
    : context_(std::move(context)),
      pods_(context_.loop, context_.api_server, std::move(pods_api)),
      quiet_(context_.loop, [this] { tidy(); }) {}

void Assuming::read_checkpoint(
    std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done) {
  context_.checkpoint().read(
      Clock::now(),
      [done = std::move(done)](const CheckpointReader::Reading& reading) { done(reading.checkpoint); });
}

void Assuming::specify(const std::string& name, std::string text,
                       std::function<void(const std::string& error)> done) {
  specified_[name] = Clock::time_point::max();  // is not removed during the write
  context_.write_late(name, std::move(text),
                      lifetime_.bound([this, name, done = std::move(done)](const std::string& error) {
                        specified_[name] = Clock::now();
                        done(error);
                      }));
}

void Assuming::tidy_later() {
  if (!quiet_.armed()) quiet_.arm(kQuiet);
}

void Assuming::tidy() {
  context_.checkpoint().read(Clock::now(), lifetime_.bound([this](const CheckpointReader::Reading& reading) {
    if (!reading.checkpoint) return;
    std::set<std::string> needed = late_devices(*reading.checkpoint);
    std::erase_if(specified_, [&](const auto& item) { return item.second < reading.began; });
    for (const auto& [name, at] : specified_) needed.insert(name);
    context_.remove_other_late(std::move(needed));
  }));
}

}  // namespace plughost
