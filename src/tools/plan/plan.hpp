#pragma once
// What a configuration gives on nodes that were recorded, and what another one would change there. Values;
// nothing here looks at this machine, and a look in memory does not block.

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"
#include "host/hardware/recorded_machine.hpp"

namespace plughost {

inline constexpr int kFactsVersion = 1;
// The content of a greater file is not recorded.
inline constexpr std::size_t kMostRecordedText = 4096;

struct Facts {
  std::string node;      // how it is called in tables
  std::string recorded;  // when: "2026-01-31T12:00:00Z"
  std::shared_ptr<const RecordedMachine> machine;
};

// The text is no facts, or those of another version. what() is a sentence without the file's name, with line
// and column where the text is no JSON.
struct FactsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Facts read_facts(std::string_view text);

// What read_facts reads, on one line. What is not UTF-8 in names is replaced.
std::string text_of(const Facts& facts);

// What a node would offer of a resource.
struct PlannedResource {
  struct Device {
    unsigned replicas = 1;
    std::string error;  // why it is Unhealthy; empty: it is Healthy

    bool operator==(const Device&) const = default;
  };
  std::map<std::string, Device> devices;  // by id
  bool unknown = false;                   // a program lists them, which nobody runs here
  // How many the scheduler sees, replicas included.
  std::size_t count() const;
  std::size_t healthy() const;

  bool operator==(const PlannedResource&) const = default;
};

// What a configuration makes of a node.
struct PlannedNode {
  std::map<std::string, PlannedResource> resources;
  std::vector<NotHere> others;      // entries that do not apply
  std::vector<std::string> errors;  // what `plughost discover` would fail with there
  std::vector<std::string> remarks;
};

PlannedNode plan(const Config& config, const Facts& facts);

struct PlannedChange {
  std::string resource;
  const PlannedResource* before = nullptr;  // nullptr: it is not offered
  const PlannedResource* after = nullptr;   // likewise
  std::vector<std::string> added;           // ids
  std::vector<std::string> removed;
  std::vector<std::string> changed;  // with other replicas, or another health
};

// The resources that differ, by name. Both outlive the result.
std::vector<PlannedChange> changes_between(const PlannedNode& before, const PlannedNode& after);

}  // namespace plughost
