#pragma once
// The control service's messages from the daemon's values. Pure functions, thread-safe.

#include "base/log_history.hpp"
#include "plughost/v1/control.pb.h"
#include "telemetry/daemon_status.hpp"

namespace plughost {

v1::Status to_message(const DaemonStatus& status);
v1::Event to_message(const LogHistory::Record& record);
v1::ReloadResponse to_message(const ReloadAnswer& answer);

}  // namespace plughost
