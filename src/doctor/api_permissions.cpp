#include "doctor/api_permissions.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "apiserver/api_client.hpp"
#include "apiserver/api_json.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/workers.hpp"
#include "dra/slice_json.hpp"
#include "dra/slice_to_try.hpp"
#include "programs/programs.hpp"

namespace plughost {
namespace {

constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr std::chrono::milliseconds kShortest{1};
constexpr const char* kResources = "/apis/resource.k8s.io";

// What the Node authorizer says of a request that names no object: plugin/pkg/auth/authorizer/node.
constexpr std::string_view kByObject[] = {"No Object name found",
                                          "can only read namespaced object of this type"};

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
  ApiPermissions::Answer answer{.right = std::move(right), .allowed = false, .trouble = {}};
  const auto parsed = parse_api_json(body);
  if (const auto* const trouble = std::get_if<std::string>(&parsed)) {
    answer.trouble = "the answer cannot be read: " + *trouble;
    return answer;
  }
  const Json& status = std::get<Json>(parsed)["status"];
  answer.allowed = status["allowed"].truth();
  const std::string& reason = status["reason"].text();
  answer.by_object = !answer.allowed && answer.right.of_own_objects &&
                     std::ranges::any_of(kByObject, [&](std::string_view words) {
                       return reason.find(words) != std::string::npos;
                     });
  if (const std::string& error = status["evaluationError"].text(); !answer.allowed && !error.empty())
    answer.trouble = printable(error);
  return answer;
}

std::vector<std::string> served_versions(const std::string& body) {
  const auto parsed = parse_api_json(body);
  std::vector<std::string> versions;
  if (const auto* const group = std::get_if<Json>(&parsed)) {
    for (const Json& each : (*group)["versions"].array())
      versions.push_back(printable(each["version"].text()));
  }
  return versions;
}

std::map<std::string, std::string> extended_resources(const std::string& body) {
  const auto parsed = parse_api_json(body);
  std::map<std::string, std::string> resources;
  const auto* const list = std::get_if<Json>(&parsed);
  if (!list || (*list)["items"].array().empty()) return resources;
  for (const auto& [name, count] : (*list)["items"].array().front()["status"]["allocatable"].object()) {
    if (name.find('/') != std::string::npos) resources.emplace(printable(name), printable(count.text()));
  }
  return resources;
}

std::string runtime_of_node(const std::string& body) {
  const auto parsed = parse_api_json(body);
  const auto* const list = std::get_if<Json>(&parsed);
  if (!list || (*list)["items"].array().empty()) return {};
  const Json& status = (*list)["items"].array().front()["status"];
  return printable(status["nodeInfo"]["containerRuntimeVersion"].text());
}

SliceTrial slice_trial(const Slice& tried, const ApiAnswer& answer) {
  if (!answer.ok())
    return {.features = std::nullopt,
            .refused = answer.code == ApiAnswer::kForbidden || answer.code == ApiAnswer::kUnprocessable,
            .trouble = answer.trouble};
  const auto parsed = parse_api_json(answer.body);
  const auto* const object = std::get_if<Json>(&parsed);
  const ShownSlice shown = object ? shown_slice(*object) : ShownSlice();
  if (shown.slice.name != tried.name) return {.trouble = "what it answers is not the slice that was sent"};
  return {.features = features_found(tried, shown.slice), .trouble = {}};
}

ApiPermissions ask_api_server(const Config& config, std::chrono::milliseconds limit) {
  ApiPermissions access;
  EventLoop loop;
  Log log(LogLevel::kError, LogFormat::kAuto);
  Workers workers(loop, 1);
  Programs programs(loop);
  ApiClient client(loop, workers, programs, log, std::make_shared<ApiTally>(),
                   ApiClient::Options::of(*config.api_server));
  std::vector<std::unique_ptr<ApiCall>> calls;
  std::size_t left = 0;
  const auto ends = EventLoop::Clock::now() + limit;
  const auto ask = [&](ApiRequest request, std::function<void(const ApiAnswer& answer)> then) {
    ++left;
    request.deadline = std::max(
        std::chrono::duration_cast<std::chrono::milliseconds>(ends - EventLoop::Clock::now()), kShortest);
    calls.push_back(client.send(std::move(request), [&, then = std::move(then)](const ApiAnswer& answer) {
      then(answer);
      if (--left == 0) loop.stop();
    }));
  };
  const std::vector<Right> rights = rights_of(config);
  for (const Right& right : rights)
    access.answers.push_back({.right = right, .allowed = false, .trouble = {}});
  for (std::size_t i = 0; i < rights.size(); ++i) {
    ask({.verb = ApiVerb::kCreate,
         .path = kReviews,
         .body = [right = rights[i]](
                     const std::string& node) { return access_review(of_node(right, node)).dump(); }},
        [&, i](const ApiAnswer& answer) {
          access.answers[i].trouble = answer.trouble;
          if (answer.ok())
            access.answers[i] = access_answer(of_node(rights[i], client.node()), answer.body);
          else if (access.trouble.empty())
            access.trouble = answer.trouble;
        });
  }
  // 1.34 refuses counters that are not beside their sets.
  const std::function<void(bool)> try_slice = [&](bool partitions) {
    const std::string version = version_of_slices(access.dra->versions);
    if (version.empty()) return;
    const std::string driver = config.dra->driver;
    ask({.verb = ApiVerb::kCreate,
         .path = std::string(kResources) + '/' + version + "/resourceslices?dryRun=All",
         .body =
             [=](const std::string& node) {
               return slice_json(slice_to_try(driver, node, partitions),
                                 {.driver = driver, .node = node, .node_uid = {}}, version)
                   .dump();
             }},
        [&, driver, partitions](const ApiAnswer& answer) {
          if (answer.code == ApiAnswer::kUnprocessable && partitions) return try_slice(false);
          access.dra->slice = slice_trial(slice_to_try(driver, client.node(), partitions), answer);
        });
  };
  if (config.dra) {
    ClusterDra& dra = access.dra.emplace();
    ask({.verb = ApiVerb::kGet, .path = kResources}, [&](const ApiAnswer& answer) {
      if (answer.ok()) {
        dra.versions = served_versions(answer.body);
        try_slice(true);
      } else if (answer.code != ApiAnswer::kNotFound) {  // the group is not served: that is the answer
        dra.trouble = answer.trouble;
      }
    });
    ask({.verb = ApiVerb::kList,  // which is what a driver may do
         .path =
             [](const std::string& node) {
               return "/api/v1/nodes?limit=1&fieldSelector=" + url_encoded("metadata.name=" + node);
             }},
        [&](const ApiAnswer& answer) {
          if (!answer.ok()) return;
          dra.allocatable = extended_resources(answer.body);
          dra.runtime = runtime_of_node(answer.body);
        });
  }
  Timer end(loop, [&] {
    access.trouble = "it has not answered within " + std::to_string(limit.count() / 1000) + " s";
    loop.stop();
  });
  end.arm(limit + std::chrono::seconds(1));
  if (left > 0) loop.run();
  const ApiClientState state = client.state();
  access.server = state.server;
  access.identity = state.identity;
  access.node = state.node;
  access.warnings = state.warnings;
  return access;
}

}  // namespace plughost
