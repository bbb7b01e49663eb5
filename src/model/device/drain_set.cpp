#include "model/device/drain_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/text/json.hpp"
#include "base/text/text.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

constexpr int kVersion = 1;

std::optional<Drain::Clock::time_point> time_of(const Json& text) {
  // The clock's range ends in the year 2262.
  constexpr auto kLatest = std::chrono::duration_cast<std::chrono::microseconds>(
      Drain::Clock::time_point::max().time_since_epoch());
  const std::optional<std::int64_t> microseconds = microseconds_of(text.text());
  if (!microseconds || *microseconds < 0 || *microseconds > kLatest.count()) return std::nullopt;
  return Drain::Clock::time_point(std::chrono::microseconds(*microseconds));
}

// Returns why the item is not valid; empty if it is. If the item has a name, the device is drained anyway,
// without the damaged terms.
std::string read_item(const Json& item, DrainSet::Parsed& parsed) {
  const auto is_text = [&](const char* key) { return item[key] == Json(item[key].text()); };
  const DrainSet::Name name{.resource = item["resource"].text(), .device = item["device"].text()};
  if (!is_text("resource") || !is_text("device") || (name.resource.empty() && !name.device.empty())) {
    parsed.incomplete = true;
    return "it names no resource and device";
  }
  Drain drain{.reason = item["reason"].text(), .until = time_of(item["until"])};
  std::string error = reason_error(drain.reason);
  if (!error.empty()) drain.reason.clear();
  if (!drain.until && !item["until"].is_null()) error = "its 'until' is no time";
  if (const auto since = time_of(item["since"]))
    drain.since = *since;
  else
    error = "its 'since' is no time";
  parsed.drains.set(name, std::move(drain));
  return error;
}

}  // namespace

std::string Drain::text() const {
  std::string text = "drained";
  if (until) text += " until " + utc_text(*until).substr(0, 19) + 'Z';
  return reason.empty() ? text : text + ": " + reason;
}

std::string reason_error(std::string_view reason) {
  if (reason.size() > kLongestReason)
    return "the reason has " + std::to_string(reason.size()) + " bytes; " + std::to_string(kLongestReason) +
           " are the most";
  if (!valid_utf8(reason)) return "the reason is not UTF-8";
  if (printable(reason) != reason) return "the reason is one line, without control characters";
  return {};
}

std::vector<DrainSet::Name> DrainSet::expire(Drain::Clock::time_point now) {
  std::vector<Name> over;
  std::erase_if(all_, [&](const auto& item) {
    if (!item.second.until || *item.second.until > now) return false;
    over.push_back(item.first);
    return true;
  });
  return over;
}

std::optional<Drain::Clock::time_point> DrainSet::next_end() const {
  std::optional<Drain::Clock::time_point> first;
  for (const auto& [name, drain] : all_) {
    if (drain.until) first = std::min(first.value_or(*drain.until), *drain.until);
  }
  return first;
}

std::string DrainSet::Name::text() const {
  if (resource.empty()) return "every device";
  return device.empty() ? resource : resource + '=' + device;
}

const Drain* DrainSet::find(const Name& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

bool DrainSet::touches(const std::string& resource) const {
  if (unreadable()) return true;
  const auto first = all_.lower_bound({.resource = resource, .device = {}});
  return first != all_.end() && first->first.resource == resource;
}

void DrainSet::apply(const std::string& resource, std::vector<Device>& devices) const {
  const Drain* const of_resource = find({.resource = resource, .device = {}});
  const Drain* const of_all = of_resource ? of_resource : unreadable();
  for (Device& device : devices) {
    const Drain* const own = find({.resource = resource, .device = device.id});
    if (const Drain* const drain = own ? own : of_all) device.reasons.push_back(Reason::drain(drain->text()));
  }
}

std::string DrainSet::text() const {
  Json items = Json::Array();
  for (const auto& [name, drain] : all_) {
    Json item{{"resource", name.resource},
              {"device", name.device},
              {"reason", drain.reason},
              {"since", utc_text(drain.since)}};
    if (drain.until) item["until"] = utc_text(*drain.until);
    items.push_back(std::move(item));
  }
  return Json{{"version", kVersion}, {"drains", std::move(items)}}.dump_indented() + '\n';
}

DrainSet::Parsed DrainSet::parse(std::string_view text) {
  Parsed parsed;
  try {
    const Json document = Json::parse(text);
    if (document["version"] != Json(kVersion))
      throw std::runtime_error("its 'version' is not " + std::to_string(kVersion));
    const Json& items = document["drains"];
    if (items != Json(items.array())) throw std::runtime_error("its 'drains' is no list");
    for (std::size_t i = 0; i < items.array().size(); ++i) {
      const std::string error = read_item(items.array()[i], parsed);
      if (!error.empty()) parsed.errors.push_back("drains[" + std::to_string(i) + "]: " + error);
    }
  } catch (const std::runtime_error& exception) {
    parsed.errors.emplace_back(exception.what());
    parsed.incomplete = true;
  }
  return parsed;
}

}  // namespace plughost
