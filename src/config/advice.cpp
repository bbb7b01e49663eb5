#include "config/advice.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/document/shapes.hpp"
#include "base/text/text.hpp"
#include "config/schema.hpp"
#include "kinds/kind.hpp"

namespace plughost {
namespace {

constexpr std::string_view kEntry = "resources[]";

// Words of other programs, or of other places, and what they are here.
struct Foreign {
  std::string_view place;  // the map's plain path
  std::string_view words;  // separated by blanks, each with a blank before and after it
  std::string_view advice;
};
constexpr Foreign kForeign[] = {
    {kEntry, " path paths hostPath devicePath device devices deviceNode ",
     "a path is in a group, as in groups: [{count: 20, paths: [{path: /dev/kvm, permissions: rw}]}], where "
     "`count` says how many containers may have each device"},
    {kEntry, " usb usbs vendor vendorID product productID serial ",
     "a USB device is in a group, as in groups: [{usb: [{vendor: \"10c4\", product: \"ea60\"}]}]; for a PCI "
     "card write pci: {vendors: [\"8086\"]}"},
    {kEntry, " selectors selector vendors deviceIDs ",
     "hardware is selected by its kind, as in pci: {vendors: [\"8086\"], devices: [\"154c\"]} or udev: "
     "{subsystem: tty}"},
    {kEntry, " volumeMounts volumes mount ",
     "mounts of the container are in `mounts`, as in mounts: [{hostPath: /etc/licence, containerPath: "
     "/etc/licence}]"},
    {kEntry, " nodeSelector nodeAffinity affinity ",
     "an entry for some nodes only has `when`, as in when: {label: {kubernetes.io/arch: amd64}}"},
    {kEntry, " permissions mode ",
     "permissions are those of a path, as in groups: [{paths: [{path: /dev/kvm, permissions: rw}]}]"},
    {kEntry, " resourceName resource ", "the resource's name is in `name`"},
    {kEntry, " timeSlicing sharing share shared mps quantity amount rdmaHcaMax ",
     "with `replicas: 4` four containers share each device"},
    {kEntry, " limits requests ",
     "a pod says how many it requests; how many containers share a device is in `replicas`"},
    {kEntry, " command program script discover ",
     "a program that lists the devices is in `exec`, as in exec: {discover: [/usr/local/bin/list, --json]}"},
    {kEntry, " discoveryHandler discoveryDetails brokerProperties brokerSpec udevRules ",
     "it is Akri's; `plughost convert FILE` converts an object of Akri's, and here devices are selected as "
     "in udev: {subsystem: video4linux}"},
    {kEntry, " environment envs envVars ", "environment variables are in `env`, as in env: {NAME: value}"},
    {"resources[].gpu", " replicas shares timeSlicing sharing count ",
     "to let four containers share each GPU write `replicas: 4` beside `gpu`"},
    {"resources[].rdma", " rdmaHcaMax replicas shares count ",
     "to let 64 containers share each card write `replicas: 64` beside `rdma`"},
    {"resources[].gpu", " memory cores ", "units of a GPU are in `unit`, as in unit: {memory: 1GiB}"},
    {"resources[].health", " periodSeconds period every ",
     "the time between two checks is in `interval`, as in interval: 30s"},
    {"resources[].health", " timeoutSeconds ",
     "the longest time of a check is in `timeout`, as in timeout: 5s"},
    {"resources[].health", " httpGet tcpSocket grpc command ",
     "a check is a program, as in exec: [/usr/local/bin/check, \"{id}\"]"},
    {"resources[].groups[].paths[]", " mode ",
     "what a container may do is in `permissions`, as in permissions: rw"},
    {"resources[].nodes[]", " mode ", "what a container may do is in `permissions`, as in permissions: rw"},
    {"resources[].groups[]", " replicas ",
     "with `count: 4` in the group four containers may have each device"},
    {"resources[].groups[]", " path hostPath ",
     "a path is an item of `paths`, as in paths: [{path: /dev/kvm}]"},
    {"resources[].groups[]", " vendor product serial ",
     "a USB device is an item of `usb`, as in usb: [{vendor: \"10c4\", product: \"ea60\"}]"},
    {"resources[].mounts[]", " mountPath path target ", "the path in the container is `containerPath`"},
    {"resources[].nodes[]", " mountPath target ", "the path in the container is `containerPath`"},
    {"resources[].nodes[]", " path ", "the path on this node is `hostPath`"},
    {"resources[].udev", " ATTR ", "udev's ATTR is in `attributes`, as in attributes: {index: \"0\"}"},
    {"resources[].udev", " ATTRS vendor product vendors ",
     "udev's ATTRS is in `attributesOfParents`, as in attributesOfParents: {idVendor: \"10c4\"}"},
    {"resources[].udev", " ENV ", "udev's ENV is in `properties`, as in properties: {ID_BUS: usb}"},
    {"resources[].udev", " SUBSYSTEM SUBSYSTEMS ", "udev's SUBSYSTEM is in `subsystem`"},
    {"resources[].udev", " KERNEL KERNELS ", "udev's KERNEL is in `name`, as in name: ttyUSB*"},
    {"resources[].udev", " TAG TAGS ", "udev's TAG is in `tags`, as in tags: [seat]"},
    {"resources[].when", " labels matchLabels matchExpressions nodeSelector ",
     "labels are in `label`, as in label: {kubernetes.io/arch: [amd64, arm64]}"},
};

// Examples of what belongs at a plain path. An item of a list has its dash.
constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
    {"resources[]", "- name: fuse"},
    {"resources[].groups[]", "- paths: [{path: /dev/kvm}]"},
    {"resources[].groups[].paths[]", "- path: /dev/kvm"},
    {"resources[].groups[].usb[]", "- {vendor: \"10c4\", product: \"ea60\"}"},
    {"resources[].gpu", "gpu: {vendor: nvidia}"},
    {"resources[].pci", "pci: {vendors: [\"8086\"], devices: [\"154c\"]}"},
    {"resources[].rdma", "rdma: {selectors: {vendors: [15b3]}}"},
    {"resources[].udev", "udev: {subsystem: tty}"},
    {"resources[].directory", "directory: {path: /etc/licences}"},
    {"resources[].exec", "exec: {discover: [/usr/local/bin/list, --json], interval: 5m}"},
    {"resources[].preStart", "preStart: {exec: [/usr/local/bin/prepare, \"{id}\"]}"},
    {"resources[].allocate", "allocate: {exec: [/usr/local/bin/allocate, \"{resource}\"]}"},
    {"resources[].health", "health: {exec: [/usr/local/bin/check, \"{id}\"]}"},
    {"resources[].health.exec[]", "exec: [/usr/local/bin/check, \"{id}\"]"},
    {"resources[].preStart.exec[]", "exec: [/usr/local/bin/prepare, \"{id}\"]"},
    {"resources[].allocate.exec[]", "exec: [/usr/local/bin/allocate, \"{resource}\"]"},
    {"resources[].mounts[]", "- {hostPath: /etc/licence, containerPath: /etc/licence}"},
    {"resources[].nodes[]", "- {hostPath: /dev/fuse}"},
    {"resources[].env", "env: {NAME: value}"},
    {"resources[].annotations", "annotations: {example.com/port: \"{id}\"}"},
    {"resources[].udev.attributes", "attributes: {type: \"280\"}"},
    {"resources[].when", "when: {label: {kubernetes.io/arch: amd64}}"},
    {"resources[].when.label", "label: {kubernetes.io/arch: amd64}"},
    {"resources[].when.dmi", "dmi: {vendor: Dell*}"},
};

std::string foreign_word(const std::string& place, const std::string& key) {
  for (const Foreign& foreign : kForeign)
    if (foreign.place == place &&
        foreign.words.find(' ' + key.substr(0, key.find('{')) + ' ') != std::string_view::npos)
      return std::string(foreign.advice);
  return {};
}

// Returns where the key belongs: "it belongs in `groups` or `gpu`"; empty if it belongs nowhere, or in so
// many maps that their names are no help.
std::string other_place(const std::string& place, const std::string& key) {
  constexpr std::size_t kMost = 3;
  const bool in_entry = place.starts_with(kEntry) && place != kEntry;
  // `name` is too common a word, and a condition's keys are its own.
  if (key == "name" || place.starts_with("resources[].when")) return {};
  for (const std::string_view chooses : {".only[]", ".except[]", ".replicas[]"})
    if (place.ends_with(chooses)) return {};  // its keys are attributes of devices
  std::vector<std::string> known = places_of(key);
  if (std::ranges::find(known, place) != known.end()) return {};  // valid beside keys that are not there
  // A map that contains this one is meant rather than others; the nearest one is the last.
  const auto above = std::ranges::find_if(known.rbegin(), known.rend(), [&](const std::string& each) {
    return place.starts_with(each) && place.size() > each.size();
  });
  if (above != known.rend()) known = {*above};
  if (known == std::vector{std::string(kEntry)})
    return place.empty() ? "it is a key of an entry: indent it under the entry's `- name:`"
                         : "it belongs in the entry, beside `name`";
  if (known == std::vector{std::string()})
    return in_entry ? "" : "it belongs at the top level of the file, not indented";
  std::vector<std::string> shown;
  for (const std::string& each : known) {
    const bool of_entry = each.starts_with(kEntry) && each != kEntry;
    if (of_entry && !place.empty() && !place.starts_with(kEntry)) return {};  // metrics: {port: 80}
    shown.push_back(
        '`' + without_brackets(of_entry && !place.empty() ? each.substr(kEntry.size() + 1) : each) + '`');
  }
  if (shown.empty() || shown.size() > kMost) return {};
  return "it belongs in " + joined(shown, " or ");
}

// Returns true if the advice says how to write devices of some kind.
bool names_kind(const std::string& advice) {
  return std::ranges::any_of(kinds(), [&](const Kind& kind) {
    const std::string key(kind.key);
    return advice.find(' ' + key + ": ") != std::string::npos ||
           advice.find(" '" + key + '\'') != std::string::npos;
  });
}

void advise_on_key(Diagnostic& error) {
  constexpr std::size_t kShortList = 24;
  const std::string place = Shapes::plain(error.path);
  std::string advice;
  if (!error.empty.empty()) {
    const std::vector<std::string> places = places_of(error.key);
    const std::string below = place + '.' + error.empty;
    if (std::ranges::any_of(places, [&](const auto& each) { return each == below || each == below + "[]"; }))
      advice = "it belongs to `" + error.empty + "` above it: indent it further";
  }
  if (advice.empty()) advice = foreign_word(place, error.key);
  // A typing error is more likely than a key of another place.
  if (advice.empty() && !error.known.empty()) advice = other_place(place, error.key);
  if (!advice.empty()) {
    error.what = "unknown key " + quote(error.key) + ": " + advice;
    error.known.clear();
  } else if (error.known.size() > kShortList) {
    const std::string path = without_brackets(place);
    const std::vector<std::string> places = places_of(error.key);
    if (std::ranges::find(places, place) != places.end())
      error.what = quote(error.key) + " does not go with the other keys here; see `plughost explain " + path +
                   '.' + error.key + '`';
    else
      error.what += "; `plughost explain" + (path.empty() ? "" : ' ' + path) + "` lists the keys";
    error.known.clear();
  }
}

// Returns the map for a path, or for Docker's "/dev/fuse:/dev/fuse:rw"; empty if the text is none of these.
std::string map_of_text(const std::string& place, const std::string& text) {
  const bool of_group = place == "resources[].groups[].paths[]";
  if (!of_group && place != "resources[].nodes[]" && place != "resources[].mounts[]") return {};
  const std::vector<std::string_view> pieces = split(text, ':');
  const std::vector<std::string> parts(pieces.begin(), pieces.end());
  if (parts.empty() || parts.size() > 3 || parts[0].find_first_of("/{") != 0) return {};
  const std::string path = parts[0][0] == '{' ? '"' + parts[0] + '"' : parts[0];
  std::string map = (of_group ? "- {path: " : "- {hostPath: ") + path;
  if (parts.size() > 1 && parts[1].starts_with('/'))
    map += (of_group ? ", mountPath: " : ", containerPath: ") + parts[1];
  const std::string mode = parts.size() > 1 && !parts.back().starts_with('/') ? parts.back() : "";
  if (place == "resources[].mounts[]")
    map += mode == "ro" ? ", readOnly: true" : "";
  else if (!mode.empty())
    map += ", permissions: " + (mode == "ro" ? "r" : mode);
  return map + '}';
}

}  // namespace

void advise(std::vector<Diagnostic>& errors) {
  std::set<std::string> advised;  // the paths of entries
  for (Diagnostic& error : errors) {
    if (error.mistake == Diagnostic::Mistake::kUnknownKey) {
      advise_on_key(error);
      if (names_kind(error.what)) advised.insert(error.path);
    }
    if (error.mistake != Diagnostic::Mistake::kNoMap && error.mistake != Diagnostic::Mistake::kNoList)
      continue;
    const std::string place =
        Shapes::plain(error.path) + (error.mistake == Diagnostic::Mistake::kNoList ? "[]" : "");
    const auto example =
        std::ranges::find(kExamples, place, &std::pair<std::string_view, std::string_view>::first);
    std::string shown = map_of_text(place, error.key);
    if (shown.empty() && example != std::end(kExamples)) shown = example->second;
    if (!shown.empty()) error.what += ", as in " + shown;
    if (place == "resources[].udev" && error.key.find("==") != std::string::npos)
      error.what +=
          "; udev's ATTR is `attributes`, ATTRS `attributesOfParents`, ENV `properties`, KERNEL `name`";
  }
  // The advice for a key of an entry without a kind says how to write that kind.
  std::erase_if(errors, [&](const Diagnostic& error) {
    return error.mistake == Diagnostic::Mistake::kNoKind && advised.contains(error.path);
  });
}

}  // namespace plughost
