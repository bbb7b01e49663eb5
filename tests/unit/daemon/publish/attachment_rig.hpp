#pragma once
// An attachment as a value, and a simulated environment.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/publish/attachment.hpp"

namespace plughost::test {

using Milliseconds = std::chrono::milliseconds;
using Result = RegistrationClient::Result;

inline constexpr pid_t kKubelet = 100;  // the first kubelet's process; later kubelets have the next numbers
inline constexpr pid_t kStranger = 200;

inline FileIdentity socket_of(int kubelet) {
  return {.device = 1, .inode = static_cast<ino_t>(kubelet), .changed_ns = kubelet};
}

class AttachmentRig {
 public:
  static constexpr attachment::Time kBegin{std::chrono::seconds(1000)};

  explicit AttachmentRig(attachment::State first = {}) : state_(std::move(first)) {}
  // Returns a rig in which a kubelet has appeared and Register was called.
  static AttachmentRig asking() {
    AttachmentRig rig;
    rig.kubelet(1);
    return rig;
  }
  // Returns a rig in which Register has succeeded.
  static AttachmentRig expecting() {
    AttachmentRig rig = asking();
    rig.answer(Result::kAccepted);
    return rig;
  }
  // Returns a rig in which the kubelet has opened its stream.
  static AttachmentRig attached() {
    AttachmentRig rig = expecting();
    rig.open();
    REQUIRE(rig.stage() == Stage::kAttached);
    return rig;
  }

  bool listening_fails = false;
  std::optional<pid_t> kubelet_process = kKubelet;  // process that listens on the kubelet's socket
  std::uint32_t incarnation = 7;
  // The actions of the attachment: the kubelets for which Register was called, the reported failures, and how
  // often each other action was taken.
  std::vector<FileIdentity> asked;
  std::vector<std::string> failures;
  int listened_again = 0;
  int attached_times = 0;
  int ended = 0;
  int kept = 0;
  int ended_streams = 0;
  int ended_former = 0;
  int sent_again = 0;

  const attachment::State& state() const { return state_; }
  Stage stage() const { return attachment::stage_of(state_); }
  bool waits() const { return state_.due.has_value(); }
  // Returns the time until the next wake-up.
  Milliseconds wait() const {
    REQUIRE(waits());
    return std::chrono::duration_cast<Milliseconds>(*state_.due - now_);
  }
  // Returns the duration of the last attachment.
  Milliseconds took() const {
    return std::chrono::duration_cast<Milliseconds>(state_.attached_since - state_.searching_since);
  }

  void feed(const attachment::Event& event) {
    attachment::Step step = attachment::step(state_, event, now_);
    state_ = std::move(step.state);
    for (const attachment::Action& action : step.actions)
      std::visit([this](const auto& what) { carry_out(what); }, action);
  }
  // Lets time pass without other events.
  void pass(Milliseconds time) {
    const attachment::Time end = now_ + time;
    while (state_.due && *state_.due <= end) {
      now_ = std::max(now_, *state_.due);
      feed(attachment::TimeUp{});
    }
    now_ = end;
  }
  // Lets time pass without firing the timers due in it.
  void sleep(Milliseconds time) { now_ += time; }

  void kubelet(int which) { feed(attachment::KubeletSeen{socket_of(which)}); }
  void no_kubelet() { feed(attachment::KubeletSeen{std::nullopt}); }
  void answer(Result result) { feed(attachment::Registered{result, "so it says"}); }
  void dial(pid_t process = kKubelet) { dial(process, incarnation); }
  void dial(pid_t process, std::uint32_t at) { feed(attachment::Dialed{{at, process}}); }
  void open(pid_t process = kKubelet) { open(process, incarnation); }
  void open(pid_t process, std::uint32_t at) { feed(attachment::StreamOpened{{at, process}}); }
  void close(pid_t process = kKubelet) { close(process, incarnation); }
  void close(pid_t process, std::uint32_t at) { feed(attachment::StreamClosed{{at, process}}); }
  void time_up() { feed(attachment::TimeUp{}); }
  void socket_gone() { feed(attachment::SocketGone{}); }
  void register_again(bool overlaps) { feed(attachment::RegisterAgain{overlaps}); }

 private:
  void carry_out(const attachment::Listen& action) {
    if (listening_fails) return feed(attachment::NotListening{"no room"});
    if (action.new_name || state_.incarnation != incarnation) ++incarnation;
    feed(attachment::Listening{incarnation});
  }
  void carry_out(const attachment::ListenAgain&) { ++listened_again; }
  void carry_out(const attachment::Register& action) {
    asked.push_back(action.kubelet);
    if (kubelet_process) feed(attachment::Asked{*kubelet_process});
  }
  void carry_out(const attachment::FindKubeletProcess&) { feed(attachment::KubeletProcess{kubelet_process}); }
  void carry_out(const attachment::EndStreams& action) {
    ++(action.former_only ? ended_former : ended_streams);
  }
  void carry_out(const attachment::SendListAgain&) { ++sent_again; }
  void carry_out(const attachment::Attached&) { ++attached_times; }
  void carry_out(const attachment::StreamEnded&) { ++ended; }
  void carry_out(const attachment::StreamKept&) { ++kept; }
  void carry_out(const attachment::Failed& action) { failures.push_back(action.why); }

  attachment::State state_;
  attachment::Time now_ = kBegin;
};

}  // namespace plughost::test
