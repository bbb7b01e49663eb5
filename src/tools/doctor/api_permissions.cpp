#include "tools/doctor/api_permissions.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/text.hpp"
#include "config/selection.hpp"
#include "host/programs/programs.hpp"
#include "kubernetes/apiserver/access.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_server.hpp"

namespace plughost {
namespace {

constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

std::string with_node(std::string text, const std::string& node) {
  constexpr std::string_view kNode = "{node}";
  if (const std::size_t at = text.find(kNode); at != std::string::npos) text.replace(at, kNode.size(), node);
  return text;
}

Right of_node(Right right, const std::string& node) {
  right.field_selector = with_node(std::move(right.field_selector), node);
  right.name = with_node(std::move(right.name), node);
  return right;
}

}  // namespace

std::string Right::text() const {
  std::string text = verb + ' ' + resource;
  if (!group.empty()) text += '.' + group;
  if (!subresource.empty()) text += '/' + subresource;
  if (!field_selector.empty())
    text += ", where " + field_selector;
  else if (!name.empty())
    text += ' ' + name;
  return text;
}

std::vector<Right> rights_of(const Config& config) {
  std::vector<Right> rights;
  const auto watch_node = [&rights](const std::string& key) {
    for (const char* const verb : {"list", "watch"})
      rights.push_back({.verb = verb,
                        .resource = "nodes",
                        .field_selector = "metadata.name={node}",
                        .name = "{node}",
                        .key = key});
  };
  const bool counts = config.api_server && std::ranges::any_of(config.resources, [](const auto& each) {
                        return !each.node_resources.empty();
                      });
  const auto assumes = [&config](auto what) {
    return config.api_server && std::ranges::any_of(config.resources, [&](const ResourceConfig& each) {
             return each.spec->assume && what(*each.spec->assume);
           });
  };
  const bool assumed = assumes([](const AssumeTerms&) { return true; });
  if (asks_for_node(config))
    watch_node("when");
  else if (counts)
    watch_node("nodeResources");
  else if (assumes([](const AssumeTerms& terms) { return terms.dialect == Dialect::kGpushare; }))
    watch_node("assume");
  if (counts)
    rights.push_back({.verb = "patch",
                      .resource = "nodes",
                      .subresource = "status",
                      .name = "{node}",
                      .key = "nodeResources"});
  const auto our_pods = [&rights](const std::string& verb, const std::string& key) {
    rights.push_back(
        {.verb = verb, .resource = "pods", .field_selector = "spec.nodeName={node}", .key = key});
  };
  if (assumed) {
    our_pods("list", "assume");
    our_pods("watch", "assume");
    rights.push_back({.verb = "patch", .resource = "pods", .subresource = "status", .key = "assume"});
  }
  if (config.events) {
    rights.push_back({.verb = "create", .resource = "events", .key = "events"});
    // An Event on a pod needs the pod's UID, which is found in a list of the node's pods.
    if (!assumed) our_pods("list", "events");
  }
  return rights;
}

std::optional<Diagnostic> access_error(const Config& config, const HostRoot& host) {
  const std::vector<Right> rights = rights_of(config);
  if (rights.empty()) return {};
  const auto options = ApiClient::Options::of(*config.api_server);
  const auto found = find_access(host, {.kubeconfig = options.config.kubeconfig,
                                        .service_host = options.service_host,
                                        .service_port = options.service_port});
  const auto* const why = std::get_if<std::string>(&found);
  if (!why) return std::nullopt;
  return Diagnostic{.mark = config.api_server->where,
                    .path = "apiServer",
                    .what = *why + "; `" + rights.front().key + "` needs it"};
}

Json access_review(const Right& right) {
  Json attributes{
      {"verb", right.verb}, {"group", right.group}, {"version", "v1"}, {"resource", right.resource}};
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  if (!right.name.empty()) attributes["name"] = right.name;
  if (!right.field_selector.empty()) attributes["fieldSelector"]["rawSelector"] = right.field_selector;
  return {{"apiVersion", "authorization.k8s.io/v1"},
          {"kind", "SelfSubjectAccessReview"},
          {"spec", {{"resourceAttributes", std::move(attributes)}}}};
}

ApiPermissions::Answer access_answer(Right right, const std::string& body) {
  ApiPermissions::Answer answer{.right = std::move(right)};
  const auto parsed = parse_api_json(body);
  if (const auto* const error = std::get_if<std::string>(&parsed)) {
    answer.error = "the answer cannot be read: " + *error;
    return answer;
  }
  const Json& status = std::get<Json>(parsed)["status"];
  answer.allowed = status["allowed"].truth();
  if (const std::string& error = status["evaluationError"].text(); !answer.allowed && !error.empty())
    answer.error = printable(error);
  return answer;
}

ApiPermissions query_api_server(const Config& config, std::chrono::milliseconds limit) {
  ApiPermissions access;
  EventLoop loop;
  Log log(LogLevel::kError, LogFormat::kAuto);
  Workers workers(loop, 1);
  Programs programs(loop);
  ApiClient client(loop, workers, programs, log, std::make_shared<ApiTally>(),
                   ApiClient::Options::of(*config.api_server));
  const std::vector<Right> rights = rights_of(config);
  std::vector<std::unique_ptr<ApiCall>> calls;
  std::size_t left = rights.size();
  for (const Right& right : rights) access.answers.push_back({.right = right});
  for (std::size_t i = 0; i < rights.size(); ++i) {
    const auto body = [right = rights[i]](const std::string& node) {
      return access_review(of_node(right, node)).dump();
    };
    calls.push_back(client.send({.verb = ApiVerb::kCreate, .path = kReviews, .body = body, .deadline = limit},
                                [&, i](const ApiAnswer& answer) {
                                  access.answers[i].error = answer.error;
                                  if (answer.ok())
                                    access.answers[i] =
                                        access_answer(of_node(rights[i], client.node()), answer.body);
                                  else if (access.error.empty())
                                    access.error = answer.error;
                                  if (--left == 0) loop.stop();
                                }));
  }
  if (left > 0) loop.run();
  const ApiClientState state = client.state();
  access.server = state.server;
  access.identity = state.identity;
  access.node = state.node;
  access.warnings = state.warnings;
  return access;
}

}  // namespace plughost
