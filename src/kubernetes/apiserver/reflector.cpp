#include "kubernetes/apiserver/reflector.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

// Returns true if a watch may have failed with `code` because of the resourceVersion at which it started.
bool may_be_the_version(int code) {
  if (code == ApiAnswer::kUnauthorized || code == ApiAnswer::kForbidden ||
      code == ApiAnswer::kRequestTimeout || code == ApiAnswer::kTooManyRequests)
    return false;
  // A server with a restored etcd sends 504 "Too large resource version".
  return (code >= 400 && code < 500) || code == ApiAnswer::kGatewayTimeout;
}

}  // namespace

Reflector::Step Reflector::next(Time now) {
  if (under_ != Under::kNothing) return Rest{};
  if (not_before_ && now < *not_before_) return Wait{*not_before_};
  not_before_.reset();
  if (must_list_) {
    under_ = Under::kList;
    return List{continue_token_};
  }
  under_ = Under::kWatch;
  active_ = now;
  std::uniform_int_distribution<int> spread(0, static_cast<int>(kServerTimeoutSpread.count()));
  return Watch{.resource_version = resource_version_,
               .timeout = kServerTimeout + std::chrono::seconds(spread(random_))};
}

void Reflector::page(const std::string& resource_version, const std::string& continue_token, Time now) {
  under_ = Under::kNothing;
  heard_ = now;
  continue_token_ = continue_token;
  if (!continue_token.empty()) return;
  resource_version_ = resource_version;
  listed_ = true;
  must_list_ = false;
  well();
}

void Reflector::began(Time now) {
  began_ = now;
  active_ = now;
  heard_ = now;
  if (!brief_) well();
}

void Reflector::lived(Time now) {
  if (began_ && now - *began_ >= kLived) well();
}

void Reflector::event(const std::string& resource_version, Time now) {
  if (!resource_version.empty()) resource_version_ = resource_version;
  active_ = now;
  heard_ = now;
  expired_ = false;
  brief_ = false;
  well();
}

bool Reflector::end(Time now) {
  under_ = Under::kNothing;
  const bool had_begun = began_.has_value();
  const bool lived = began_ && now - *began_ >= kLived;
  began_.reset();
  brief_ = had_begun && !lived;
  if (lived) {
    pauses_.reset();
    expired_ = false;
  }
  return lived;
}

void Reflector::ended(Time now) {
  if (end(now)) return well();
  brief_ = true;
  pause({}, now);
}

void Reflector::failed(const ApiAnswer& fault, Time now) {
  const Under was = under_;
  const bool lived = end(now);
  if (fault.code == ApiAnswer::kGone) {
    // The continue token or the resourceVersion was too old: lists again at once. A second 410 is an error.
    relist();
    if (std::exchange(expired_, true)) {
      record_fault(fault, now);
      pause(fault, now);
    }
    return;
  }
  // A watch that lived may break: its failure is not reported.
  if (!lived) record_fault(fault, now);
  if (was == Under::kList)
    continue_token_.clear();
  else if (may_be_the_version(fault.code))
    relist();
  pause(fault, now);
}

std::optional<Reflector::Time> Reflector::silent_at() const {
  if (under_ != Under::kWatch) return std::nullopt;
  return active_ + silent_;
}

void Reflector::relist() {
  must_list_ = true;
  continue_token_.clear();
}

void Reflector::pause(const ApiAnswer& fault, Time now) {
  const auto longest = fault.nobody ? kFirstPause : pauses_.next();
  std::uniform_int_distribution<std::int64_t> part(longest.count() / 2, longest.count());
  std::chrono::milliseconds wait(part(random_));
  if (fault.retry_after) wait = std::max<std::chrono::milliseconds>(wait, *fault.retry_after);
  not_before_ = now + wait;
}

void Reflector::record_fault(const ApiAnswer& fault, Time now) {
  if (fault.code != ApiAnswer::kForbidden) {
    forbidden_since_.reset();
    error_ = fault.error;
    return;
  }
  if (!forbidden_since_) forbidden_since_ = now;
  if (now - *forbidden_since_ >= kForbiddenMayPass) error_ = fault.error;
}

void Reflector::well() {
  forbidden_since_.reset();
  error_.clear();
}

}  // namespace plughost
