#pragma once
// Orders to the daemon, as POST requests. Pure functions of values; thread-safe.

#include <optional>
#include <string>
#include <variant>

#include "daemon/drain/drain_controller.hpp"
#include "daemon/handover/hand_over.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/telemetry/http_message.hpp"

namespace plughost {

// Confirms the configuration on trial.
struct KeepOrder {
  bool operator==(const KeepOrder&) const = default;
};

// A part of a hand-over; never kLost.
struct HandOverOrder {
  HandOverStep step = HandOverStep::kUpgrade;
  bool operator==(const HandOverOrder&) const = default;
};

using Order = std::variant<ReloadOrder, KeepOrder, DrainOrder, HandOverOrder>;

// Returns the request of an order, with its body in JSON.
HttpRequest request_of(const Order& order);
// Returns the order of a request, whose body is JSON or YAML, or why the body is invalid. Returns nullopt if
// no order has this path.
std::optional<std::variant<Order, std::string>> order_of(const HttpRequest& request);

}  // namespace plughost
