#pragma once
// How far a resource has come on its way to the kubelet, as people see it. A plain value.

namespace plughost {

enum class Stage {
  kWaiting,      // there is no kubelet
  kRegistering,  // asked, no stream yet
  kAttached,     // a stream is open
  kBackingOff,   // the last attempt failed; another is due
};

}  // namespace plughost
