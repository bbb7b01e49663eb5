#pragma once
// The start of a daemon whose predecessor runs beside it still. Loop thread only. See HandOver.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/json.hpp"
#include "daemon/handover/inheritance.hpp"

namespace plughost {

// A daemon that has agreed to hand over.
struct Predecessor {
  Inheritance inheritance;
  std::shared_ptr<void> connection;  // its end tells the predecessor that we have failed
  // HandOverStep::kEnd. Blocks for as long as HandOver may take; throws std::runtime_error.
  std::function<Json()> end;
};

class TakeOver {
 public:
  // Limit for everything up to the predecessor's end: health checks and programs of the operator may take
  // their timeouts before a resource has its first list.
  static constexpr std::chrono::seconds kLimit{60};
  // Longer than HandOver may wait for the kubelet's calls.
  static constexpr std::chrono::seconds kEndLimit{20};

  class Owner {
   public:
    virtual ~Owner() = default;
    // Returns what the predecessor serves and we have no list of yet, or, if `attached`, do not serve yet, as
    // a sentence; empty: nothing.
    virtual std::string missing(const Inheritance& from, bool attached) const = 0;
    // Registers beside the predecessor.
    virtual void register_beside() = 0;
    // Called once: the predecessor has ended. `last` replaces what it told at the beginning.
    virtual void on_taken_over(const Inheritance& last) = 0;
    // Called once: the predecessor serves on, and we must end.
    virtual void on_failed(const std::string& why) = 0;
  };

  // The references must outlive this object.
  TakeOver(EventLoop& loop, Workers& workers, Predecessor predecessor, Owner& owner);
  TakeOver& operator=(TakeOver&&) = delete;

  const Inheritance& inheritance() const { return predecessor_.inheritance; }
  // Call it when missing() may have changed.
  void on_change() { look_.arm({}); }

 private:
  // Interval of looks without a change.
  static constexpr std::chrono::milliseconds kLook{200};

  void look();
  std::string missing() const { return owner_.missing(predecessor_.inheritance, registers_); }
  void on_answer(const Json& answer);

  Workers& workers_;
  Predecessor predecessor_;
  Owner& owner_;
  bool registers_ = false;  // beside the predecessor
  bool asking_ = false;
  Timer limit_;
  Timer look_;
  Lifetime lifetime_;
};

}  // namespace plughost
