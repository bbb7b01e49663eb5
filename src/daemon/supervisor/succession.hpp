#pragma once
// Carries out hand-overs for the running entries: to a successor, and from a predecessor. Refers to the
// supervisor's objects; loop thread only.

#include <span>
#include <string>

#include "config/selection.hpp"
#include "daemon/devices/held_devices.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/handover/inheritance.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/supervisor/resource_controller.hpp"

namespace plughost {

class Succession {
 public:
  Succession(ResourceControllers& controllers, HeldDevices& held, const DrainController& drains,
             KubeletLink& link)
      : controllers_(controllers), held_(held), drains_(drains), link_(link) {}

  // For HandOver::Owner.
  std::string objection() const;
  Inheritance inheritance() const;
  bool owes_answer() const;
  // See KubeletLink::knows_sockets().
  bool overlaps() const { return link_.registers() && link_.knows_sockets(); }
  void stand_back(bool stands_back);
  void leave();
  void register_again();

  // For TakeOver::Owner. `others` are the entries that do not apply, as far as that is known; `attached`
  // means that a list alone is not enough.
  std::string missing(const Inheritance& from, std::span<const NotHere> others, bool attached) const;
  // Throws DirectoryHeld or std::system_error if another process has the directory by now.
  void take_over(const Inheritance& last);

 private:
  ResourceControllers& controllers_;
  HeldDevices& held_;
  const DrainController& drains_;
  KubeletLink& link_;
};

}  // namespace plughost
