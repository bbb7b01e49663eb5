#pragma once
// An API server with the pods and the Node of one node, as far as plughost asks for them. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "unit/apiserver/fake_api_server.hpp"

namespace plughost::test {

class FakePods {
 public:
  FakePods();
  ~FakePods();
  FakePods(const FakePods&) = delete;
  FakePods& operator=(const FakePods&) = delete;

  std::string kubeconfig() const;

  // A pod is made, or is another now: as a watch tells it.
  void put(const Json& pod);
  // A pod with these annotations more.
  void annotate(const std::string& uid, const std::vector<std::pair<std::string, std::string>>& annotations);
  void set_phase(const std::string& uid, const std::string& phase);
  void remove(const std::string& uid);
  void label_node(const std::string& key, const std::string& value);

  // Watches tell nothing from now on, or again: what is new is only in lists.
  void hold_watches(bool hold);
  // Every request is answered so; 0: as usual.
  void fail_with(int code);
  // So many patches are.
  void fail_patches(int code, unsigned times);
  void stop();   // nobody listens
  void start();  // on the same port

  std::string annotation(const std::string& uid, const std::string& key) const;
  // Of all patches that came, in order: "uid-or-name code body".
  std::vector<std::string> patches() const;
  std::size_t requests(const std::string& part_of_target) const;

 private:
  void handle(const FakeRequest& request, FakeConnection& connection);
  void list(const std::string& target, FakeConnection& connection);
  void watch(const std::string& target, FakeConnection& connection);
  void patch(const FakeRequest& request, FakeConnection& connection);
  void note(const char* type, const Json& pod);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Json> pods_;  // by UID
  std::map<std::string, std::string> labels_;
  std::vector<std::string> events_;  // the n-th has the version n + 1
  std::vector<std::string> patches_;
  std::vector<std::string> targets_;
  bool held_ = false;
  bool ending_ = false;
  int failing_ = 0;
  int failing_patches_ = 0;
  unsigned patches_to_fail_ = 0;
  std::uint16_t port_ = 0;
  std::unique_ptr<FakeApiServer> server_;
};

}  // namespace plughost::test
