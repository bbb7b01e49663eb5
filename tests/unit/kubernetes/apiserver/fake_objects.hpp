#pragma once
// An API server in memory: stores objects of any collection with versions, serves watches, and can be told to
// fail. It begins with the Node worker-1. Thread-safe.

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
  // Writes a kubeconfig for this server into the directory, and returns its path.
  std::string kubeconfig(const TempDir& directory, const std::string& name = "kubeconfig") const;

  // Creates or replaces an object, as a different client would. A new object without a uid gets one.
  void put(const std::string& collection, Json object);
  // Changes an existing object, as a different client would.
  void change(const std::string& collection, const std::string& name,
              const std::function<void(Json& object)>& how);
  void remove(const std::string& collection, const std::string& name);
  // Creates the Node in its initial state.
  void make_node();
  // Returns null if the object does not exist.
  Json get(const std::string& collection, const std::string& name) const;
  std::vector<Json> all(const std::string& collection) const;

  // Answers the next `times` requests whose "METHOD /path" begins with `beginning` with this code. The code 0
  // ends the refusals.
  void refuse(const std::string& beginning, int code, unsigned times = ~0U, const std::string& headers = "",
              const std::string& message = "refused by the test");
  // Holds the responses to such requests until release().
  void hold(const std::string& beginning);
  void release();
  // Denies a right such as "list pods" in SelfSubjectAccessReviews. All other rights are allowed.
  void deny(const std::string& right);
  // Ends every watch. With kExpired or kExpiredByEvent, a client that continues from its last version gets a
  // 410, as the response or as an event.
  enum class Versions { kKnown, kExpired, kExpiredByEvent };
  void end_watches(Versions versions = Versions::kKnown);
  // Holds back the events of watches, or sends those that were held back.
  void hold_watches(bool held);
  void stop();   // closes the port
  void start();  // listens on the same port again

  // Returns "METHOD /path?query" of each request, in order.
  std::vector<std::string> asked() const;
  std::size_t asked(const std::string& beginning) const;
  // Returns the requests that wrote something, with their bodies, without dry runs.
  std::vector<FakeRequest> written() const;
  std::size_t written(const std::string& method) const;

 private:
  struct Event {
    std::string collection;
    std::string type;
    Json before;  // null: the object is new
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
  unsigned watches_ = 0;  // number of end_watches() calls so far
  std::size_t oldest_ = 0;
  bool expired_by_event_ = false;  // how watches from versions before oldest_ are refused
  unsigned next_uid_ = 1;
  std::map<std::string, Json> objects_;  // by path
  std::vector<Event> events_;            // the n-th event led to version n + 1
  std::vector<Refusal> refusals_;
  std::set<std::string> held_;
  std::set<std::string> denied_;
  std::vector<FakeRequest> asked_;
  std::vector<FakeRequest> written_;
  std::uint16_t port_ = 0;
  std::unique_ptr<FakeApiServer> server_;
};

}  // namespace plughost::test
