#pragma once
// The API server, as the configuration in force says that it is reached. Loop thread only.

#include <functional>
#include <memory>
#include <optional>

#include "apiserver/api_client.hpp"
#include "base/subscribers.hpp"

namespace plughost {

class ApiServer {
 public:
  // All outlive it.
  ApiServer(EventLoop& loop, Workers& workers, Programs& programs, Log& log);
  ApiServer& operator=(ApiServer&&) = delete;

  // Another one, or none: those who use it are told, and then the former client ends.
  void use(std::optional<ApiServerConfig> config);
  // Made when it is first asked for; nullptr: the configuration names none. Until the next change.
  ApiClient* client();
  const std::optional<ApiServerConfig>& config() const { return config_; }
  // nullopt: the configuration names none.
  std::optional<ApiClientState> state() const;
  // Of all that were in force.
  const ApiTally& tally() const { return *tally_; }
  // Who has calls or watches of client(): told when there is another one, and drops them then.
  Subscribers& users() { return users_; }

 private:
  EventLoop& loop_;
  Workers& workers_;
  Programs& programs_;
  Log& log_;
  std::shared_ptr<ApiTally> tally_ = std::make_shared<ApiTally>();
  std::optional<ApiServerConfig> config_;
  std::unique_ptr<ApiClient> client_;
  Subscribers users_;
};

}  // namespace plughost
