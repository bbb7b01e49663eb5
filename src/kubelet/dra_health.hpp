#pragma once
// The newest health of a driver's devices, and the service that tells it. Thread-safe: the loop sets it, and
// gRPC's callback threads read it.

#include <grpcpp/impl/codegen/service_type.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/readers.hpp"
#include "kubelet/device_health.hpp"

namespace plughost {

// By the name that a driver's registration has it under.
inline constexpr const char* kDraHealth = "v1alpha1.DRAResourceHealth";

class HealthFeed {
 public:
  struct Newest {
    std::shared_ptr<const std::vector<PoolHealth>> pools;  // nullptr: nothing is known yet
    std::uint64_t telling = 0;                             // the same number: it has been told
  };

  // Loop thread only. Readers are told if it is another list.
  void set(std::vector<PoolHealth> pools);
  // Loop thread only. Readers are told once more.
  void repeat();
  Newest newest() const;
  // Closed with the driver's server.
  Readers& readers() { return readers_; }

 private:
  mutable std::mutex mutex_;
  Newest newest_;
  Readers readers_;
};

// Each stream gets the whole list at once, whenever it is another, and whenever it is repeated; one that is
// not read costs nothing. What is told holds for a year: that we live is seen by the stream. readers_changed
// is called with 1 and -1 when a stream begins and has ended, from any thread.
std::unique_ptr<grpc::Service> make_health_service(std::shared_ptr<HealthFeed> feed,
                                                   std::function<void(int change)> readers_changed);

}  // namespace plughost
