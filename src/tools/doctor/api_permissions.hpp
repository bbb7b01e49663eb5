#pragma once
// The API server's answer to what we may do there. Plain values; query_api_server blocks, any thread.

#include <chrono>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "config/config.hpp"
#include "host/hardware/host_root.hpp"

namespace plughost {

// A right that a configuration needs in the API server. Pure functions of values, thread-safe.
struct Right {
  std::string verb;         // "list"
  std::string group = {};   // empty: the core group
  std::string resource;     // "nodes"
  std::string subresource;  // "status"; empty: none
  // Selects objects ({node}: our node's name); empty: all. A node's own account may select no others.
  std::string field_selector;  // "metadata.name={node}"
  std::string name;            // "{node}"
  std::string key;             // of the configuration that needs it first: "nodeResources"

  // "list nodes, where metadata.name={node}"
  std::string text() const;
  bool operator==(const Right&) const = default;
};

// Each once. Nothing: the API server is not asked.
std::vector<Right> rights_of(const Config& config);

struct ApiPermissions {
  struct Answer {
    Right right;  // with our node's name in it
    bool allowed = false;
    std::string error;  // why nobody knows; empty: allowed is its answer
  };
  std::string server;    // its URL; empty: not known
  std::string identity;  // where our credentials are from
  std::string node;
  std::string error;                  // why it was not asked, or did not answer; empty: it has answered
  std::vector<std::string> warnings;  // of the credentials
  std::vector<Answer> answers;        // to rights_of(), in their order
};

// A SelfSubjectAccessReview for each right.
Json access_review(const Right& right);
ApiPermissions::Answer access_answer(Right right, const std::string& body);

// Why the API server could not be asked from here, as a line that names the place in the configuration;
// empty: credentials are found, or nothing needs them. Nobody is asked, and no exec plugin is run.
std::string access_error(const Config& config, const HostRoot& host);

// With a loop of its own. Nothing is written.
ApiPermissions query_api_server(const Config& config,
                                std::chrono::milliseconds limit = std::chrono::seconds(15));

}  // namespace plughost
