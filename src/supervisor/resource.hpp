#pragma once
// The life of one resource: serving → registering → attached (a stream is open) → lost → back-off.
// Loop thread only.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "device/offer.hpp"
#include "kubelet/endpoint.hpp"
#include "supervisor/allocation_programs.hpp"
#include "supervisor/node_link.hpp"
#include "supervisor/pre_starts.hpp"
#include "supervisor/status.hpp"

namespace plughost {

class Resource {
 public:
  // A kubelet that says yes and then opens no stream is asked again after this: older ones dial back only
  // after their answer, for up to 10 s.
  static constexpr std::chrono::seconds kStreamWatchdog{11};
  // After we have ended a stream ourselves, the kubelet needs this long to forget it.
  static constexpr std::chrono::milliseconds kForgetting{500};

  // Registers no earlier than not_before. on_stage is called after each change of stage().
  // Throws std::runtime_error if no server can be started. platform and link outlive it.
  Resource(Platform& platform, NodeLink& link, Offer first, PluginOptions options,
           EventLoop::Clock::time_point not_before, std::function<void()> on_stage);
  ~Resource();

  const std::string& name() const { return name_; }
  const PluginOptions& options() const { return options_; }
  Stage stage() const { return stage_; }
  // Why the last attempt failed; empty once attached.
  const std::string& trouble() const { return trouble_; }
  std::shared_ptr<const Offer> offer() const { return feed_->newest().offer; }
  // Without the entry's name.
  ResourceStatus status() const;

  // The newest devices and terms; tells the kubelet if its list is another.
  void publish(Offer offer);
  // Another kubelet is there, or none.
  void on_kubelet();
  // Our socket's file may have been removed.
  void on_sockets();

 private:
  void prepare(const std::shared_ptr<const Offer>& offer, const std::vector<std::string>& ids,
               PreStarts::Answer answer);
  void ask_program(const Offer& offer, const std::vector<std::string>& ids,
                   AllocationPrograms::Answer answer);
  void attach();
  void on_registered(RegistrationClient::Result result, const std::string& why);
  void count(RegistrationClient::Result result);
  void on_stream_opened(Endpoint::Peer peer);
  void on_stream_closed(Endpoint::Peer peer);
  // kubelet_ is another one than before, or none, and nothing is under way to it.
  void meet_kubelet();
  void on_retry();
  void after_grace();
  void fail(const std::string& why, Backoff& backoff);
  void enter(Stage stage);

  Platform& platform_;
  NodeLink& link_;
  std::string name_;
  PluginOptions options_;
  EventLoop::Clock::time_point not_before_;
  std::function<void()> on_stage_;
  std::shared_ptr<InventoryFeed> feed_;

  Stage stage_ = Stage::kWaiting;
  WallTime stage_since_ = std::chrono::system_clock::now();
  std::string trouble_;
  std::string last_trouble_;  // even when it is over
  std::optional<WallTime> last_trouble_at_;
  HealthTimes health_times_;
  RegistrationTally registrations_;
  std::shared_ptr<CallTally> calls_;
  std::optional<FileIdentity> kubelet_;             // the one that we are attached to, or try to be
  EventLoop::Clock::time_point searching_since_{};  // since when there has been a kubelet and no stream
  EventLoop::Clock::time_point attached_since_{};
  unsigned streams_ = 0;            // open ones of the present incarnation
  pid_t stream_process_ = 0;        // who opened the latest of them
  bool name_spent_ = false;         // a kubelet may have seen the listener's name
  bool asking_ = false;             // a Register is under way
  FileIdentity asked_{};            // to whom it went
  bool awaiting_stream_ = false;    // it said yes
  bool lost_while_asking_ = false;  // a stream came and went before the answer
  std::uint64_t attempt_ = 0;       // answers to earlier ones are of no interest
  Backoff unreachable_{std::chrono::milliseconds(10), std::chrono::seconds(5)};
  Backoff refused_{std::chrono::milliseconds(100), std::chrono::seconds(10)};
  Timer retry_;  // the next attempt, or the stream watchdog
  Timer grace_;  // for streams that outlive the kubelet's socket
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  Endpoint endpoint_;
  // They end first: calls that wait for a program are answered before the streams end, and with them the
  // kubelet's connection.
  PreStarts pre_starts_;
  AllocationPrograms allocation_programs_;
};

}  // namespace plughost
