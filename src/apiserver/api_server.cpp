#include "apiserver/api_server.hpp"

#include <utility>

namespace plughost {
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

std::optional<ApiClientState> ApiServer::state() const {
  if (!config_) return std::nullopt;
  return client_ ? client_->state() : ApiClientState{};
}

}  // namespace plughost
