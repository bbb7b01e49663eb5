#include "supervisor/resource.hpp"

#include "host/device_nodes.hpp"

namespace plughost {

namespace {

using Clock = EventLoop::Clock;

// A process that ends closes its streams before another can take its socket's place: what still lives after
// this belongs to a kubelet that lives, too.
constexpr std::chrono::milliseconds kGrace{500};
// A stream that has lived so long was no accident: the next loss is answered at once again.
constexpr std::chrono::seconds kSettled{10};
constexpr std::chrono::seconds kFlapping{1};
// A kubelet that has just ended our stream takes this long to forget its client: a registration that is
// faster meets the end of the former one.
constexpr std::chrono::milliseconds kSettling{100};

std::string milliseconds_since(Clock::time_point start) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

}  // namespace

Resource::Resource(Platform& platform, NodeLink& link, Offer first, PluginOptions options,
                   Clock::time_point not_before, std::function<void()> on_stage)
    : platform_(platform),
      link_(link),
      name_(first.resource),
      options_(options),
      not_before_(not_before),
      on_stage_(std::move(on_stage)),
      feed_(std::make_shared<InventoryFeed>(std::move(first))),
      calls_(std::make_shared<CallTally>(platform.tallies.answers)),
      retry_(platform.loop, [this] { on_retry(); }),
      grace_(platform.loop, [this] { after_grace(); }),
      endpoint_(
          platform.loop, platform.workers, name_, feed_, calls_, options_,
          link.registers() ? Endpoint::Announcement::kRegister : Endpoint::Announcement::kPluginsRegistry,
          [&host = platform.host](const Allocation& answer) { return missing_device_node(host, answer); },
          {[this](Endpoint::Peer peer) { on_stream_opened(peer); },
           [this](Endpoint::Peer peer) { on_stream_closed(peer); },
           [this](const std::string& why) { fail("the kubelet refuses it: " + why, refused_); },
           [this](const std::shared_ptr<const Offer>& prepared, const std::vector<std::string>& ids,
                  auto answer) { prepare(prepared, ids, std::move(answer)); },
           [this](const std::shared_ptr<const Offer>& asked, const std::vector<std::string>& ids,
                  auto answer) { ask_program(*asked, ids, std::move(answer)); },
           [this](const std::string& trouble) {
             platform_.log.warn(trouble, {{"resource", name_}, {"socket", endpoint_.socket_name()}});
           }}),
      pre_starts_(platform.loop),
      allocation_programs_(platform.loop) {
  health_times_.note({}, offer()->inventory.devices(), std::chrono::system_clock::now());
  on_kubelet();
}

Resource::~Resource() = default;

void Resource::publish(Offer offer) {
  const std::shared_ptr<const Offer> before = this->offer();
  feed_->publish(std::move(offer));
  health_times_.note(before->inventory.devices(), this->offer()->inventory.devices(),
                     std::chrono::system_clock::now());
}

ResourceStatus Resource::status() const {
  ResourceStatus status{.name = name_,
                        .stage = stage_,
                        .since = stage_since_,
                        .trouble = last_trouble_,
                        .trouble_at = last_trouble_at_,
                        .offer = offer(),
                        .health_times = health_times_,
                        .registrations = registrations_,
                        .calls = calls_};
  if (stage_ == Stage::kBackingOff && retry_.armed())
    status.next_try = std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::microseconds>(retry_.due() - Clock::now());
  return status;
}

void Resource::prepare(const std::shared_ptr<const Offer>& offer, const std::vector<std::string>& ids,
                       PreStarts::Answer answer) {
  pre_starts_.run(offer, ids, [this, answer = std::move(answer)](const std::string& trouble) {
    if (!trouble.empty())
      platform_.log.warn("a container cannot start", {{"resource", name_}, {"why", trouble}});
    answer(trouble);
  });
}

void Resource::ask_program(const Offer& offer, const std::vector<std::string>& ids,
                           AllocationPrograms::Answer answer) {
  allocation_programs_.ask(
      offer, ids, [this, answer = std::move(answer)](const AllocationPrograms::Outcome& outcome) {
        if (const auto* trouble = std::get_if<std::string>(&outcome))
          platform_.log.warn("a container cannot get its devices", {{"resource", name_}, {"why", *trouble}});
        answer(outcome);
      });
}

void Resource::on_kubelet() {
  const std::optional<FileIdentity>& present = link_.watcher().current();
  if (kubelet_ == present) return;  // a late event of a kubelet that we know
  kubelet_ = present;
  unreachable_.reset();
  refused_.reset();
  // Who is being asked may be this very kubelet, by another identity: two requests would cost it its stream.
  // A kubelet that is gone does not leave the question open.
  if (asking_) return;
  if (awaiting_stream_) {  // the same of one that has said yes, and may be about to open its stream
    if (kubelet_) retry_.arm(kGrace);
    return;
  }
  retry_.cancel();
  grace_.cancel();
  ++attempt_;
  meet_kubelet();
}

void Resource::meet_kubelet() {
  if (!kubelet_) {
    if (streams_ == 0) enter(Stage::kWaiting);
    return;
  }
  searching_since_ = Clock::now();
  // KUBELET rule: never register while a stream to this kubelet lives. Is it this kubelet's?
  if (streams_ > 0)
    grace_.arm(kGrace);
  else if (awaiting_stream_)
    retry_.arm(kGrace);
  else
    attach();
}

void Resource::after_grace() {
  if (streams_ == 0) return;
  const std::optional<pid_t> listening = link_.registration().listening_process();
  if (!listening) {
    grace_.arm(kGrace);
  } else if (*listening == stream_process_) {
    platform_.log.info("the kubelet made its socket anew and kept its stream", {{"resource", name_}});
  } else {
    attach();
  }
}

void Resource::attach() {
  if (asking_) return;  // on_registered goes on
  retry_.cancel();
  grace_.cancel();
  if (!kubelet_) return enter(Stage::kWaiting);
  enter(Stage::kRegistering);
  if (Clock::now() < not_before_) return retry_.arm_at(not_before_);
  ++attempt_;
  try {
    link_.directory().hold();
    if (name_spent_ || !endpoint_.reachable()) {
      endpoint_.listen_anew(link_.directory().path());
      streams_ = 0;  // the former listener's streams belong to a kubelet that is gone
      name_spent_ = false;
    }
  } catch (const std::runtime_error& error) {
    return fail(error.what(), refused_);
  }
  if (!link_.registers()) {
    name_spent_ = true;  // the kubelet looks for it by itself, whenever it comes
    return;
  }
  asking_ = true;
  awaiting_stream_ = false;
  lost_while_asking_ = false;
  asked_ = *kubelet_;
  link_.registration().send(
      {name_, endpoint_.socket_name(), options_}, *kubelet_,
      [this, attempt = attempt_, alive = std::weak_ptr(alive_)](auto result, const std::string& why) {
        if (!alive.expired() && attempt == attempt_) on_registered(result, why);
      });
}

void Resource::on_registered(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  asking_ = false;
  name_spent_ = result != kNobodyListens;
  link_.note_answer(result, why);
  count(result);
  if (kubelet_ != asked_) {  // its socket's identity changed meanwhile
    awaiting_stream_ = result == kAccepted && streams_ == 0 && !lost_while_asking_;
    return meet_kubelet();
  }
  if (streams_ > 0) return;  // attached already, whatever the answer says
  if (lost_while_asking_) return fail("the kubelet ended the stream at once", refused_);
  switch (result) {
    case kAccepted:
      awaiting_stream_ = true;
      return retry_.arm(kStreamWatchdog);
    case kNobodyListens:
    case kWentAway:
      return fail(why, unreachable_);
    case kRefused:
      return fail("the kubelet refuses it: " + why, refused_);
  }
}

void Resource::count(RegistrationClient::Result result) {
  using enum RegistrationClient::Result;
  switch (result) {
    case kAccepted:
      ++registrations_.accepted;
      return;
    case kRefused:
      ++registrations_.refused;
      return;
    case kNobodyListens:
    case kWentAway:
      ++registrations_.unreachable;
      return;
  }
}

void Resource::on_retry() {
  // The event of a kubelet that has just come may be waiting behind this timer.
  const std::uint64_t attempt = attempt_;
  link_.watcher().look();
  if (attempt != attempt_) return;
  if (std::exchange(awaiting_stream_, false) && kubelet_ == asked_)
    fail("the kubelet accepted it, but opened no stream", refused_);
  else
    attach();
}

void Resource::on_stream_opened(Endpoint::Peer peer) {
  if (peer.incarnation != endpoint_.incarnation()) return;
  stream_process_ = peer.process;
  ++registrations_.streams;
  if (++streams_ > 1) return;
  retry_.cancel();
  awaiting_stream_ = false;
  name_spent_ = true;
  attached_since_ = Clock::now();
  trouble_.clear();
  enter(Stage::kAttached);
  platform_.tallies.recoveries.add(attached_since_ - searching_since_);
  platform_.log.info("attached", {{"resource", name_},
                                  {"devices", std::to_string(offer()->inventory.id_count())},
                                  {"after_ms", milliseconds_since(searching_since_)},
                                  {"socket", endpoint_.socket_name()}});
}

void Resource::on_stream_closed(Endpoint::Peer peer) {
  if (peer.incarnation != endpoint_.incarnation() || streams_ == 0 || --streams_ > 0) return;
  platform_.log.info("the kubelet ended the stream", {{"resource", name_}});
  searching_since_ = Clock::now();
  const auto lived = searching_since_ - attached_since_;
  if (lived >= kSettled) refused_.reset();
  // A lost stream is the one sign of a kubelet's plight that comes without a new socket. One that belonged to
  // the kubelet before this says nothing about this one.
  const bool former = grace_.armed();
  if (asking_) {
    lost_while_asking_ = true;
  } else if (former || !kubelet_) {
    attach();
  } else if (lived >= kFlapping) {
    enter(Stage::kBackingOff);
    retry_.arm(kSettling);
  } else {
    fail("the kubelet ended the stream at once", refused_);
  }
}

void Resource::on_sockets() {
  if (endpoint_.socket_name().empty() || endpoint_.reachable()) return;
  if (!link_.registers()) {
    // The kubelet's registry ends the stream of a socket that is gone, and that is when a new one is made. A
    // socket that came before would be registered while the stream lives.
    if (streams_ == 0 && stage_ == Stage::kRegistering) attach();
    return;
  }
  // The kubelet knows this name, or is just being told it: it must find us there, now or when it dials.
  if (!kubelet_ || (stage_ != Stage::kAttached && stage_ != Stage::kRegistering)) return;
  try {
    link_.directory().hold();
    endpoint_.listen_again();
    platform_.log.info("somebody removed our socket: made again",
                       {{"resource", name_}, {"socket", endpoint_.socket_name()}});
  } catch (const std::runtime_error& error) {
    // No directory: its return, or the next kubelet's coming, is an event of its own.
    platform_.log.debug("our socket cannot be made again", {{"resource", name_}, {"error", error.what()}});
  }
}

void Resource::fail(const std::string& why, Backoff& backoff) {
  const Backoff::Duration delay = backoff.next();
  retry_.arm(delay);
  // That nobody listens is no news of this resource: the link has told of it.
  const bool told = trouble_ == why || &backoff == &unreachable_;
  trouble_ = why;
  last_trouble_ = why;
  last_trouble_at_ = std::chrono::system_clock::now();
  if (told)
    platform_.log.debug("not attached yet", {{"resource", name_}, {"why", why}});
  else
    platform_.log.warn("not attached", {{"resource", name_}, {"why", why}});
  enter(Stage::kBackingOff);
}

void Resource::enter(Stage stage) {
  if (stage == stage_) return;
  stage_ = stage;
  stage_since_ = std::chrono::system_clock::now();
  on_stage_();
}

}  // namespace plughost
