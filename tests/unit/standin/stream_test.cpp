#include <doctest/doctest.h>

#include "unit/standin/test_plugin.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("each ListAndWatch message replaces the whole list") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 3);
  REQUIRE(attached.listed);
  CHECK(attached.now().capacity == 3);
  attached.plugin.list({{"x", true, {1}}, {"y", false, {}}});
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.lists == 2; }));
  CHECK(*attached.now().devices == std::vector<ListedDevice>{{"x", true, {1}}, {"y", false, {}}});
  CHECK(attached.now().capacity == 2);
  CHECK(attached.now().allocatable == 1);
}

TEST_CASE("when the stream ends, allocatable is 0 at once and capacity stays") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 3);
  REQUIRE(attached.listed);
  attached.plugin.end_streams();
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.stream_ended.has_value(); }));
  CHECK(attached.now().allocatable == 0);
  CHECK(attached.now().capacity == 3);
  CHECK_FALSE(attached.now().attached);
}

TEST_CASE("when the stream has ended and the grace period is over, capacity is 0 too") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 3, {.grace_period = 0ms});
  REQUIRE(attached.listed);
  attached.plugin.end_streams();
  CHECK(attached.wait_for([](const ResourceState& state) { return state.capacity == 0; }));
}

TEST_CASE("as in a real kubelet, the end of an old stream disconnects the resource's new plugin") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2);
  REQUIRE(attached.listed);
  TestPlugin newer(directory.at("newer.sock"));
  newer.list(healthy_devices(2));
  REQUIRE(register_at(directory.path(), kResource, "newer.sock").ok());
  REQUIRE(attached.wait_for(
      [](const ResourceState& state) { return state.streams == 2 && state.lists_since_registration > 0; }));
  CHECK(attached.now().registrations.at(1).while_streaming);
  CHECK(newer.cancelled() == 0);

  attached.plugin.end_streams();
  CHECK(newer.wait_until_cancelled(1));
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.streams == 0; }));
  CHECK(attached.now().allocatable == 0);
  CHECK_FALSE(attached.now().attached);
}

TEST_CASE("a plugin that registers after the end of the old stream stays attached") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2);
  REQUIRE(attached.listed);
  attached.plugin.end_streams();
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.streams == 0; }));
  REQUIRE(register_at(directory.path(), kResource, "thing.sock").ok());
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.allocatable == 2; }));
  CHECK(attached.now().attached);
  CHECK_FALSE(attached.now().registrations.at(1).while_streaming);
}

TEST_CASE("a failed registration leaves the old list, and the old stream's end is ignored") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2, {.dial_timeout = 1s});
  REQUIRE(attached.listed);
  CHECK_FALSE(register_at(directory.path(), kResource, "nobody.sock").ok());
  CHECK(attached.now().allocatable == 2);
  attached.plugin.end_streams();
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.streams == 0; }));
  CHECK(attached.now().allocatable == 2);
}

TEST_CASE("a message of more than 4 MiB ends the stream") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.list(healthy_devices(60000, std::string(58, 'x')));
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.streams == 0; }));
  CHECK(attached.now().allocatable == 0);
  CHECK(attached.now().lists == 1);
}

TEST_CASE("50,000 devices with long ids are listed") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.list(healthy_devices(50000, std::string(58, 'x')));
  CHECK(attached.wait_for([](const ResourceState& state) { return state.allocatable == 50000; }));
}

TEST_CASE("the kubelet cancels a stream on demand") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  CHECK(attached.kubelet.cancel_stream(kResource));
  CHECK(attached.plugin.wait_until_cancelled(1));
  CHECK(attached.wait_for([](const ResourceState& state) { return state.allocatable == 0; }));
  CHECK_FALSE(attached.kubelet.cancel_stream(kResource));
}

TEST_CASE("while the kubelet does not read a stream, its list has no effect") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path(), .faults = {.unread = {kResource}}});
  TestPlugin plugin(directory.at("thing.sock"));
  plugin.list(healthy_devices(2));
  REQUIRE(register_at(directory.path(), kResource, "thing.sock").ok());
  CHECK(kubelet.state().of(kResource).attached);
  // The plugin sent the first stream's list before, so it has arrived when the second stream's has.
  REQUIRE(kubelet.open_second_stream(kResource));
  REQUIRE(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).second.lists == 1; },
                           kSoon));
  CHECK(kubelet.state().of(kResource).lists == 0);
  kubelet.set_faults({});
  CHECK(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).allocatable == 2; },
                         kSoon));
}

TEST_CASE("an unread stream does not delay the kubelet's end") {
  const TempDir directory;
  TestPlugin plugin(directory.at("thing.sock"));
  {
    // The kubelet has its own directory, because at its start it would remove the plugin's socket.
    const TempDir kubelets;
    std::filesystem::create_symlink(plugin.socket(), kubelets.at("thing.link"));
    StandInKubelet kubelet({.directory = kubelets.at("plugins"), .faults = {.unread = {kResource}}});
    REQUIRE(register_at(kubelets.at("plugins"), kResource, "../thing.link").ok());
    REQUIRE(plugin.wait_until_streaming());
  }
  CHECK(plugin.wait_until_cancelled(1));
}

TEST_CASE("a second stream gets the lists, too") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2);
  REQUIRE(attached.listed);
  REQUIRE(attached.kubelet.open_second_stream(kResource));
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.second.lists == 1; }));
  attached.plugin.list(healthy_devices(3));
  CHECK(attached.wait_for(
      [](const ResourceState& state) { return state.second.devices->size() == 3 && state.capacity == 3; }));
  CHECK(attached.now().second.open);
  CHECK(attached.now().streams == 1);
}

TEST_CASE("events are reported in the order in which they happen") {
  const TempDir directory;
  std::mutex mutex;
  std::vector<KubeletEvent::Type> types;
  {
    StandInKubelet kubelet({.directory = directory.path()}, [&](const KubeletEvent& event) {
      const std::lock_guard lock(mutex);
      types.push_back(event.type);
    });
    TestPlugin plugin(directory.at("thing.sock"));
    plugin.list(healthy_devices(1));
    REQUIRE(register_at(directory.path(), kResource, "thing.sock").ok());
    REQUIRE(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).lists > 0; }, kSoon));
    plugin.end_streams();
    REQUIRE(kubelet.wait_for(
        [](const KubeletState& state) { return state.of(kResource).stream_ended.has_value(); }, kSoon));
  }
  using enum KubeletEvent::Type;
  CHECK(types ==
        std::vector{kListening, kRegistering, kStreamOpened, kRegistered, kList, kStreamEnded, kStopped});
}
