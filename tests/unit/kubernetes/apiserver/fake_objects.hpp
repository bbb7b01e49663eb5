#pragma once
// An API server in memory: objects of any collection by their paths, with versions and watches, and with
// faults on request. It has a Node, worker-1. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

class FakeObjects {
 public:
  static constexpr const char* kNode = "worker-1";
  static constexpr const char* kNodes = "/api/v1/nodes";

  explicit FakeObjects(std::uint16_t port = 0);
  ~FakeObjects();
  FakeObjects& operator=(FakeObjects&&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Writes a kubeconfig into the directory and returns its path.
  std::string kubeconfig(const TempDir& directory, const std::string& name = "kubeconfig") const;

  // Creates or replaces an object as another client would. It gets a new uid unless it has one or existed.
  void put(const std::string& collection, Json object);
  // Changes an existing object likewise.
  void change(const std::string& collection, const std::string& name,
              const std::function<void(Json& object)>& how);
  void remove(const std::string& collection, const std::string& name);
  // Creates the Node in its initial state.
  void make_node();
  // Returns null if the object does not exist.
  Json get(const std::string& collection, const std::string& name) const;
  std::vector<Json> all(const std::string& collection) const;

  // Answers requests whose "METHOD /path" begins so with that code, `times` times; code 0 ends that.
  void refuse(const std::string& beginning, int code, unsigned times = ~0U, const std::string& headers = "",
              const std::string& message = "refused by the test");
  // Delays the answers until release().
  void hold(const std::string& beginning);
  void release();
  // Denies "list pods" or the like in SelfSubjectAccessReviews; all others are allowed.
  void deny(const std::string& right);
  // Ends every watch. A client that continues from a known version gets 410 as the answer or as an event.
  enum class Versions { kKnown, kExpired, kExpiredByEvent };
  void end_watches(Versions versions = Versions::kKnown);
  // Stops sending events to watches, or sends those that were held.
  void hold_watches(bool held);
  void stop();   // stops listening
  void start();  // on the same port

  // Returns "METHOD /path?query" of each request, in order.
  std::vector<std::string> asked() const;
  std::size_t asked(const std::string& beginning) const;
  // Returns the requests that changed something, with their bodies, except dry runs.
  std::vector<FakeRequest> written() const;
  std::size_t written(const std::string& method) const;

 private:
  struct Event {
    std::string collection;
    std::string type;
    Json before;  // null: none
    Json object;
  };
  struct Refusal {
    std::string beginning;
    int code = 0;
    unsigned times = 0;
    std::string headers;
    std::string message;
  };
  struct Answer {
    int code = 200;
    Json body;
  };

  void serve_request(const FakeRequest& request, FakeConnection& out);
  Answer answer(const FakeRequest& request);
  Answer list(const std::string& collection, const std::string& query) const;
  Answer create(const std::string& collection, const FakeRequest& request);
  Answer replace(const std::string& path, Json object, const FakeRequest& request);
  void watch(const std::string& collection, const std::string& query, FakeConnection& out);
  void store(const std::string& collection, const std::string& path, Json object);
  void note(const std::string& collection, const char* type, const Json& before, const Json& object);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  bool watches_held_ = false;
  unsigned watches_ = 0;  // counts their ends
  std::size_t oldest_ = 0;
  bool expired_by_event_ = false;  // for older versions
  unsigned next_uid_ = 1;
  std::map<std::string, Json> objects_;  // by path
  std::vector<Event> events_;            // the n-th one made version n + 1
  std::vector<Refusal> refusals_;
  std::set<std::string> held_;
  std::set<std::string> denied_;
  std::vector<FakeRequest> asked_;
  std::vector<FakeRequest> written_;
  std::uint16_t port_ = 0;
  std::unique_ptr<FakeApiServer> server_;
};

}  // namespace plughost::test
