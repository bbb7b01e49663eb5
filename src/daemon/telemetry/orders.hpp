#pragma once
// What may be asked of the daemon to do, as POST requests. Pure functions of values, thread-safe.

#include <optional>
#include <string>
#include <variant>

#include "daemon/drain/drain_controller.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/telemetry/http_message.hpp"

namespace plughost {

// The configuration that is on trial is to stay.
struct KeepOrder {
  bool operator==(const KeepOrder&) const = default;
};

using Order = std::variant<ReloadOrder, KeepOrder, DrainOrder>;

// Its path, and its body in JSON.
HttpRequest request_of(const Order& order);
// Of a body in JSON or YAML. The text: why it is none, as a sentence. nullopt: nothing is ordered by that
// path.
std::optional<std::variant<Order, std::string>> order_of(const HttpRequest& request);

}  // namespace plughost
