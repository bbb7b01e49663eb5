#include "platform/pod_watch.hpp"

#include <utility>

namespace plughost {

PodWatch::PodWatch(ApiServer& server) : server_(server), user_(server.users(), [this] { begin(); }) {}

std::unique_ptr<PodWatch::Follower> PodWatch::follow(Hooks hooks) {
  const std::uint64_t number = next_++;
  followers_.emplace(number, std::move(hooks));
  begin();
  return std::unique_ptr<Follower>(new Follower(*this, number));
}

void PodWatch::begin() {
  watch_.reset();
  trouble_.clear();
  ApiClient* const client = followers_.empty() ? nullptr : server_.client();
  if (!client) return;
  watch_ = std::make_unique<ApiWatch>(
      *client, "/api/v1/pods", "spec.nodeName={node}",
      ApiWatch::Hooks{
          .listed =
              [this](const std::vector<Json>& pods) { tell([&](const Hooks& to) { to.listed(pods); }); },
          .changed = [this](const Json& pod) { tell([&](const Hooks& to) { to.changed(pod); }); },
          .gone = [this](const Json& pod) { tell([&](const Hooks& to) { to.gone(pod); }); },
          .trouble = [this](const std::string& sentence) { trouble_ = sentence; }});
}

// No hook makes a follower or ends one: both come with a resource, whose lists are made elsewhere.
template <typename Call>
void PodWatch::tell(Call call) {
  if (followers_.empty()) return watch_.reset();
  for (const auto& [number, hooks] : followers_) call(hooks);
}

}  // namespace plughost
