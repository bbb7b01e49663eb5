#pragma once
// An API server in memory: objects of any collection, by their paths, with versions and watches; and what may
// go wrong with one. It has a Node, worker-1. Thread-safe.

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
  // Written into the directory; its path.
  std::string kubeconfig(const TempDir& directory, const std::string& name = "kubeconfig") const;

  // By somebody else than the client: made, or in the place of what was there. Its uid is a new one unless it
  // says one or was there.
  void put(const std::string& collection, Json object);
  // The same of what is there.
  void change(const std::string& collection, const std::string& name,
              const std::function<void(Json& object)>& how);
  void remove(const std::string& collection, const std::string& name);
  // The Node as it was at first.
  void make_node();
  // null: there is none.
  Json get(const std::string& collection, const std::string& name) const;
  std::vector<Json> all(const std::string& collection) const;

  // Requests whose "METHOD /path" begins so are answered with that code, so many times; code 0: as ever.
  void refuse(const std::string& beginning, int code, unsigned times = ~0U, const std::string& headers = "",
              const std::string& message = "refused by the test");
  // They are not answered before release().
  void hold(const std::string& beginning);
  void release();
  // A SelfSubjectAccessReview says no to "list pods"; to all others yes.
  void deny(const std::string& right);
  // Every watch ends. Who goes on from a version that he knows is told 410: by the answer, or by an event.
  enum class Versions { kKnown, kExpired, kExpiredByEvent };
  void end_watches(Versions versions = Versions::kKnown);
  // Watches tell nothing from now on, or all that was held back.
  void hold_watches(bool held);
  void stop();   // nobody listens
  void start();  // on the same port

  // "METHOD /path?query" of each request, in the order of coming.
  std::vector<std::string> asked() const;
  std::size_t asked(const std::string& beginning) const;
  // Of those that changed something, their bodies, too. Dry runs are none.
  std::vector<FakeRequest> written() const;
  std::size_t written(const std::string& method) const;

 private:
  struct Event {
    std::string collection;
    std::string type;
    Json before;  // null: there was none
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
  unsigned watches_ = 0;  // counts their endings
  std::size_t oldest_ = 0;
  bool expired_by_event_ = false;  // what is older
  unsigned next_uid_ = 1;
  std::map<std::string, Json> objects_;  // by path
  std::vector<Event> events_;            // the n-th made the version n + 1
  std::vector<Refusal> refusals_;
  std::set<std::string> held_;
  std::set<std::string> denied_;
  std::vector<FakeRequest> asked_;
  std::vector<FakeRequest> written_;
  std::uint16_t port_ = 0;
  std::unique_ptr<FakeApiServer> server_;
};

}  // namespace plughost::test
