#include "daemon/telemetry/orders.hpp"

#include <algorithm>
#include <utility>

#include "base/document/fields.hpp"
#include "base/document/yaml.hpp"
#include "base/log/log_line.hpp"
#include "base/text/json.hpp"
#include "config/config.hpp"

namespace plughost {
namespace {

constexpr const char* kReload = "/reload";
constexpr const char* kKeep = "/keep";
constexpr const char* kDrain = "/drain";
constexpr const char* kUndrain = "/undrain";
constexpr std::pair<const char*, HandOverStep> kHandOver[] = {{"/upgrade", HandOverStep::kUpgrade},
                                                              {"/hand-over/begin", HandOverStep::kBegin},
                                                              {"/hand-over/end", HandOverStep::kEnd}};

Json seconds_of(const std::optional<std::chrono::seconds>& duration) {
  return duration ? Json(std::to_string(duration->count()) + 's') : Json();
}

ReloadOrder reload_in(Fields& fields) {
  ReloadOrder order;
  if (fields.has("logLevel")) order.level = fields.choice("logLevel", kLogLevels, LogLevel::kInfo);
  if (fields.has("confirm"))
    order.confirm = fields.seconds("confirm", kShortestTrial, kShortestTrial, kLongestTrial);
  return order;
}

DrainOrder drain_in(Fields& fields, bool undrain) {
  if (undrain && fields.flag("unreadable", false)) return {};
  DrainOrder order{.resource = fields.require_text("resource"),
                   .device = fields.text("device", ""),
                   .terms = std::nullopt};
  if (undrain) return order;
  order.terms = DrainOrder::Terms{.reason = fields.text("reason", ""), .duration = std::nullopt};
  if (fields.has("for"))
    order.terms->duration =
        fields.seconds("for", DrainOrder::kShortest, DrainOrder::kShortest, DrainOrder::kLongest);
  return order;
}

}  // namespace

HttpRequest request_of(const Order& order) {
  HttpRequest request{.method = "POST", .path = kKeep, .query = {}, .host = {}, .body = {}};
  if (const auto* const part = std::get_if<HandOverOrder>(&order)) {
    request.path =
        std::ranges::find(kHandOver, part->step, &std::pair<const char*, HandOverStep>::second)->first;
    return request;
  }
  Json::Object body;
  const auto add = [&](const char* key, Json value) {
    if (!value.is_null()) body.emplace_back(key, std::move(value));
  };
  if (const auto* const reload = std::get_if<ReloadOrder>(&order)) {
    request.path = kReload;
    if (reload->level) add("logLevel", word_of(kLogLevels, *reload->level));
    add("confirm", seconds_of(reload->confirm));
  } else if (const auto* const drain = std::get_if<DrainOrder>(&order)) {
    request.path = drain->terms ? kDrain : kUndrain;
    if (drain->resource.empty()) add("unreadable", true);
    if (!drain->resource.empty()) add("resource", drain->resource);
    if (!drain->device.empty()) add("device", drain->device);
    if (drain->terms) {
      add("reason", drain->terms->reason);
      add("for", seconds_of(drain->terms->duration));
    }
  }
  request.body = Json(std::move(body)).dump();
  return request;
}

std::optional<std::variant<Order, std::string>> order_of(const HttpRequest& request) {
  const std::string& path = request.path;
  for (const auto& [known, step] : kHandOver)
    if (path == known) return HandOverOrder{step};
  if (path != kReload && path != kKeep && path != kDrain && path != kUndrain) return std::nullopt;
  Diagnostics diagnostics;
  Order order = KeepOrder();
  if (const auto body = parse_yaml(request.body, path, diagnostics)) {
    Fields fields(*body, "", diagnostics);
    if (path == kReload) order = reload_in(fields);
    if (path == kDrain || path == kUndrain) order = drain_in(fields, path == kUndrain);
  }
  for (const Diagnostic& each : diagnostics.all()) {
    if (each.severity == Diagnostic::Severity::kError) return each.text();
  }
  return order;
}

}  // namespace plughost
