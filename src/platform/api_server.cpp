#include "platform/api_server.hpp"

#include <utility>

namespace plughost {
namespace {

std::optional<WallTime> on_the_wall(std::optional<EventLoop::Clock::time_point> time) {
  if (!time) return std::nullopt;
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(EventLoop::Clock::now() - *time);
}

}  // namespace

ApiServer::ApiServer(EventLoop& loop, Workers& workers, Programs& programs, Log& log)
    : loop_(loop), workers_(workers), programs_(programs), log_(log) {}

void ApiServer::use(std::optional<ApiServerConfig> config) {
  if (config == config_) {
    config_ = std::move(config);  // it may stand elsewhere
    return;
  }
  config_ = std::move(config);
  const std::unique_ptr<ApiClient> former = std::exchange(client_, nullptr);
  users_.tell();
}

ApiClient* ApiServer::client() {
  if (!client_ && config_)
    client_ = std::make_unique<ApiClient>(loop_, workers_, programs_, log_, tally_,
                                          ApiClient::Options::of(*config_));
  return client_.get();
}

std::optional<ApiServerStatus> ApiServer::status() const {
  if (!config_) return std::nullopt;
  ApiServerStatus status{.requests = tally_->read().requests};
  if (!client_) return status;
  const ApiClientState state = client_->state();
  status.server = state.server;
  status.identity = state.identity;
  status.node = state.node;
  status.heard_at = on_the_wall(state.heard);
  status.trouble = state.trouble;
  status.warnings = state.warnings;
  for (const ApiWatchState& watch : state.watches)
    status.watches.push_back({.collection = watch.collection,
                              .objects = watch.objects,
                              .heard_at = on_the_wall(watch.heard),
                              .trouble = watch.trouble});
  return status;
}

}  // namespace plughost
