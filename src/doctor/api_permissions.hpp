#pragma once
// What the API server says of what we may do there. Plain values; ask_api_server blocks, any thread.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/api_request.hpp"
#include "config/config.hpp"
#include "config/rights.hpp"
#include "dra/pool.hpp"

namespace plughost {

// How a dry run of a ResourceSlice of our node has ended.
struct SliceTrial {
  std::optional<DraFeatures> features;  // nullopt: nobody knows
  bool refused = false;                 // so would be a slice of ours
  std::string trouble;                  // why nobody knows
  bool operator==(const SliceTrial&) const = default;
};

// What a cluster has of Dynamic Resource Allocation, and our node beside it.
struct ClusterDra {
  std::vector<std::string> versions;  // of resource.k8s.io, as they are served: "v1"
  // The node's allocatable extended resources, as the API server shows them: "example.com/camera" → "0".
  std::map<std::string, std::string> allocatable;
  std::string runtime;  // the node's, as its kubelet has it: "containerd://2.2.9"; empty: not known
  std::optional<SliceTrial> slice;  // nullopt: no version is served in which one could be tried
  std::string trouble;              // why nothing of this is known; empty: it is
};

struct ApiPermissions {
  struct Answer {
    Right right;  // with our node's name in it
    bool allowed = false;
    bool by_object = false;  // the answer is another one for each object, and yes for the node's own
    std::string trouble;     // why nobody knows; empty: allowed is its answer
  };
  std::string server;    // its URL; empty: not known
  std::string identity;  // where our credentials are from
  std::string node;
  std::string trouble;                // why it was not asked, or did not answer; empty: it has answered
  std::vector<std::string> warnings;  // of the credentials
  std::vector<Answer> answers;        // to rights_of(), in their order
  std::optional<ClusterDra> dra;      // nullopt: no entry is advertised so
};

// A SelfSubjectAccessReview for each right.
Json access_review(const Right& right);
// What came back for it.
ApiPermissions::Answer access_answer(Right right, const std::string& body);

// The versions in what the API server says of a group; none where there is no such group.
std::vector<std::string> served_versions(const std::string& body);
// Of the one Node in a list: its extended resources, which have a domain in their names.
std::map<std::string, std::string> extended_resources(const std::string& body);
// Of the same: its container runtime.
std::string runtime_of_node(const std::string& body);

// What came back for slice_to_try().
SliceTrial slice_trial(const Slice& tried, const ApiAnswer& answer);

// With a loop of its own. Nothing is written.
ApiPermissions ask_api_server(const Config& config,
                              std::chrono::milliseconds limit = std::chrono::seconds(15));

}  // namespace plughost
