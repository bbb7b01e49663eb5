// Compares what each file of plugins.d finds on each simulated node with tests/machines/presets.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "places.hpp"
#include "tools/plan/recording.hpp"
#include "tools/survey/survey.hpp"
#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"
#include "unit/tools/plan/made_machines.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;
using Machines = std::map<std::string, Facts>;

const fs::path kPresets = test::in_source("/plugins.d");
const fs::path kPage = test::in_source("/docs/fleet.md");
const fs::path kExpected = test::in_source("/tests/machines");
const fs::path kFound = test::kFoundOnMachines;

// Returns a line such as "sound/card pci-0 ×10 numa 1: /dev/snd/controlC0", and the device's error.
std::string line_of(const std::string& resource, const Device& device) {
  std::string line = resource + ' ' + device.id;
  if (device.replicas > 1) line += " ×" + std::to_string(device.replicas);
  if (!device.numa_nodes.empty()) line += " numa " + joined(device.numa_nodes, ",");
  line += ':';
  for (const DeviceNode& node : device.nodes) line += ' ' + node.host_path;
  if (!device.healthy()) line += " (" + device.error + ')';
  return line;
}

Lines found_by(const Config& preset, const Facts& machine) {
  Lines lines;
  const Survey found = survey(preset, HostRoot(machine.machine));
  for (const ResourceSnapshot& snapshot : found.snapshots) {
    for (const Device& device : snapshot.inventory.devices())
      lines.push_back(line_of(snapshot.resource, device));
  }
  for (const std::string& remark : found.remarks) lines.push_back("note: " + remark);
  // An error begins with its position in the file, which is left out.
  for (const std::string& error : found.errors)
    lines.push_back("error: " + error.substr(error.find(": ") + 2));
  for (const NotHere& other : found.others) lines.push_back("not here: " + other.name);
  return lines;
}

// Returns what a preset finds, in groups of machines on which it finds the same.
std::string section_of(const std::string& name, const Config& preset, const Machines& machines) {
  std::map<Lines, Lines> where;
  for (const auto& [machine, facts] : machines) {
    Lines lines = found_by(preset, facts);
    if (!lines.empty()) where[std::move(lines)].push_back(machine);
  }
  std::map<Lines, Lines> by_machines;
  for (auto& [lines, on] : where) by_machines.emplace(on, lines);
  std::string text = name + (where.empty() ? ": nothing\n" : "\n");
  for (const auto& [on, lines] : by_machines) {
    text += "  on " + (on.size() == machines.size() ? "every machine" : joined(on, ", ")) + '\n';
    for (const std::string& line : lines) text += "    " + line + '\n';
  }
  return text;
}

std::map<std::string, Config> presets() {
  std::map<std::string, Config> all;
  for (const auto& entry : fs::directory_iterator(kPresets))
    all.emplace(entry.path().stem(), load_config(entry.path()));
  return all;
}

// Compares what was found with a file of tests/machines, and writes it to kFound for inspection.
void check_found(const std::string& found, const std::string& file) {
  const fs::path expected = kExpected / file;
  fs::create_directories(kFound);
  std::ofstream(kFound / file) << found;
  INFO("diff " << expected.string() << " " << (kFound / file).string()
               << " shows what differs; if it is right, copy it there");
  CHECK((found == test::content(expected)));
}

TEST_CASE("each file of plugins.d finds on each made machine what presets.txt has") {
  const Machines machines = test::made_machines();
  CHECK(machines.size() >= 12);
  std::string found;
  for (const auto& [name, preset] : presets()) found += section_of(name, preset, machines) + '\n';
  check_found(found, "presets.txt");
}

TEST_CASE("the file in docs/fleet.md finds on each made machine what fleet.txt has") {
  const std::string page = test::content(kPage);
  const std::string fence = "```yaml fleet.yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const test::TempDir dir;
  dir.file("fleet.yaml", page.substr(begin, page.find("```", begin) - begin));
  check_found(section_of("fleet.yaml", load_config(dir.at("fleet.yaml")), test::made_machines()),
              "fleet.txt");
}

// The presets whose devices are recorded only on a node whose configuration names them: users' own files, and
// devices that come and go with pods.
const std::set<std::string> kNotRecorded{"gopher", "loop"};

TEST_CASE("each file of plugins.d finds the same on a machine and on its recorded facts") {
  const std::map<std::string, Config> all = presets();
  for (const auto& [machine, facts] : test::made_machines()) {
    const HostRoot host(facts.machine);
    const Recording again =
        record(host, {.config = nullptr, .paths = {}, .now = facts.recorded, .nvml = facts.machine->nvml});
    CHECK(again.remarks.empty());
    CHECK(again.facts.node == facts.node);
    for (const auto& [preset, config] : all) {
      if (kNotRecorded.contains(preset)) continue;
      const std::string where = preset + " on " + machine;
      CAPTURE(where);
      CHECK(joined(found_by(config, again.facts), "\n") == joined(found_by(config, facts), "\n"));
    }
  }
}

}  // namespace
}  // namespace plughost
