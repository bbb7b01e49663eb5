#pragma once
// The end of a daemon whose successor runs beside it already. Loop thread only.
//
// A kubelet of 1.37 or later may have two registrations of a resource. So the successor starts, scans and
// registers while this daemon serves, and only then this one ends its streams: no device is ever at 0, no
// Allocate is refused, and a successor that fails changes nothing. Up to 1.36 this daemon ends its streams
// once the successor has its lists. Of 1,000 upgrades of a real 1.37.2 every tenth had a program that failed:
// no device was missing for a moment (tests/e2e/conformance/run --line upgrades).
//
// docs/architecture.md has the requests in their order, and the alternatives that were refused.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/json.hpp"
#include "daemon/handover/inheritance.hpp"
#include "host/programs/detached.hpp"

namespace plughost {

// Requests by the control socket.
enum class HandOverStep {
  kUpgrade,  // of an operator: start a successor
  kBegin,    // of the successor, which learns what it must know
  kEnd,      // of the successor: it has all lists; from 1.37 on once more, when it serves
  kLost,     // the connection of kBegin has ended
};

class HandOver {
 public:
  using Clock = EventLoop::Clock;
  // Called once in the loop. "error" of the answer is empty, or says why nothing has changed.
  using Done = std::function<void(const Json& answer)>;

  // Limits for the successor's start, and from its first request to its last. The successor itself gives up
  // before (TakeOver::kLimit).
  static constexpr std::chrono::seconds kStartLimit{30};
  static constexpr std::chrono::seconds kLimit{90};
  // For this time after the last stream has changed hands, the kubelet may still send a call here; or, up to
  // 1.36, it needs this time to forget a stream that has ended (attachment::kSettling).
  static constexpr std::chrono::milliseconds kSettling{100};
  // A call that has no answer by then is given up.
  static constexpr std::chrono::seconds kCallsLimit{10};
  static constexpr std::chrono::milliseconds kLook{10};

  class Owner {
   public:
    virtual ~Owner() = default;
    // Returns why this daemon cannot hand over now, as a sentence; empty if it can.
    virtual std::string objection() const = 0;
    virtual Inheritance inheritance() const = 0;
    // Returns true if a call of the kubelet has no answer yet.
    virtual bool owes_answer() const = 0;
    // Returns true if the successor may register while this daemon's streams live.
    virtual bool overlaps() const = 0;
    // Leaves the kubelet to the successor, but for the streams that live: if both registered with a kubelet
    // that starts now, it could keep the one that ends.
    virtual void stand_back() = 0;
    // Ends every stream, and gives up the sockets and the directory. There is no way back.
    virtual void leave() = 0;
    // Called when the successor is about to learn that it alone serves; the answers follow. `successor` is
    // its process, 0 if that is in another pid namespace; `started` means that this daemon has started it.
    virtual void on_handed_over(pid_t successor, bool started) = 0;
    // Called when the successor has failed. It may have registered.
    virtual void on_successor_lost() = 0;
  };
  // Starts the successor. Runs on a worker; throws std::runtime_error, which includes std::system_error.
  using Start = std::function<DetachedProgram()>;

  // The arguments must outlive this object.
  HandOver(EventLoop& loop, Workers& workers, Log& log, Owner& owner);
  HandOver& operator=(HandOver&&) = delete;

  // From kBegin to the end no other order is carried out.
  bool under_way() const { return begun_; }
  void upgrade(const Start& start, Done done);
  // `by` is the successor's process, 0 if it is in another pid namespace.
  void begin(pid_t by, const Done& done);
  void end(Done done);
  void lose();

 private:
  // The result of a Start.
  struct Starting {
    DetachedProgram program;
    std::string error;
  };

  void on_started(DetachedProgram started);
  void on_late();
  void look();
  void leave();
  void answer();
  void fail(const std::string& why);
  static Json error(const std::string& why) { return Json{{"error", why}}; }

  EventLoop& loop_;
  Workers& workers_;
  Log& log_;
  Owner& owner_;
  Done operator_;   // of upgrade(); set while it waits
  Done successor_;  // of end(); set while it waits
  std::shared_ptr<Starting> starting_;
  DetachedProgram program_;        // the successor, if this daemon has started it
  std::unique_ptr<IoWatch> ends_;  // of program_
  pid_t process_ = 0;
  bool begun_ = false;
  bool overlaps_ = false;  // the successor registers
  bool left_ = false;
  Clock::time_point asked_{};  // when end() was called
  Timer limit_;
  Timer look_;
  Lifetime lifetime_;
};

}  // namespace plughost
