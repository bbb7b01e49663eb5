#include "pods/pods_now.hpp"

#include <memory>

#include "apiserver/api_server.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "kubelet/pods_api.hpp"
#include "pods/pod_source.hpp"
#include "programs/programs.hpp"

namespace plughost {
namespace {

using Outcome = std::variant<std::vector<Pod>, std::string>;

constexpr std::size_t kMostBytes = std::size_t{64} << 20u;

}  // namespace

Outcome pods_now(const std::filesystem::path& pods_api, const std::optional<ApiServerConfig>& server) {
  Outcome outcome = "`apiServer` is not there: nobody is asked for pods";
  EventLoop loop;
  Log log(LogLevel::kError, LogFormat::kAuto);
  Workers workers(loop, 1);
  Programs programs(loop);
  ApiServer api_server(loop, workers, programs, log);
  api_server.use(server);
  PodsApi kubelet(loop, pods_api);
  std::unique_ptr<ApiCall> call;
  kubelet.list([&](const PodsApi::Answer& answer) {
    ApiClient* const client = api_server.client();
    if (answer.outcome == PodsApi::Outcome::kTold) outcome = answer.pods;
    if (answer.outcome == PodsApi::Outcome::kTold || !client) return loop.stop();
    call = client->send({.verb = ApiVerb::kList,
                         .path =
                             [](const std::string& node) {
                               return "/api/v1/pods?fieldSelector=" + url_encoded("spec.nodeName=" + node);
                             },
                         .most_answer = kMostBytes},
                        [&](const ApiAnswer& told) {
                          outcome = pods_in(told);
                          loop.stop();
                        });
  });
  loop.run();
  return outcome;
}

}  // namespace plughost
