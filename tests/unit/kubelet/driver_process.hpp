#pragma once
// A process of a driver, for a test: its endpoint, and an owner that answers what it is told to.

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kubelet/dra_endpoint.hpp"
#include "unit/run_until.hpp"

namespace plughost::test {

inline constexpr const char* kDriver = "plughost.example.com";

struct DriverOwner final : DraOwner {
  std::vector<std::vector<ClaimRef>> prepared;
  std::vector<std::vector<ClaimRef>> unprepared;
  Prepared prepare_outcomes;
  Unprepared unprepare_outcomes;
  bool drops = false;
  bool holds = false;
  PrepareDone held;
  int registered = 0;
  std::vector<std::string> refused;
  std::vector<std::size_t> health_readers;
  std::vector<std::string> troubles;

  void prepare(std::vector<ClaimRef> claims, PrepareDone done) override {
    prepared.push_back(std::move(claims));
    if (holds)
      held = std::move(done);
    else if (!drops)
      done(prepare_outcomes);
  }
  void unprepare(std::vector<ClaimRef> claims, UnprepareDone done) override {
    unprepared.push_back(std::move(claims));
    if (!drops) done(unprepare_outcomes);
  }
  void on_registered() override { ++registered; }
  void on_registration_refused(const std::string& why) override { refused.push_back(why); }
  void on_health_readers(std::size_t count) override { health_readers.push_back(count); }
  void on_endpoint_trouble(const std::string& what) override { troubles.push_back(what); }
};

// A process of a driver.
struct DriverProcess {
  EventLoop loop;
  Workers workers{loop, 1};
  DirWatcher directories{loop, [](const std::string& what) { FAIL(what); }};
  Notifier notifier;
  DescriptorStore descriptors;
  DriverOwner owner;
  std::optional<DraEndpoint> endpoint;

  explicit DriverProcess(const std::filesystem::path& directory, const char* name = kDriver,
                         int first_kept = DescriptorStore::kFirst)
      : descriptors(notifier, first_kept) {
    endpoint.emplace(DraEndpoint::Parts{loop, workers, directories, descriptors}, owner, name, directory);
  }

  std::filesystem::path socket() const { return endpoint->socket(); }
  bool run_until_listening() {
    return test::run_until(loop, [&] { return std::filesystem::is_socket(socket()); });
  }
  // Does what the kubelet does in a thread of its own, and runs the loop meanwhile.
  void during(const std::function<void()>& what) {
    std::atomic<bool> done = false;
    std::thread kubelet([&] {
      what();
      done = true;
    });
    CHECK(test::run_until(loop, [&] { return done.load(); }));
    kubelet.join();
  }
};

}  // namespace plughost::test
