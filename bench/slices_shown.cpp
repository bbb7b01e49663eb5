#include "slices_shown.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace plughost::bench {

namespace {

ApiClient& started(test::ClientOfTest& test, const std::string& kubeconfig) {
  test.options.config.kubeconfig = kubeconfig;
  return test.start();
}

}  // namespace

SlicesShown::SlicesShown(const std::string& kubeconfig)
    : client_(started(test_, kubeconfig)),
      watch_(client_, std::string(kGroup) + "/resourceslices", "",
             {.listed =
                  [this](const std::vector<Json>& objects) {
                    slices_.clear();
                    for (const Json& object : objects) take(object);
                    listed_ = true;
                  },
              .changed =
                  [this](const Json& object) {
                    take(object);
                    note_change();
                  },
              .gone =
                  [this](const Json& object) {
                    slices_.erase(object["metadata"]["name"].text());
                    note_change();
                  },
              .trouble = [](const std::string&) {}}) {
  wait_for("the list of the ResourceSlices", [this] { return listed_; });
}

void SlicesShown::take(const Json& object) {
  const Json& spec = object["spec"];
  const Json& pool = spec["pool"];
  const auto& devices = spec["devices"].array();
  slices_[object["metadata"]["name"].text()] = {
      .pool = pool["name"].text(),
      .generation = pool["generation"].number(),
      .of = pool["resourceSliceCount"].number(),
      .devices = static_cast<std::size_t>(std::ranges::count_if(
          devices, [](const Json& device) { return device["taints"].array().empty(); }))};
}

void SlicesShown::note_change() {
  ++changes_;
  changed_at_ = Clock::now();
}

std::size_t SlicesShown::devices() const {
  struct Newest {
    std::int64_t generation = -1;
    std::int64_t slices = 0;
    std::int64_t of = 0;
    std::size_t devices = 0;
  };
  std::map<std::string, Newest> pools;
  for (const auto& [name, slice] : slices_) {
    Newest& newest = pools[slice.pool];
    if (slice.generation < newest.generation) continue;
    if (slice.generation > newest.generation) newest = {.generation = slice.generation, .of = slice.of};
    ++newest.slices;
    newest.devices += slice.devices;
  }
  std::size_t devices = 0;
  for (const auto& [name, newest] : pools) {
    if (newest.slices == newest.of) devices += newest.devices;
  }
  return devices;
}

Clock::time_point SlicesShown::wait_for(std::size_t devices) {
  wait_for("the devices' ResourceSlices", [&] { return this->devices() == devices; });
  return changed_at_;
}

void SlicesShown::wait_for(const char* what, const std::function<bool()>& holds) {
  if (!test::run_until(test_.loop, holds, kPatience)) give_up(what);
}

void SlicesShown::delete_all() {
  const std::map<std::string, Slice> shown = slices_;
  for (const auto& [name, slice] : shown)
    ask({.verb = ApiVerb::kDelete, .path = std::string(kGroup) + "/resourceslices/" + name});
  wait_for("the ResourceSlices' end", [this] { return slices_.empty(); });
}

SlicesShown::Answered SlicesShown::ask(ApiRequest request) {
  std::optional<Answered> answered;
  const auto start = Clock::now();
  const auto call = client_.send(std::move(request), [&](ApiAnswer answer) {
    answered = {.answer = std::move(answer), .ms = ms_between(start, Clock::now())};
  });
  wait_for("an answer of the API server", [&] { return answered.has_value(); });
  return *answered;
}

void SlicesShown::create(const std::string& collection, const Json& object) {
  const ApiAnswer answer = ask({.verb = ApiVerb::kCreate, .path = collection, .body = object.dump()}).answer;
  if (!answer.ok() && answer.code != ApiAnswer::kConflict) throw std::runtime_error(answer.trouble);
}

}  // namespace plughost::bench
