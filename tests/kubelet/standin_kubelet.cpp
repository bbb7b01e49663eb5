#include "kubelet/standin_kubelet.hpp"

#include <algorithm>
#include <future>
#include <random>
#include <thread>
#include <variant>

#include "kubelet/protocol_text.hpp"
#include "kubelet/standin_core.hpp"
#include "kubernetes/kubelet/wire.hpp"

namespace plughost {
namespace {

constexpr std::chrono::seconds kPreStartTimeout{30};
constexpr const char* kStopped = "the kubelet is stopped";

using Containers = PluginClient::Containers;
using Preferences = std::vector<std::vector<std::string>>;  // for each container

// Returns why a plugin's preference is invalid; empty: it is valid.
std::string objection_to(const Preferences& preferences, const std::vector<std::string>& available,
                         std::size_t count) {
  if (preferences.size() != 1) {
    return "the answer has " + std::to_string(preferences.size()) +
           " container responses, and 1 was asked for";
  }
  const std::vector<std::string>& ids = preferences.front();
  const std::set<std::string> unique(ids.begin(), ids.end());
  if (unique.size() != ids.size()) return "the answer has an id twice";
  if (unique.size() != count)
    return "the answer has " + std::to_string(ids.size()) + " ids, and " + std::to_string(count) +
           " were asked for";
  for (const std::string& id : unique) {
    if (std::ranges::find(available, id) == available.end()) return id + " in the answer is not available";
  }
  return {};
}

Allocation parsed(const std::string& bytes) { return parse_allocation(bytes).value_or(Allocation{}); }

void shuffle(std::vector<std::string>& ids) {
  static thread_local std::mt19937 random{std::random_device{}()};
  std::ranges::shuffle(ids, random);
}

}  // namespace

class StandInKubelet::Runtime {
 public:
  Runtime(Options options, OnEvent on_event)
      : core_(loop_, calls_, state_, std::move(options), std::move(on_event)),
        thread_([this] { loop_.run(); }) {}
  ~Runtime() {
    stop();
    calls_.wait_for_none();
    loop_.poster()([this] { loop_.stop(); });
    thread_.join();
  }

  void start() {
    const std::lock_guard lock(lifecycle_);
    in_loop([this] { core_.start(); });
  }
  void stop() {
    const std::lock_guard lock(lifecycle_);
    const auto server = in_loop([this] { return core_.stop(); });
  }

  const SharedState& state() const { return state_; }

  // Runs `task` in the loop and returns its result or throws its exception.
  template <typename Task>
  std::invoke_result_t<Task> in_loop(Task task) {
    const auto packaged = std::make_shared<std::packaged_task<std::invoke_result_t<Task>()>>(std::move(task));
    auto result = packaged->get_future();
    loop_.poster()([packaged] { (*packaged)(); });
    return result.get();
  }

  // Makes a call with `ask(client, done)`, which runs in the loop. Returns how the call ended, and the
  // plugin's response.
  template <typename Answer, typename Ask>
  std::pair<CallEnd, Answer> call(const std::string& resource, Ask ask) {
    const auto answer = std::make_shared<std::promise<std::pair<CallEnd, Answer>>>();
    auto result = answer->get_future();
    loop_.poster()([&, answer] {
      const auto done = [answer](const CallEnd& end, const Answer& what) { answer->set_value({end, what}); };
      if (const auto client = core_.endpoint(resource))
        ask(*client, done);
      else
        done({CallEnd::kUnavailable, "no endpoint of " + resource}, {});
    });
    return result.get();
  }
  auto allocated(const std::string& resource, const std::vector<std::string>& ids) {
    return call<Containers>(resource, [&](PluginClient& client, auto done) { client.allocate(ids, done); });
  }
  auto preferred(const std::string& resource, const std::vector<std::string>& available,
                 const std::vector<std::string>& must_include, int size) {
    return call<Preferences>(resource, [&](PluginClient& client, auto done) {
      client.ask_preferred(available, must_include, size, done);
    });
  }
  CallEnd started(const std::string& resource, const std::vector<std::string>& ids) {
    const auto ask = [&](PluginClient& client, auto done) {
      client.start_container(ids, kPreStartTimeout, [done](const CallEnd& end) { done(end, {}); });
    };
    return call<std::monostate>(resource, ask).first;
  }

  // Admits a pod. With an empty `named`, the kubelet chooses the ids.
  // [ManagerImpl.allocateContainerResources, devicesToAllocate]
  Admission admit(const std::string& pod, const std::string& container, const std::string& resource,
                  std::size_t count, const std::vector<std::string>& named);
  std::string start_container(const std::string& pod);
  bool free(const std::string& pod);
  std::vector<PodDevices> pods();

  StandInCore& core() { return core_; }

 private:
  struct Beginning {
    Admission held;  // an error, or the ids that the container holds already
    bool is_held = false;
    std::vector<std::string> available;
    EndpointOptions options;
    unsigned incarnation = 0;
  };
  Beginning begin(const std::string& pod, const std::string& container, const std::string& resource,
                  std::size_t count);
  // Expects the available ids in `ids`, and reduces them to the ids to allocate. Returns an error, or an
  // empty text.
  std::string pick(const std::string& resource, const Beginning& beginning, std::size_t count,
                   const std::vector<std::string>& named, std::vector<std::string>& ids);

  EventLoop loop_;
  CallsUnderWay calls_;
  SharedState state_;
  StandInCore core_;
  std::mutex lifecycle_;
  std::mutex admission_;
  std::thread thread_;
};

StandInKubelet::Runtime::Beginning StandInKubelet::Runtime::begin(const std::string& pod,
                                                                  const std::string& container,
                                                                  const std::string& resource,
                                                                  std::size_t count) {
  return in_loop([&] {
    Beginning beginning;
    beginning.incarnation = core_.incarnation();
    if (!core_.running()) {
      beginning.held.error = kStopped;
      return beginning;
    }
    core_.book().forget_ended();
    auto choice = core_.book().choose(pod, container, resource, count);
    beginning.held.error = std::move(choice.error);
    beginning.available = std::move(choice.available);
    if (choice.held) {
      beginning.is_held = true;
      beginning.held.ids = choice.held->unique_ids();
      beginning.held.answer = parsed(choice.held->answer);
    }
    const DeviceBook::Resource* known = core_.book().find(resource);
    if (known) beginning.options = known->options;
    if (known && known->stopped && beginning.held.error.empty() && !choice.held)
      beginning.held.error = "endpoint of " + resource + " has been stopped";
    return beginning;
  });
}

std::string StandInKubelet::Runtime::pick(const std::string& resource, const Beginning& beginning,
                                          std::size_t count, const std::vector<std::string>& named,
                                          std::vector<std::string>& ids) {
  const auto& available = beginning.available;
  if (!named.empty()) {
    ids = named;
    for (const std::string& id : named) {
      if (std::ranges::find(available, id) == available.end())
        return "device " + id + " of " + resource + " is not free and healthy";
    }
    return {};
  }
  ids = available;
  shuffle(ids);
  if (beginning.options.preferred_allocation_available) {
    const auto [end, preferences] = preferred(resource, ids, {}, static_cast<int>(count));
    if (!end.ok()) return "device plugin GetPreferredAllocation rpc failed with err: " + rpc_error(end);
    if (const std::string objection = objection_to(preferences, available, count); !objection.empty())
      return "GetPreferredAllocation of " + resource + " broke the rules: " + objection;
    ids = preferences.front();
  }
  ids.resize(count);
  return {};
}

Admission StandInKubelet::Runtime::admit(const std::string& pod, const std::string& container,
                                         const std::string& resource, std::size_t count,
                                         const std::vector<std::string>& named) {
  const std::lock_guard lock(admission_);
  const Beginning beginning = begin(pod, container, resource, count);
  if (!beginning.held.error.empty() || beginning.is_held || count == 0) return beginning.held;

  Admission admission;
  admission.error = pick(resource, beginning, count, named, admission.ids);
  if (!admission.admitted()) return admission;
  in_loop([&] { core_.book().mark_allocated(resource, admission.ids); });
  const auto [end, containers] = allocated(resource, admission.ids);
  if (!end.ok()) {
    in_loop([&] { core_.book().forget_marks(); });
    admission.error = rpc_error(end);
    return admission;
  }
  if (containers.empty()) {  // the devices stay marked, as in the kubelet
    admission.error = "no containers return in allocation response";
    return admission;
  }
  const std::string& first = containers.front();
  const auto writing = in_loop([&]() -> StandInCore::Writing {
    if (!core_.running() || core_.incarnation() != beginning.incarnation) return {};
    core_.book().hold(pod, container, resource, admission.ids, first);
    core_.make_pod_directory(pod);
    return core_.write_checkpoint();
  });
  if (!writing.file) {
    admission.error = kStopped;
    return admission;
  }
  writing.file->wait_for(writing.number);
  admission.answer = parsed(first);
  return admission;
}

std::string StandInKubelet::Runtime::start_container(const std::string& pod) {
  struct Start {
    std::string resource;
    std::vector<std::string> ids;
  };
  bool known = false;
  const auto starts = in_loop([&] {
    std::vector<Start> found;
    for (const auto& holding : core_.book().holdings()) {
      if (holding.pod != pod) continue;
      known = true;
      const DeviceBook::Resource* resource = core_.book().find(holding.resource);
      if (resource && resource->options.pre_start_required)
        found.push_back({holding.resource, holding.unique_ids()});
    }
    return found;
  });
  if (!known) return "no devices found allocated in local cache for pod " + pod;
  for (const Start& start : starts) {
    const CallEnd end = started(start.resource, start.ids);
    if (!end.ok()) return "device plugin PreStartContainer rpc failed with err: " + rpc_error(end);
  }
  return {};
}

bool StandInKubelet::Runtime::free(const std::string& pod) {
  const auto writing = in_loop([&]() -> StandInCore::Writing {
    return core_.end_pod(pod) ? core_.write_checkpoint() : StandInCore::Writing{};
  });
  if (!writing.file) return false;
  writing.file->wait_for(writing.number);
  return true;
}

std::vector<PodDevices> StandInKubelet::Runtime::pods() {
  return in_loop([&] {
    std::vector<PodDevices> pods;
    for (const auto& holding : core_.book().holdings()) {
      if (holding.ended) continue;
      pods.push_back({holding.pod, holding.container, holding.resource, holding.ids, parsed(holding.answer)});
    }
    return pods;
  });
}

StandInKubelet::StandInKubelet(Options options, OnEvent on_event) {
  options.directory = std::filesystem::absolute(options.directory);
  if (!options.plugins_registry.empty())
    options.plugins_registry = std::filesystem::absolute(options.plugins_registry);
  if (!options.pod_resources.empty())
    options.pod_resources = std::filesystem::absolute(options.pod_resources);
  runtime_ = std::make_unique<Runtime>(std::move(options), std::move(on_event));
  runtime_->start();
}

StandInKubelet::~StandInKubelet() = default;

void StandInKubelet::stop() { runtime_->stop(); }

void StandInKubelet::restart() {
  runtime_->stop();
  runtime_->start();
}

void StandInKubelet::set_faults(Faults faults) {
  runtime_->in_loop([&] { runtime_->core().set_faults(std::move(faults)); });
}

KubeletState StandInKubelet::state() const { return runtime_->state().copy(); }

bool StandInKubelet::wait_for(const std::function<bool(const KubeletState&)>& predicate,
                              std::chrono::milliseconds timeout) const {
  return runtime_->state().wait_for(predicate, timeout);
}

Admission StandInKubelet::allocate(const std::string& pod, const std::string& container,
                                   const std::string& resource, std::size_t count) {
  return runtime_->admit(pod, container, resource, count, {});
}

Admission StandInKubelet::allocate_named(const std::string& pod, const std::string& container,
                                         const std::string& resource, const std::vector<std::string>& ids) {
  return runtime_->admit(pod, container, resource, ids.size(), ids);
}

std::string StandInKubelet::start_container(const std::string& pod) { return runtime_->start_container(pod); }

bool StandInKubelet::free(const std::string& pod) { return runtime_->free(pod); }

std::vector<PodDevices> StandInKubelet::pods() const { return runtime_->pods(); }

AllocateAnswer StandInKubelet::allocate_ids(const std::string& resource,
                                            const std::vector<std::string>& ids) {
  const auto [end, containers] = runtime_->allocated(resource, ids);
  AllocateAnswer answer{end.code, end.text, {}};
  for (const std::string& container : containers) answer.containers.push_back(parsed(container));
  return answer;
}

PreferredAnswer StandInKubelet::preferred_ids(const std::string& resource,
                                              const std::vector<std::string>& available,
                                              const std::vector<std::string>& must_include, int size) {
  auto [end, preferences] = runtime_->preferred(resource, available, must_include, size);
  return {end.code, end.text, std::move(preferences)};
}

bool StandInKubelet::cancel_stream(const std::string& resource) {
  return runtime_->in_loop([&] { return runtime_->core().cancel_stream(resource); });
}

bool StandInKubelet::open_second_stream(const std::string& resource) {
  return runtime_->in_loop([&] { return runtime_->core().open_second_stream(resource); });
}

}  // namespace plughost
