#pragma once
// Permissions in the API server. Plain values; query_api_server() blocks and may run on any thread.

#include <chrono>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "config/config.hpp"
#include "host/hardware/host_root.hpp"

namespace plughost {

// A permission that a configuration needs in the API server. Pure functions of values; thread-safe.
struct Right {
  std::string verb;         // "list"
  std::string group = {};   // empty: the core group
  std::string resource;     // "nodes"
  std::string subresource;  // "status"; empty: none
  // Selects objects ({node}: our Node's name); empty: all. A node's own account may select no other objects.
  std::string field_selector;  // "metadata.name={node}"
  std::string name;            // "{node}"; empty: any
  std::string key;             // first key that needs the permission: "nodeResources"

  // Example: "list nodes, where metadata.name={node}".
  std::string text() const;
  bool operator==(const Right&) const = default;
};

// Returns the permissions, each once; empty if the API server is not used.
std::vector<Right> rights_of(const Config& config);

struct ApiPermissions {
  struct Answer {
    Right right;  // with the name of our Node
    bool allowed = false;
    std::string error;  // why the answer is unknown; empty: `allowed` is the answer
  };
  std::string server;    // URL; empty: unknown
  std::string identity;  // source of the credentials
  std::string node;
  std::string error;                  // why the server was not queried or did not answer; empty: it answered
  std::vector<std::string> warnings;  // about the credentials
  std::vector<Answer> answers;        // to rights_of(), in the same order
};

// Returns a SelfSubjectAccessReview for the permission.
Json access_review(const Right& right);
ApiPermissions::Answer access_answer(Right right, const std::string& body);

// Returns why no credentials for the API server can be found; nullopt if they are found or not needed.
// Contacts no server and runs no exec plugin.
std::optional<Diagnostic> access_error(const Config& config, const HostRoot& host);

// Queries the API server about rights_of(config), in an event loop of its own. Writes nothing.
ApiPermissions query_api_server(const Config& config,
                                std::chrono::milliseconds limit = std::chrono::seconds(15));

}  // namespace plughost
