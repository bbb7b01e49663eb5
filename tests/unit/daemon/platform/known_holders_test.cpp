#include "daemon/platform/kubelet_link.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/resource_names.hpp"

namespace plughost {
namespace {

using test::kA;

std::shared_ptr<const Holdings> listed(const std::vector<std::string>& ids) {
  HoldingsBuilder holdings;
  const auto train = std::make_shared<const Holder>(Holder{"default", "train", "main"});
  for (const std::string& id : ids) holdings.add(kA, id, train);
  return std::make_shared<const Holdings>(std::move(holdings).build());
}

// A checkpoint in which pod u holds the ids.
CheckpointReader::Reading reading(const std::vector<std::string>& ids) {
  Checkpoint checkpoint;
  if (!ids.empty())
    checkpoint.pod_devices.push_back(
        {.pod_uid = "u", .container = "init", .resource = kA, .ids = {{-1, ids}}, .allocation = {}});
  return {.checkpoint = std::make_shared<const Checkpoint>(std::move(checkpoint)), .why = {}};
}

CheckpointReader::Reading with_pods(CheckpointReader::Reading from, const std::set<std::string>& pods) {
  from.pods = std::make_shared<const std::set<std::string>>(pods);
  return from;
}

std::string holder_of(const KnownHolders& known, const std::string& id) {
  const auto resource = known.holdings->find(kA);
  if (resource == known.holdings->end()) return "nobody";
  const auto found = resource->second.of(id);
  return found.empty() ? "nobody" : found.front().holder->pod;
}

}  // namespace

TEST_CASE("known holders: a device that List omits is held while its pod has a directory") {
  const KnownHolders held = known_holders(listed({"b"}), true, with_pods(reading({"a", "b"}), {"u", "v"}));
  CHECK(holder_of(held, "a") == "u");
  CHECK(holder_of(held, "b") == "train");
  CHECK(held.holdings->at(kA).all().size() == 2);
  CHECK(held.complete);
  const KnownHolders ended = known_holders(listed({"b"}), true, with_pods(reading({"a", "b"}), {"v"}));
  CHECK(holder_of(ended, "a") == "nobody");
  CHECK(holder_of(ended, "b") == "train");
  CHECK(ended.complete);
}

TEST_CASE("known holders: if the pods' directories cannot be read, all holders of the checkpoint count") {
  CHECK(holder_of(known_holders(listed({}), true, reading({"a"})), "a") == "u");
}

TEST_CASE(
    "known holders: without List, the holders are those of the checkpoint whose pods have a directory") {
  CHECK(holder_of(known_holders(nullptr, true, with_pods(reading({"a"}), {"u"})), "a") == "u");
  const KnownHolders ended = known_holders(nullptr, false, with_pods(reading({"a"}), {}));
  CHECK(holder_of(ended, "a") == "nobody");
  CHECK(ended.complete);
}

TEST_CASE("known holders: List is incomplete if the kubelet has just started") {
  CHECK_FALSE(known_holders(listed({}), false, with_pods(reading({}), {})).complete);
}

TEST_CASE(
    "known holders: if the checkpoint is unreadable, List is incomplete, and without List no holder is "
    "known") {
  const CheckpointReader::Reading unreadable{.checkpoint = nullptr, .why = "it is empty"};
  const KnownHolders known = known_holders(listed({"b"}), true, unreadable);
  CHECK(holder_of(known, "b") == "train");
  CHECK_FALSE(known.complete);
  CHECK_FALSE(known_holders(nullptr, true, unreadable).holdings);
}

TEST_CASE("known holders: if no checkpoint exists, List is complete, and without List no holder is known") {
  CheckpointReader::Reading missing = reading({});
  missing.why = "cannot read it: No such file or directory";
  CHECK(known_holders(listed({}), true, missing).complete);
  CHECK_FALSE(known_holders(nullptr, true, missing).holdings);
}

TEST_CASE("known holders: the response of List is passed on unchanged if the checkpoint adds nothing") {
  const auto list = listed({"a"});
  CHECK(known_holders(list, true, with_pods(reading({"a"}), {"u"})).holdings == list);
}

}  // namespace plughost
