#include "daemon/publish/resource.hpp"

#include "host/hardware/device_nodes.hpp"

namespace plughost {

using Clock = EventLoop::Clock;

void AnswerLog::record(const AnsweredAllocate& call) {
  log_.debug("Allocate answered", {{"resource", resource_},
                                   {"ids", call.ids},
                                   {"count", std::to_string(call.count)},
                                   {"containers", std::to_string(call.containers)},
                                   {"outcome", call.refusal.empty() ? "given" : call.refusal}});
  if (call.refusal.empty()) return;
  const std::optional<unsigned> held_back = told_refusals_.admit(Clock::now());
  if (!held_back) return;
  log_.warn("Allocate refused", {{"resource", resource_},
                                 {"ids", call.ids},
                                 {"count", std::to_string(call.count)},
                                 {"why", call.refusal},
                                 {"held_back", std::to_string(*held_back)}});
}

EndpointOwner::StartDone AnswerLog::logged(EndpointOwner::StartDone done) {
  return [this, done = std::move(done)](const std::string& error) {
    done(error);
    if (!error.empty()) log_.warn("PreStartContainer refused", {{"resource", resource_}, {"why", error}});
  };
}

Resource::Resource(Platform& platform, KubeletLink& link, Assuming& assuming, ResourceSnapshot first,
                   Clock::time_point not_before, std::function<void()> on_stage)
    : platform_(platform),
      link_(link),
      assuming_(assuming),
      name_(first.resource),
      options_(options_of(*first.spec)),
      on_stage_(std::move(on_stage)),
      feed_(std::make_shared<InventoryFeed>(std::move(first))),
      calls_(std::make_shared<CallTally>(platform.tallies.answers)),
      answers_(platform.log, name_),
      attachment_{.registers = link.registers(), .not_before = not_before},
      timer_(platform.loop, [this] { handle(attachment::TimeUp{}); }),
      endpoint_(
          platform.loop, platform.workers, *this,
          {.name = name_,
           .announcement = link.registers() ? Announcement::kRegister : Announcement::kPluginsRegistry,
           .feed = feed_,
           .calls = calls_,
           .check_answer = [&host = platform.host](
                               const Allocation& answer) { return missing_device_node(host, answer); }}),
      pre_starts_(platform.programs),
      allocation_programs_(platform.programs) {
  follow_pods();
  health_times_.record({}, snapshot()->inventory.devices(), std::chrono::system_clock::now());
  on_kubelet();
}

Resource::~Resource() = default;

void Resource::publish(ResourceSnapshot snapshot) {
  const SharedSnapshot before = this->snapshot();
  const PluginOptions options = options_of(*snapshot.spec);
  if (feed_->publish(std::move(snapshot))) send_list(feed_, platform_.computations);
  if (std::exchange(options_, options) != options) register_again();
  follow_pods();
  health_times_.record(before->inventory.devices(), this->snapshot()->inventory.devices(),
                       std::chrono::system_clock::now());
}

void Resource::follow_pods() {
  const SharedSnapshot newest = snapshot();
  if (!newest->spec->assume)
    cards_.reset();
  else if (!cards_ || cards_->terms() != *newest->spec->assume)
    cards_ = AssumedCards::of(assuming_, *newest);
}

void Resource::end_for_good() {
  if (snapshot()->spec->empty_at_stop) feed_->end_empty();
}

ResourceStatus Resource::status() const {
  ResourceStatus status{.name = name_,
                        .stage = stage(),
                        .since = stage_since_,
                        .error = last_error_,
                        .error_at = last_error_at_,
                        .snapshot = snapshot(),
                        .health_times = health_times_,
                        .registrations = registrations_,
                        .calls = calls_};
  if (status.stage == Stage::kBackingOff && attachment_.due)
    status.next_try = std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::microseconds>(*attachment_.due - Clock::now());
  return status;
}

void Resource::prepare_start(SharedSnapshot snapshot, const std::vector<std::string>& ids, StartDone done) {
  pre_starts_.run(snapshot, ids, answers_.logged(std::move(done)));
}

void Resource::prepare_card(SharedSnapshot snapshot, const IdSet& ids, StartDone done) {
  if (cards_) cards_->prepare_start(std::move(snapshot), ids, answers_.logged(std::move(done)));
}

void Resource::request_card(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) {
  if (cards_) cards_->allocate(std::move(snapshot), ids, std::move(done));
}

void Resource::run_allocation_program(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                                      AllocationDone done) {
  auto run = [this, snapshot, ids, done = std::move(done)] {
    allocation_programs_.run(*snapshot, ids, done);
  };
  if (!snapshot->ledger->undecided(name_, ids)) return run();
  waiting_.push_back(std::move(run));
}

void Resource::on_taken_over() {
  carry_out(attachment::SendListAgain{});
  for (const auto& run : std::exchange(waiting_, {})) run();
}

void Resource::on_connection_error(const std::string& what) {
  platform_.log.warn(what, {{"resource", name_}, {"socket", endpoint_.socket_name()}});
}

void Resource::on_kubelet() { handle(attachment::KubeletSeen{link_.kubelet()}); }

void Resource::on_sockets() {
  if (!endpoint_.socket_name().empty() && !endpoint_.reachable()) handle(attachment::SocketGone{});
}

void Resource::on_dialed(Caller by) { handle(attachment::Dialed{by}); }

void Resource::on_stream_opened(Caller by) { handle(attachment::StreamOpened{by}); }

void Resource::on_stream_closed(Caller by) { handle(attachment::StreamClosed{by}); }

void Resource::on_registry_refused(Caller by, const std::string& why) {
  handle(attachment::RegistryRefused{by, why});
}

void Resource::on_registered(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  if (result == kAccepted)
    ++registrations_.accepted;
  else if (result == kRefused || result == kSilent)
    ++registrations_.refused;
  else
    ++registrations_.unreachable;
  link_.record_answer(result, why);
  handle(attachment::Registered{result, why});
}

void Resource::handle(const attachment::Event& event) {
  const Stage before = stage();
  const unsigned streams = attachment_.streams;
  attachment::Step step = attachment::step(attachment_, event, Clock::now());
  attachment_ = step.state;
  if (attachment_.streams > streams) ++registrations_.streams;
  if (attachment_.due)
    timer_.arm_at(*attachment_.due);
  else
    timer_.cancel();
  if (stage() != before) {
    stage_since_ = std::chrono::system_clock::now();
    on_stage_();
  }
  for (const attachment::Action& action : step.actions)
    std::visit([this](const auto& what) { carry_out(what); }, action);
}

void Resource::carry_out(const attachment::Listen& action) {
  attachment::Event outcome;
  try {
    link_.directory().hold();
    if (action.new_name || !endpoint_.reachable()) endpoint_.listen_anew(link_.directory().path());
    outcome = attachment::Listening{endpoint_.incarnation()};
  } catch (const std::runtime_error& exception) {
    outcome = attachment::NotListening{exception.what()};
  }
  handle(outcome);
}

void Resource::carry_out(const attachment::ListenAgain&) {
  try {
    link_.directory().hold();
    endpoint_.listen_again();
    platform_.log.info("our socket was removed: created again",
                       {{"resource", name_}, {"socket", endpoint_.socket_name()}});
  } catch (const std::runtime_error& exception) {
    // The directory is missing. Its return, or the start of the next kubelet, causes a further event.
    platform_.log.debug("cannot create our socket again", {{"resource", name_}, {"error", exception.what()}});
  }
}

void Resource::carry_out(const attachment::Register& action) {
  const std::optional<pid_t> process = link_.registration().send(
      {name_, endpoint_.socket_name(), options_}, action.kubelet,
      lifetime_.bound([this](auto result, const std::string& why) { on_registered(result, why); }));
  if (process) handle(attachment::Asked{*process});
}

void Resource::carry_out(const attachment::FindKubeletProcess&) {
  handle(attachment::KubeletProcess{link_.registration().listening_process()});
}

void Resource::carry_out(const attachment::EndStreams& action) {
  if (action.former_only) return feed_->readers().dismiss_others(attachment_.incarnation);
  feed_->readers().dismiss();
}

void Resource::carry_out(const attachment::SendListAgain&) {
  feed_->renew();
  send_list(feed_, platform_.computations);
}

void Resource::carry_out(const attachment::Attached&) {
  const auto after = attachment_.attached_since - attachment_.searching_since;
  error_.clear();
  platform_.tallies.recoveries.add(after);
  platform_.log.info(
      "attached",
      {{"resource", name_},
       {"count", std::to_string(snapshot()->inventory.id_count())},
       {"after_ms", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(after).count())},
       {"socket", endpoint_.socket_name()}});
}

void Resource::carry_out(const attachment::StreamEnded&) {
  platform_.log.info("the kubelet ended the stream", {{"resource", name_}});
}

void Resource::carry_out(const attachment::StreamKept&) {
  platform_.log.info("kubelet recreated its socket and kept the stream", {{"resource", name_}});
}

void Resource::carry_out(const attachment::Failed& action) {
  const bool told =
      error_ == action.why || action.unreachable;  // the link has logged that the kubelet is unreachable
  error_ = action.why;
  last_error_ = action.why;
  last_error_at_ = std::chrono::system_clock::now();
  if (told)
    platform_.log.debug("not attached yet", {{"resource", name_}, {"why", action.why}});
  else if (attachment_.former_streams > 0)
    platform_.log.warn("cannot register again: the former registration stays",
                       {{"resource", name_}, {"why", action.why}});
  else
    platform_.log.warn("not attached", {{"resource", name_}, {"why", action.why}});
}

}  // namespace plughost
