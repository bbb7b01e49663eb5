#pragma once
// An ApiClient on the test's loop, with a kubeconfig that the test writes.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/apiserver/api_server.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct ClientOfTest {
  TempDir directory;
  EventLoop loop;
  Workers workers{loop, 2};
  Programs programs{loop};
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  std::shared_ptr<ApiTally> tally = std::make_shared<ApiTally>();
  ApiClient::Options options;
  std::unique_ptr<ApiClient> client;

  ClientOfTest() {
    options.config.kubeconfig = directory.at("kubeconfig");
    options.config.node = "worker-1";
  }
  // Writes the kubeconfig. `user` has the lines of its `user` map, each indented by six spaces.
  void kubeconfig(const std::string& server, const std::string& user = "      token: secret\n",
                  const std::string& cluster = "") const {
    directory.file("kubeconfig",
                   "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n"
                   "clusters:\n- name: k\n  cluster:\n      server: " +
                       server + '\n' + cluster + "users:\n- name: u\n  user:\n" + user);
  }
  ApiClient& start() {
    client = std::make_unique<ApiClient>(loop, workers, programs, log, tally, options);
    return *client;
  }
  ApiAnswer ask(ApiRequest request) {
    std::optional<ApiAnswer> answer;
    const auto call = client->send(std::move(request), [&](ApiAnswer got) { answer = std::move(got); });
    if (!run_until(loop, [&] { return answer.has_value(); }))
      return {.error = "the test has waited too long"};
    return *answer;
  }
  ApiAnswer get(const std::string& path) { return ask({.path = path}); }
  // Returns the log lines that contain `words`, including lines below the log's level.
  std::vector<std::string> logged(std::string_view words) {
    std::vector<std::string> lines;
    std::uint64_t number = 0;
    while (const auto record = log.history().after(number)) {
      number = record->number;
      if (std::string line = record->json().dump(); says(line, words)) lines.push_back(std::move(line));
    }
    return lines;
  }
};

}  // namespace plughost::test
