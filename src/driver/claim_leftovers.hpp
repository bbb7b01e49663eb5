#pragma once
// Claims that are prepared here although no pod of this node has them any more: the kubelet has lost its
// state, or was taken away together with it, and will never give them back. Loop thread only.
//
// A claim is left over if the kubelet's own list of claims does not name it, and the API server says that
// it does not exist, is another one, is reserved for nobody, or has none of the devices that it has here,
// or, asked with a node's credentials, that no pod of the node has it; and all of this twice, four minutes
// apart. Where either cannot be read nothing is concluded.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "base/workers.hpp"
#include "dra/claim.hpp"
#include "dra/claim_file.hpp"
#include "platform/api_server.hpp"

namespace plughost {

// In the kubelet's root. Source: pkg/kubelet/cm/dra/state of Kubernetes.
inline constexpr const char* kKubeletClaimsName = "dra_manager_state";

// Does what the API server says of the claim mean that nobody on this node has it?
bool is_left_over(const PreparedClaim& prepared, const Claim& now);

class ClaimLeftovers {
 public:
  // A leftover is found by the second look, and so within ten minutes.
  static constexpr std::chrono::milliseconds kPause = std::chrono::minutes(4);
  // The kubelet's file system hangs if it takes longer.
  static constexpr std::chrono::seconds kDeadline{2};

  struct Hooks {
    std::function<std::vector<PreparedClaim>()> claims;  // about which nothing is under way
    std::function<std::string()> version;                // of resource.k8s.io; empty: not known yet
    std::function<void(const ClaimRef& claim)> clear;
  };

  // All outlive it. state: the kubelet's list. No time passes while there is no claim: changed() says when
  // there may be.
  ClaimLeftovers(EventLoop& loop, Workers& workers, ApiServer& server, std::string driver,
                 std::filesystem::path state, Hooks hooks, std::chrono::milliseconds pause = kPause);
  ClaimLeftovers(const ClaimLeftovers&) = delete;
  ClaimLeftovers& operator=(const ClaimLeftovers&) = delete;

  void changed();

 private:
  struct Look;

  void look();
  void on_state(const std::shared_ptr<Look>& looking);
  void ask_next(const std::shared_ptr<Look>& looking);
  void on_answer(const std::shared_ptr<Look>& looking, const PreparedClaim& claim, const ApiAnswer& answer);
  void finish(const Look& looking);

  Workers& workers_;
  ApiServer& server_;
  const std::string driver_;
  const std::filesystem::path state_;
  const Hooks hooks_;
  const std::chrono::milliseconds pause_;
  std::set<std::string> suspects_;  // uids, of the last look
  Timer next_;
  std::unique_ptr<ApiCall> call_;
  Lifetime lifetime_;
  Subscription user_;
};

}  // namespace plughost
