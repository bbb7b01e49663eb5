#pragma once
// A resource's progress towards the kubelet, as shown to users. A plain value.

namespace plughost {

enum class Stage {
  kWaiting,      // no kubelet is running
  kRegistering,  // requested; no stream yet
  kAttached,     // a stream is open
  kBackingOff,   // the last attempt failed; a retry is due
};

}  // namespace plughost
