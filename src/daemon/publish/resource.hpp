#pragma once
// One resource on the node: serves its devices and carries out its attachment to the kubelet. Loop thread
// only.

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

// Logs the answers to containers of one resource. Loop thread only.
class AnswerLog {
 public:
  // At most this many refused Allocates are logged per period, because a controller replaces a refused pod at
  // once, again and again.
  static constexpr unsigned kMostRefusals = 5;
  static constexpr std::chrono::minutes kRefusalTime{1};

  // `log` must outlive this object.
  AnswerLog(Log& log, std::string resource) : log_(log), resource_(std::move(resource)) {}

  void record(const AnsweredAllocate& call);
  // Returns `done`, wrapped so that a refusal is logged. This object must outlive the result.
  EndpointOwner::StartDone logged(EndpointOwner::StartDone done);

 private:
  Log& log_;
  const std::string resource_;
  Rate told_refusals_{kMostRefusals, kRefusalTime};
};

class Resource final : private EndpointOwner {
 public:
  // Registers no earlier than `not_before`. Calls `on_stage` after each change of stage(). Throws
  // std::runtime_error if no server can be started. `platform`, `link` and `assuming` must outlive this
  // object.
  Resource(Platform& platform, KubeletLink& link, Assuming& assuming, ResourceSnapshot first,
           EventLoop::Clock::time_point not_before, std::function<void()> on_stage);
  ~Resource();

  const std::string& name() const { return name_; }
  Stage stage() const { return attachment::stage_of(attachment_); }
  // Returns when the kubelet's stream was opened; nullopt: no stream is open.
  std::optional<EventLoop::Clock::time_point> attached_since() const {
    if (stage() != Stage::kAttached) return std::nullopt;
    return attachment_.attached_since;
  }
  SharedSnapshot snapshot() const { return feed_->newest().snapshot; }
  // Returns nullptr if the kubelet's ids alone decide which card a container gets.
  const AssumedCards* assumed_cards() const { return cards_.get(); }
  // Returns true once a container has been given one of the devices.
  bool has_given() const { return calls_->allocated.count() > 0; }
  // Returns the status without the entry's name.
  ResourceStatus status() const;

  // Replaces the snapshot. Sends the kubelet a new list if the list has changed, and registers again if the
  // options have.
  void publish(ResourceSnapshot snapshot);
  // Called when the kubelet has been replaced, has appeared or has gone.
  void on_kubelet();
  // Called when the file of this resource's socket may have been removed.
  void on_sockets();
  // Call it before the resource is destroyed for good, with no successor of its name. Sends the kubelet an
  // empty list if AllocationSpec::empty_at_stop is set.
  void end_for_good();
  // Registers under a new name, which corrects the kubelet's count. The kubelet's stream ends once it has
  // opened another, or before if the kubelet cannot have both.
  void register_again() { handle(attachment::RegisterAgain{.overlaps = link_.knows_sockets()}); }
  // Call it when the predecessor's process has ended: its last list may have overtaken ours, and it has told
  // what it has given.
  void on_taken_over();
  // Returns true if a call of the kubelet has no answer yet.
  bool owes_answer() const { return endpoint_.owes_answer() || !pre_starts_.idle(); }

 private:
  void on_dialed(Caller by) override;
  void on_stream_opened(Caller by) override;
  void on_stream_closed(Caller by) override;
  void on_registry_refused(Caller by, const std::string& why) override;
  void on_connection_error(const std::string& what) override;
  void on_allocated(const AnsweredAllocate& call) override { answers_.record(call); }
  void prepare_start(SharedSnapshot snapshot, const std::vector<std::string>& ids, StartDone done) override;
  void run_allocation_program(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                              AllocationDone done) override;

  void request_card(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) override;
  void prepare_card(SharedSnapshot snapshot, const IdSet& ids, StartDone done) override;
  // Follows pods if the newest snapshot requires it.
  void follow_pods();

  void handle(const attachment::Event& event);
  void on_registered(RegistrationClient::Result result, const std::string& why);

  void carry_out(const attachment::Listen& action);
  void carry_out(const attachment::ListenAgain& action);
  void carry_out(const attachment::Register& action);
  void carry_out(const attachment::FindKubeletProcess& action);
  void carry_out(const attachment::EndStreams& action);
  void carry_out(const attachment::SendListAgain& action);
  void carry_out(const attachment::Attached& action);
  void carry_out(const attachment::StreamEnded& action);
  void carry_out(const attachment::StreamKept& action);
  void carry_out(const attachment::Failed& action);

  Platform& platform_;
  KubeletLink& link_;
  Assuming& assuming_;
  const std::string name_;
  PluginOptions options_;
  const std::function<void()> on_stage_;
  const std::shared_ptr<InventoryFeed> feed_;
  const std::shared_ptr<CallTally> calls_;
  HealthTimes health_times_;
  AnswerLog answers_;

  attachment::State attachment_;
  WallTime stage_since_ = std::chrono::system_clock::now();
  std::string error_;  // empty once attached
  std::string last_error_;
  std::optional<WallTime> last_error_at_;
  RegistrationTally registrations_;
  Timer timer_;  // used by the attachment
  Lifetime lifetime_;
  Endpoint endpoint_;
  // Declared last, so destroyed first: calls that wait for a program are answered before the streams end and
  // the kubelet's connection closes.
  PreStarts pre_starts_;
  AllocationPrograms allocation_programs_;
  std::vector<std::function<void()>> waiting_;  // for on_taken_over()
  std::unique_ptr<AssumedCards> cards_;
};

}  // namespace plughost
