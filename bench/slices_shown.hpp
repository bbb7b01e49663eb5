#pragma once
// The API server's side of a measurement: the ResourceSlices that it shows, and when they changed. Not
// thread-safe; it runs its loop while something is waited for.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "apiserver/api_watch.hpp"
#include "bed.hpp"
#include "unit/apiserver/api_client_fixture.hpp"

namespace plughost::bench {

class SlicesShown {
 public:
  static constexpr const char* kGroup = "/apis/resource.k8s.io/v1";

  // As who the kubeconfig is of. Throws std::runtime_error if the slices cannot be listed.
  explicit SlicesShown(const std::string& kubeconfig);

  // Devices without a taint, of pools whose newest generation is whole: what a scheduler may give away.
  std::size_t devices() const;
  // Slices that were made, changed or deleted since this was made.
  std::size_t changes() const { return changes_; }
  Clock::time_point changed_at() const { return changed_at_; }
  // Until there are so many devices; when the last slice had come by then.
  Clock::time_point wait_for(std::size_t devices);
  void wait_for(const char* what, const std::function<bool()>& holds);
  // Whoever made them.
  void delete_all();

  struct Answered {
    ApiAnswer answer;
    double ms = 0;
  };
  Answered ask(ApiRequest request);
  // The object as it is now. Throws std::runtime_error unless it was made, or is there already.
  void create(const std::string& collection, const Json& object);

 private:
  struct Slice {
    std::string pool;
    std::int64_t generation = 0;
    std::int64_t of = 0;  // so many in the pool
    std::size_t devices = 0;
  };
  void take(const Json& object);
  void note_change();

  test::ClientOfTest test_;
  ApiClient& client_;
  bool listed_ = false;
  std::map<std::string, Slice> slices_;  // by name
  std::size_t changes_ = 0;
  Clock::time_point changed_at_;
  ApiWatch watch_;
};

}  // namespace plughost::bench
