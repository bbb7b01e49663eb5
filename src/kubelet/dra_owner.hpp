#pragma once
// What a driver's endpoint tells its owner, and asks of it. Loop thread only.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dra/claim.hpp"

namespace plughost {

class DraOwner {
 public:
  // By uid: empty, or why not. What has not been asked for is not told.
  using Unprepared = std::map<std::string, std::string>;
  using Prepared = std::map<std::string, PrepareOutcome>;
  // Called once, from any thread, also when nobody waits any more. Where it is dropped, the call fails; a
  // claim without an answer does.
  using PrepareDone = std::function<void(Prepared outcomes)>;
  using UnprepareDone = std::function<void(Unprepared outcomes)>;

  // Each uid once, and fit to be part of a path; never empty. The same claim may be asked for again at any
  // time, also while it is being prepared. The kubelet waits for 45 s.
  virtual void prepare(std::vector<ClaimRef> claims, PrepareDone done) = 0;
  // Likewise; of claims that may be unknown, or long gone.
  virtual void unprepare(std::vector<ClaimRef> claims, UnprepareDone done) = 0;

  // A kubelet has registered the driver, or it has not, with its reason.
  virtual void on_registered() = 0;
  virtual void on_registration_refused(const std::string& why) = 0;
  // So many kubelets read the health of devices now: 0 or 1, as a rule; always 0 with kubelets up to 1.33.
  virtual void on_health_readers(std::size_t count) = 0;
  // A connection that was turned away, or a socket that cannot be made, as a sentence. Each once, until it
  // is over.
  virtual void on_endpoint_trouble(const std::string& what) = 0;

 protected:
  ~DraOwner() = default;
};

}  // namespace plughost
