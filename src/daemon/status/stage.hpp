#pragma once
// A resource's progress towards the kubelet, as shown to users. A plain value.

namespace plughost {

enum class Stage {
  kWaiting,      // no kubelet is running
  kRegistering,  // a registration is in progress; no stream is open yet
  kAttached,     // a stream is open
  kBackingOff,   // the last attempt failed; a retry is due
};

}  // namespace plughost
