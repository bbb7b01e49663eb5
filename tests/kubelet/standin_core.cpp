#include "kubelet/standin_core.hpp"

#include <sys/socket.h>

#include <stdexcept>

#include "kubelet/plugin_directory_clearing.hpp"
#include "kubelet/protocol_text.hpp"
#include "model/device/names.hpp"

namespace plughost {

namespace fs = std::filesystem;

namespace {

using Type = KubeletEvent::Type;

}  // namespace

StandInCore::StandInCore(EventLoop& loop, CallsUnderWay& calls, SharedState& state,
                         StandInKubelet::Options options, StandInKubelet::OnEvent on_event)
    : loop_(loop),
      calls_(calls),
      state_(state),
      options_(std::move(options)),
      on_event_(std::move(on_event)),
      forget_timer_(loop, [this] { forget_expired(); }),
      stop_timer_(loop, [this] {
        for (const std::string& resource : std::exchange(stopping_, {})) stop_endpoint(resource);
      }) {}

void StandInCore::start() {
  make_clear_directory(options_.directory, options_.clearing);
  try {
    book_ = read_checkpoint(options_.directory);
  } catch (const std::exception& exception) {
    tell(Type::kError, "", std::string("the checkpoint cannot be read: ") + exception.what());
  }
  // The kubelet knows ended pods from the API server, not from its checkpoint.
  for (const std::string& pod : book_.pods())
    if (!options_.pods.empty() && !fs::exists(options_.pods / pod)) book_.end(pod);
  checkpoint_ = std::make_shared<CheckpointFile>(
      options_.directory, [this, post = loop_.poster()](const std::string& what) {
        post([this, what] { tell(Type::kError, "", "checkpoint: " + what); });
      });
  server_ = std::make_unique<RegistrationServer>(
      loop_, [this](const auto& request, auto answer_to) { on_register(request, std::move(answer_to)); });
  const fs::path path = options_.directory / KubeletSocket::kName;
  socket_ = std::make_unique<KubeletSocket>(loop_, path, [this](UniqueFd connection) {
    if (!options_.faults.answers_garbage) return server_->serve(std::move(connection));
    constexpr std::string_view kGarbage = "this is no HTTP/2\n";
    ::send(connection.get(), kGarbage.data(), kGarbage.size(), MSG_NOSIGNAL);
  });
  if (!options_.plugins_registry.empty()) {
    found_ = std::make_unique<FoundPlugins>(
        loop_, options_.plugins_registry, options_.dial_timeout,
        FoundPlugins::Actions{
            .make_client = [this](const fs::path& socket) { return make_client(socket); },
            .add = [this](const std::string& resource, const fs::path& endpoint,
                          const Done& done) { register_found(resource, endpoint, done); },
            .remove = [this](const std::string& resource) { disconnect_client(resource); },
            .error = [this](std::string what) { tell(Type::kError, "", std::move(what)); }});
  }
  if (!options_.pod_resources.empty()) {
    pod_resources_ = std::make_unique<PodResourcesServer>(loop_, options_.pod_resources);
    show_pods();
  }
  if (!options_.pods_api.empty()) {
    fs::remove(options_.pods_api);
    pods_api_ = std::make_unique<KubeletSocket>(loop_, options_.pods_api, [](UniqueFd) {});
  }
  if (!options_.pods.empty()) fs::create_directories(options_.pods);
  ++incarnation_;
  state_.change([&](KubeletState& state) {
    state.listening = true;
    state.incarnation = incarnation_;
  });
  for (const auto& [name, resource] : book_.resources()) show(name);
  await_next_expiry();
  tell(Type::kListening, "", path);
}

std::unique_ptr<RegistrationServer> StandInCore::stop() {
  if (!running()) return nullptr;
  socket_.reset();
  found_.reset();
  pod_resources_.reset();
  pods_api_.reset();
  forget_timer_.cancel();
  stop_timer_.cancel();
  stopping_.clear();
  held_dials_.clear();
  held_answers_.clear();
  for (const auto& [number, reply] : std::exchange(unanswered_, {}))
    reply({CallEnd::kUnavailable, "the kubelet was stopped"});
  for (const auto& weak : std::exchange(connections_, {})) {
    if (const auto connection = weak.lock()) connection->close();
  }
  clients_.clear();
  endpoints_.clear();
  streaming_.clear();
  second_streams_.clear();
  book_ = {};
  checkpoint_.reset();
  state_.change([](KubeletState& state) {
    state.listening = false;
    for (auto& [name, resource] : state.resources) {
      resource.attached = false;
      resource.streams = resource.capacity = resource.allocatable = 0;
      resource.devices = no_devices();
      resource.second.open = false;
    }
  });
  tell(Type::kStopped, "", "");
  return std::move(server_);
}

void StandInCore::set_faults(StandInKubelet::Faults faults) {
  options_.faults = std::move(faults);
  show_pods();
  for (const ClientPointer& client : streaming_)
    client->reader->pause(options_.faults.unread.contains(client->resource));
  for (const auto& dial : std::exchange(held_dials_, {})) dial();
  for (const auto& reply : std::exchange(held_answers_, {})) reply();
}

// [server.Register]
void StandInCore::on_register(const RegisterRequest& request, RegistrationServer::Reply reply) {
  if (!running()) return reply({CallEnd::kUnavailable, "the kubelet was stopped"});
  const std::uint64_t number = next_number_++;
  unanswered_[number] = std::move(reply);

  const std::string& resource = request.resource;
  const EndpointOptions& options = request.options;
  const std::size_t index = note_registration(resource, request.endpoint, options);
  const Done done = [this, number, resource, index](const std::string& error) {
    finish_registration(resource, index, error);
    answer(number, resource, index, error);
  };
  if (request.version != kDevicePluginVersion) {
    return done("requested API version \"" + request.version +
                "\" is not supported by kubelet. Supported version is [\"" + kDevicePluginVersion + "\"]");
  }
  if (const std::string error = resource_name_error(resource); !error.empty())
    return done("the ResourceName \"" + resource + "\" is invalid: " + error);
  if (const auto refused = options_.faults.refused.find(resource); refused != options_.faults.refused.end())
    return done(refused->second);
  const fs::path socket = options_.directory / fs::path(request.endpoint).relative_path();
  if (!answers_first()) return connect_client(resource, socket, options, done);
  done("");
  connect_client(resource, socket, options, [this, resource](const std::string& error) {
    if (!error.empty()) tell(Type::kError, resource, error);
  });
}

std::size_t StandInCore::note_registration(const std::string& resource, const std::string& endpoint,
                                           const EndpointOptions& options) {
  options_.faults.deaf.erase(resource);
  std::size_t index = 0;
  state_.change([&](KubeletState& state) {
    ResourceState& known = state.resources[resource];
    index = known.registrations.size();
    known.registrations.push_back({.incarnation = incarnation_,
                                   .endpoint = endpoint,
                                   .options = options,
                                   .at = ResourceState::Clock::now(),
                                   .while_streaming = known.streams > 0,
                                   .answered = false,
                                   .error = {}});
  });
  tell(Type::kRegistering, resource, endpoint);
  return index;
}

void StandInCore::finish_registration(const std::string& resource, std::size_t index,
                                      const std::string& error) {
  std::string endpoint;
  state_.change([&](KubeletState& state) {
    auto& registration = state.resources[resource].registrations[index];
    registration.error = error;
    endpoint = registration.endpoint;
  });
  tell(error.empty() ? Type::kRegistered : Type::kRegistrationFailed, resource,
       error.empty() ? endpoint : error);
}

void StandInCore::answer(std::uint64_t number, const std::string& resource, std::size_t index,
                         const std::string& error) {
  if (options_.faults.answer_held.contains(resource)) {
    held_answers_.push_back([=, this] { answer(number, resource, index, error); });
    return;
  }
  const auto node = unanswered_.extract(number);
  if (!node) return;
  state_.change([&](KubeletState& state) { state.resources[resource].registrations[index].answered = true; });
  node.mapped()(error.empty() ? CallEnd{} : CallEnd{CallEnd::kUnknown, error});
}

void StandInCore::register_found(const std::string& resource, const fs::path& endpoint, const Done& done) {
  const std::size_t index = note_registration(resource, endpoint, {});
  connect_client(resource, endpoint, {}, [this, resource, index, done](const std::string& error) {
    finish_registration(resource, index, error);
    done(error);
  });
}

std::shared_ptr<PluginClient> StandInCore::make_client(const fs::path& socket) {
  std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
  auto client = std::make_shared<PluginClient>(loop_, calls_, socket,
                                               answers_first() ? socket.string() : std::string("localhost"));
  connections_.push_back(client);
  return client;
}

// [server.connectClient]
void StandInCore::connect_client(const std::string& resource, const fs::path& socket,
                                 const EndpointOptions& options, const Done& done) {
  if (options_.faults.dial_held.contains(resource)) {
    held_dials_.push_back([=, this] { connect_client(resource, socket, options, done); });
    return;
  }
  const auto client =
      std::make_shared<Client>(Client{resource, make_client(socket), incarnation_, false, nullptr});
  clients_[resource] = client;
  client->connection->dial(options_.dial_timeout, [this, client, options, done](bool connected) {
    if (!connected) {
      clients_.erase(client->resource);  // erases by name, so it may remove a newer client
      return done("failed to dial device plugin: context deadline exceeded");
    }
    client->connected = true;
    if (!answers_first()) return ask_options(client, done);
    plugin_connected(client, options);
    done("");
  });
}

void StandInCore::ask_options(const ClientPointer& client, const Done& done) {
  client->connection->ask_options([this, client, done](const CallEnd& end, const EndpointOptions& options) {
    if (!is_current(*client)) return;
    if (!end.ok()) {
      clients_.erase(client->resource);
      return done("failed to get device plugin options: " + rpc_error(end));
    }
    state_.change([&](KubeletState& state) { state.resources[client->resource].plugin_options = options; });
    plugin_connected(client, options);
    done("");
  });
}

// [ManagerImpl.PluginConnected]
void StandInCore::plugin_connected(const ClientPointer& client, const EndpointOptions& options) {
  endpoints_[client->resource] = client;
  book_.connect(client->resource, options);
  await_next_expiry();
  run_client(client);
}

// [server.runClient]
void StandInCore::run_client(const ClientPointer& client) {
  const std::string& resource = client->resource;
  client->reader = client->connection->read_list(
      options_.faults.unread.contains(resource),
      [this, client](std::vector<ListedDevice> devices) {
        if (is_current(*client)) on_list(client->resource, std::move(devices));
      },
      [this, client](const CallEnd& end) {
        client->reader.reset();
        if (is_current(*client)) on_stream_end(client, end);
      });
  streaming_.insert(client);
  state_.change([&](KubeletState& state) {
    ResourceState& known = state.resources[resource];
    known.attached = true;
    ++known.streams;
    ++known.streams_ever;
    known.lists_since_registration = 0;
    known.stream_opened = ResourceState::Clock::now();
    known.first_list.reset();
  });
  tell(Type::kStreamOpened, resource, "");
}

// [ManagerImpl.PluginListAndWatchReceiver]
void StandInCore::on_list(const std::string& resource, std::vector<ListedDevice> devices) {
  // The time of arrival, without the time of the stand-in's own work.
  const auto arrived = ResourceState::Clock::now();
  if (!options_.faults.deaf.contains(resource)) book_.replace_list(resource, std::move(devices));
  write_checkpoint();
  show(resource);
  state_.change([&](KubeletState& state) {
    ResourceState& known = state.resources[resource];
    ++known.lists;
    ++known.lists_since_registration;
    known.last_list = arrived;
    if (!known.first_list) known.first_list = known.last_list;
  });
  tell(Type::kList, resource, "");
}

// [server.runClient] Runs after the stream: removes the resource's current client, even if the ended stream
// belongs to an older client.
void StandInCore::on_stream_end(const ClientPointer& client, const CallEnd& end) {
  const std::string resource = client->resource;
  streaming_.erase(client);
  if (options_.registering == StandInKubelet::Registering::kBySocket)
    disconnect_socket(client);
  else
    disconnect_client(resource);
  const auto endpoint = endpoints_.find(resource);
  const bool newest = endpoint == endpoints_.end() || endpoint->second == client;
  state_.change([&](KubeletState& state) {
    ResourceState& known = state.resources[resource];
    --known.streams;
    if (newest) known.attached = false;
    known.stream_ended = ResourceState::Clock::now();
  });
  tell(Type::kStreamEnded, resource, end.ok() ? "EOF" : rpc_error(end));
}

// [server.disconnectClient]
void StandInCore::disconnect_client(const std::string& resource) {
  const auto node = clients_.extract(resource);
  if (!node) return;
  // A client that is still dialing is not closed. It later opens a stream although clients_ no longer has the
  // client.
  if (node.mapped()->connected) node.mapped()->connection->close();
  if (options_.faults.stopped_late == std::chrono::milliseconds::zero()) return stop_endpoint(resource);
  stopping_.push_back(resource);
  if (!stop_timer_.armed()) stop_timer_.arm(options_.faults.stopped_late);
}

// [ManagerImpl.PluginDisconnected of 1.37] Another client of the resource, if any, is used from now on.
void StandInCore::disconnect_socket(const ClientPointer& client) {
  client->connection->close();
  if (const auto last = clients_.find(client->resource); last != clients_.end() && last->second == client)
    clients_.erase(last);
  const auto used = endpoints_.find(client->resource);
  if (used == endpoints_.end() || used->second != client) return;
  const auto other = std::ranges::find(streaming_, client->resource, &Client::resource);
  if (other == streaming_.end()) return stop_endpoint(client->resource);
  used->second = *other;
}

// [ManagerImpl.PluginDisconnected]
void StandInCore::stop_endpoint(const std::string& resource) {
  book_.disconnect(resource, DeviceBook::Clock::now());
  await_next_expiry();
  show(resource);
}

bool StandInCore::cancel_stream(const std::string& resource) {
  const auto found = clients_.find(resource);
  if (found == clients_.end() || !found->second->reader) return false;
  found->second->reader->cancel();
  return true;
}

bool StandInCore::open_second_stream(const std::string& resource) {
  const auto found = clients_.find(resource);
  if (found == clients_.end() || second_streams_.contains(resource)) return false;
  const auto change_second = [this, resource](auto change) {
    state_.change([&](KubeletState& state) { change(state.resources[resource].second); });
  };
  second_streams_[resource] = found->second->connection->read_list(
      false,
      [change_second](const std::vector<ListedDevice>& devices) {
        change_second([&](ResourceState::SecondStream& second) {
          ++second.lists;
          second.devices = std::make_shared<const std::vector<ListedDevice>>(devices);
        });
      },
      [this, resource, change_second, opened = incarnation_](const CallEnd&) {
        if (!running() || opened != incarnation_) return;
        second_streams_.erase(resource);
        change_second([](ResourceState::SecondStream& second) { second.open = false; });
      });
  change_second([](ResourceState::SecondStream& second) { second = {.open = true, .lists = 0}; });
  return true;
}

std::shared_ptr<PluginClient> StandInCore::endpoint(const std::string& resource) const {
  const auto found = endpoints_.find(resource);
  return found == endpoints_.end() ? nullptr : found->second->connection;
}

StandInCore::Writing StandInCore::write_checkpoint() {
  show_pods();
  return {checkpoint_, checkpoint_->write(checkpoint_text(book_))};
}

void StandInCore::make_pod_directory(const std::string& pod) {
  if (!options_.pods.empty()) fs::create_directories(options_.pods / pod);
}

bool StandInCore::end_pod(const std::string& pod) {
  if (!book_.end(pod)) return false;
  if (options_.pods.empty())
    book_.forget_ended();
  else
    fs::remove_all(options_.pods / pod);
  return true;
}

// [podresources.v1PodResourcesServer.List]
void StandInCore::show_pods() {
  if (!pod_resources_) return;
  std::vector<DeviceBook::Holding> shown;
  for (const DeviceBook::Holding& holding : book_.holdings()) {
    const bool init = holding.container.starts_with("init-");
    if (!holding.ended && !init && !options_.faults.lists_no_pods) shown.push_back(holding);
  }
  pod_resources_->show(shown);
}

void StandInCore::forget_expired() {
  const auto forgotten = book_.forget_stopped_before(DeviceBook::Clock::now() - options_.grace_period);
  for (const std::string& resource : forgotten) {
    endpoints_.erase(resource);
    show(resource);
    tell(Type::kForgotten, resource, "");
  }
  if (!forgotten.empty()) write_checkpoint();
  await_next_expiry();
}

void StandInCore::await_next_expiry() {
  if (const auto first = book_.first_stop()) {
    forget_timer_.arm_at(*first + options_.grace_period);
  } else {
    forget_timer_.cancel();
  }
}

void StandInCore::show(const std::string& resource) {
  static const DeviceBook::Resource kNone;
  const DeviceBook::Resource* known = book_.find(resource);
  const DeviceBook::Resource& shown = known ? *known : kNone;
  if (pod_resources_) pod_resources_->show(resource, shown.devices);
  state_.change([&](KubeletState& state) {
    ResourceState& target = state.resources[resource];
    target.devices = shown.devices;
    target.capacity = shown.devices->size();
    target.allocatable = shown.healthy();
  });
}

void StandInCore::tell(KubeletEvent::Type type, const std::string& resource, std::string text) {
  if (!on_event_) return;
  const DeviceBook::Resource* known = book_.find(resource);
  on_event_(
      {type, resource, std::move(text), known ? known->devices->size() : 0, known ? known->healthy() : 0});
}

}  // namespace plughost
