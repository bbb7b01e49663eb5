#pragma once
// One resource on the node: what it serves, and its attachment to the kubelet carried out. Loop thread only.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "daemon/hooks/container_programs.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/publish/attachment.hpp"
#include "daemon/status/status.hpp"
#include "kubernetes/plugin/endpoint.hpp"
#include "kubernetes/pods/assuming.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

class Resource final : private EndpointOwner {
 public:
  // Of Allocates that are refused so many are told within the time: a pod that is refused is made anew at
  // once by its controller, again and again.
  static constexpr unsigned kMostRefusals = 5;
  static constexpr std::chrono::minutes kRefusalTime{1};

  // Registers no earlier than not_before. on_stage is called after each change of stage().
  // Throws std::runtime_error if no server can be started. platform, link and assuming outlive it.
  Resource(Platform& platform, KubeletLink& link, Assuming& assuming, ResourceSnapshot first,
           PluginOptions options, EventLoop::Clock::time_point not_before, std::function<void()> on_stage);
  ~Resource();

  const std::string& name() const { return name_; }
  Stage stage() const { return attachment::stage_of(attachment_); }
  // Since when the kubelet's stream is open; nullopt: there is none.
  std::optional<EventLoop::Clock::time_point> attached_since() const {
    if (stage() != Stage::kAttached) return std::nullopt;
    return attachment_.attached_since;
  }
  SharedSnapshot snapshot() const { return feed_->newest().snapshot; }
  // nullptr: which card a container gets, the kubelet's ids say.
  const AssumedCards* assumed_cards() const { return cards_.get(); }
  // Has a container ever got one of its devices?
  bool has_given() const { return calls_->allocated.count() > 0; }
  // Without the entry's name.
  ResourceStatus status() const;

  // The newest devices and terms; tells the kubelet if its list is another.
  void publish(ResourceSnapshot snapshot);
  // Another kubelet is there, or none.
  void on_kubelet();
  // Our socket's file may have been removed.
  void on_sockets();
  // Before the resource goes, and another of its name is not to come: the kubelet is told what its entry
  // wants to be told then.
  void end_for_good();
  // Ends the kubelet's stream, and what follows from that mends what the kubelet believes.
  void register_anew() { feed_->readers().dismiss(); }

 private:
  void on_dialed(Caller by) override;
  void on_stream_opened(Caller by) override;
  void on_stream_closed(Caller by) override;
  void on_registry_refused(Caller by, const std::string& why) override;
  void on_connection_error(const std::string& what) override;
  void on_allocated(const AnsweredAllocate& call) override;
  void prepare_start(SharedSnapshot snapshot, const std::vector<std::string>& ids, StartDone done) override;
  void run_allocation_program(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                              AllocationDone done) override;

  void request_card(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) override;
  void prepare_card(SharedSnapshot snapshot, const IdSet& ids, StartDone done) override;
  // Returns `done` with a line in the log for a refusal.
  StartDone logged(StartDone done);
  // As the newest snapshot has it.
  void follow_pods();

  void handle(const attachment::Event& event);
  void on_registered(RegistrationClient::Result result, const std::string& why);

  void carry_out(const attachment::Listen& action);
  void carry_out(const attachment::ListenAgain& action);
  void carry_out(const attachment::Register& action);
  void carry_out(const attachment::FindKubeletProcess& action);
  void carry_out(const attachment::Attached& action);
  void carry_out(const attachment::StreamEnded& action);
  void carry_out(const attachment::StreamKept& action);
  void carry_out(const attachment::Failed& action);

  Platform& platform_;
  KubeletLink& link_;
  Assuming& assuming_;
  const std::string name_;
  const PluginOptions options_;
  const std::function<void()> on_stage_;
  const std::shared_ptr<InventoryFeed> feed_;
  const std::shared_ptr<CallTally> calls_;
  HealthTimes health_times_;
  Rate told_refusals_{kMostRefusals, kRefusalTime};

  attachment::State attachment_;
  WallTime stage_since_ = std::chrono::system_clock::now();
  std::string error_;  // empty once attached
  std::string last_error_;
  std::optional<WallTime> last_error_at_;
  RegistrationTally registrations_;
  Timer timer_;  // the attachment's
  Lifetime lifetime_;
  Endpoint endpoint_;
  // They end first: calls that wait for a program are answered before the streams end, and with them the
  // kubelet's connection.
  PreStarts pre_starts_;
  AllocationPrograms allocation_programs_;
  std::unique_ptr<AssumedCards> cards_;
};

}  // namespace plughost
