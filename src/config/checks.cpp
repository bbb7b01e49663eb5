#include "config/checks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/system/files.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

// Reports settings that differ between entries of one name, because these entries form one resource.
void check_parts(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, const EntryDraft*> first;
  for (const EntryDraft& entry : entries) {
    const std::string& name = entry.config.spec->name.text();
    if (name.empty() || !entry.sound) continue;
    const auto [other, is_new] = first.try_emplace(name, &entry);
    if (is_new || may_exclude_each_other(entry, *other->second)) continue;
    const std::string_view key = disagreement(*other->second->config.spec, *entry.config.spec);
    if (key.empty()) continue;
    diagnostics.error(mark_of(entry, key), entry.path + '.' + std::string(key),
                      named(*other->second) + " has the same name, so that the two are one resource, and `" +
                          std::string(key) +
                          (key == "assume" ? "` goes with a single entry; "
                                           : "` is set for the whole entry; set the same in both, or ") +
                          "give this one a name of its own");
  }
}

// The resources that are known without a scan, with their entries.
class KnownResources {
 public:
  explicit KnownResources(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void add(const EntryDraft& entry) {
    const AllocationSpec& spec = *entry.config.spec;
    if (!spec.name.literal()) return;
    add(entry, spec.name.text());
    const bool shared = spec.rename_shared && (spec.replicas > 1 || !spec.replicas_of.empty());
    if (shared) add(entry, spec.name.text() + ".shared");
  }

  void add(const EntryDraft& entry, const std::string& resource) {
    const auto [owner, is_new] = owners_.try_emplace(resource, &entry);
    if (is_new || owner->second == &entry || may_exclude_each_other(entry, *owner->second)) return;
    if (is_same_resource(entry, *owner->second)) return;
    diagnostics_.error(mark_of(entry, "name"), entry.path + ".name",
                       "a resource of this entry is " + quote(resource) + ", which is one of " +
                           named(*owner->second) + " already; each resource needs one entry");
  }

 private:
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, const EntryDraft*> owners_;
};

void check_neighbours(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  for (const EntryDraft& entry : entries) names.push_back(entry.config.spec->name.text());
  for (const EntryDraft& entry : entries) {
    const std::string& near = entry.config.spec->near;
    const bool own = near == entry.config.spec->name.text();
    if (near.empty() || (!own && std::ranges::find(names, near) != names.end())) continue;
    diagnostics.error(mark_of(entry, "near"), entry.path + ".near",
                      own ? "an entry cannot be near itself; name a different entry"
                          : "there is no entry named " + quote(near) + did_you_mean(near, names));
  }
}

// Reports a `sameCard` of an entry whose `near` names an entry without `sameCard`: the kubelet may request
// either resource first, and the second resource must then give the same card.
void check_joined(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  for (const EntryDraft& entry : entries) {
    const AllocationSpec& spec = *entry.config.spec;
    if (!spec.same_card) continue;
    for (const EntryDraft& other : entries) {
      const AllocationSpec& its = *other.config.spec;
      if (its.name.text() != spec.near || its.same_card || &other == &entry) continue;
      diagnostics.error(mark_of(entry, "sameCard"), entry.path + ".sameCard",
                        named(other) +
                            " must set it, too, because the kubelet may request either first; "
                            "put `near: " +
                            spec.name.text() + "` and `sameCard: true` into it");
    }
  }
}

// The ids that are known when the configuration is loaded.
class FixedIds {
 public:
  FixedIds(KnownResources& resources, Diagnostics& diagnostics)
      : resources_(resources), diagnostics_(diagnostics) {}

  void add(const EntryDraft& entry) {
    const ResourceConfig& config = entry.config;
    std::vector<Device> devices = config.source->fixed_devices();
    if (devices.empty()) return;
    const std::size_t count = devices.size();
    // A list that is too large for one message even with the shortest ids is not built, because it could have
    // a million devices.
    const std::size_t least = count * config.spec->replicas * wire_size(Device{.id = "0"});
    if (config.spec->name.literal() && least > kListLimit) return report_size(entry, count, "");
    const Assembly assembly = assemble(*config.spec, std::move(devices));
    std::size_t kept = 0;
    bool full = false;
    for (const auto& [resource, list] : assembly.resources) {
      kept += list.size();
      full = full || is_full(list);
    }
    if (kept < count && full) {
      const std::size_t fitting = kept * config.spec->replicas;
      return report_size(entry, count, ", but only about " + std::to_string(fitting) + " of them");
    }
    if (!assembly.remarks.empty()) report_remarks(entry, assembly.remarks, kept < count);
    for (const auto& [resource, list] : assembly.resources) {
      if (!config.spec->name.literal()) resources_.add(entry, resource);
      add_ids(entry, resource, list);
    }
  }

 private:
  struct Owner {
    const EntryDraft* entry;
    std::string resource;
  };

  // Returns true if one more device like the last one would make the list too large for a message.
  static bool is_full(const std::vector<Device>& devices) {
    if (devices.empty()) return false;
    const Device& last = devices.back();
    // The list is sorted by id as text, so the last id may not be the longest: the digits of a number are
    // added.
    std::size_t bytes = wire_size(last) + 10 * last.replicas;
    for (const Device& device : devices) bytes += wire_size(device);
    return bytes > kListLimit;
  }

  void report_size(const EntryDraft& entry, std::size_t count, const std::string& how_many_do) {
    const std::size_t replicas = entry.config.spec->replicas;
    diagnostics_.error(mark_of(entry, entry.kind), entry.path + '.' + entry.kind,
                       std::to_string(count * replicas) +
                           " ids do not fit into one message to the kubelet (4 MiB)" + how_many_do +
                           "; use a coarser unit" + (replicas > 1 ? ", fewer replicas" : "") +
                           " or several resources");
  }

  // The devices of one entry are alike, so one remark represents all.
  void report_remarks(const EntryDraft& entry, const std::vector<std::string>& remarks, bool left_out) {
    std::string what = (left_out ? "these devices cannot all be listed: " : "") + remarks.front();
    if (remarks.size() > 1) what += " (and so on, for others)";
    const std::string_view key = entry.document->find("id") ? "id" : std::string_view(entry.kind);
    const std::string path = entry.path + '.' + std::string(key);
    if (left_out) return diagnostics_.error(mark_of(entry, key), path, what);
    diagnostics_.warning(mark_of(entry, key), path, what);
  }

  void add_ids(const EntryDraft& entry, const std::string& resource, const std::vector<Device>& devices) {
    std::optional<std::pair<std::string, Owner>> clash;
    Inventory(devices).for_each_id([&](const std::string& id, const Device&) {
      const auto [owner, is_new] = owners_.try_emplace(id, Owner{&entry, resource});
      if (!is_new && !clash) clash.emplace(id, owner->second);
    });
    if (!clash) return;
    const bool of_another = clash->second.entry != &entry;
    if (of_another && may_exclude_each_other(entry, *clash->second.entry)) return;
    // A clash of resource names is reported elsewhere.
    const bool of_this_resource = clash->second.resource == resource;
    if (of_another && of_this_resource && !is_same_resource(entry, *clash->second.entry)) return;
    const std::string_view key = entry.document->find("id") ? "id" : std::string_view(entry.kind);
    diagnostics_.error(mark_of(entry, key), entry.path + '.' + std::string(key),
                       "the id " + quote(clash->first) + " of " + resource + " is also an id of " +
                           clash->second.resource + ", from " + named(*clash->second.entry) +
                           ", and the kubelet needs ids that are unique on the node; put " +
                           (of_this_resource ? "something that differs between the entries" : "{resource}") +
                           " into `id`");
  }

  KnownResources& resources_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, Owner> owners_;
};

// Reports labels that two entries set: Node Feature Discovery would use either of the values.
void check_labels(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  std::map<std::string, const EntryDraft*> owners;
  for (const EntryDraft& entry : entries) {
    for (std::size_t i = 0; i < entry.config.labels.size(); ++i) {
      const std::string name = label_name(entry.config.labels[i].key);
      const auto [owner, is_new] = owners.try_emplace(name, &entry);
      if (is_new) continue;
      const Node& key = entry.document->find("labels")->members[i].first;
      diagnostics.error(key.mark, entry.path + ".labels." + key.scalar,
                        "the label " + quote(name) + " stands in " + named(*owner->second) +
                            " already, and the node has one of that name");
    }
  }
}

// Reports a key of `nodeResources` that two entries set, or that is the name of a resource, whose count the
// kubelet sets: the Node could show either value.
void check_node_resources(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  std::map<std::string_view, const EntryDraft*> resources;
  for (const EntryDraft& entry : entries) {
    const Template& name = entry.config.spec->name;
    if (name.literal()) resources.emplace(name.text(), &entry);
  }
  std::map<std::string_view, const EntryDraft*> owners;
  for (const EntryDraft& entry : entries) {
    for (std::size_t i = 0; i < entry.config.node_resources.size(); ++i) {
      const std::string& name = entry.config.node_resources[i].key;
      const Node& key = entry.document->find("nodeResources")->members[i].first;
      const std::string path = entry.path + ".nodeResources." + name;
      const auto served = resources.find(name);
      if (served != resources.end())
        diagnostics.error(key.mark, path,
                          "this is the name of " + named(*served->second) +
                              ", and the kubelet counts its devices; choose a different name for the count");
      const auto [owner, is_new] = owners.try_emplace(name, &entry);
      if (is_new || may_exclude_each_other(entry, *owner->second)) continue;
      diagnostics.error(
          key.mark, path,
          named(*owner->second) +
              " counts its cards under this name already, and the node shows one number; give each "
              "its own, or leave one of them out");
    }
  }
}

}  // namespace

void check_socket_directory(const std::filesystem::path& directory, std::size_t longest_name,
                            const Mark& mark, const std::string& path, Diagnostics& diagnostics) {
  const std::size_t most = kLongestSocketPath - longest_name - 1;
  const std::size_t length = directory.native().size();
  if (length <= most) return;
  diagnostics.error(mark, path,
                    "the directory's path has " + std::to_string(length) + " bytes; at most " +
                        std::to_string(most) +
                        " leave room for the sockets in it, whose paths have at most " +
                        std::to_string(kLongestSocketPath) + " bytes (a shorter symbolic link to it helps)");
}

void check_socket(const std::filesystem::path& socket, const Mark& mark, const std::string& path,
                  Diagnostics& diagnostics) {
  const std::size_t length = socket.native().size();
  if (length <= kLongestSocketPath) return;
  diagnostics.error(mark, path,
                    "the socket's path has " + std::to_string(length) + " bytes; at most " +
                        std::to_string(kLongestSocketPath) + " fit (a shorter symbolic link to it helps)");
}

void check_entries(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  check_parts(entries, diagnostics);
  check_neighbours(entries, diagnostics);
  check_joined(entries, diagnostics);
  check_labels(entries, diagnostics);
  check_node_resources(entries, diagnostics);
  KnownResources resources(diagnostics);
  FixedIds ids(resources, diagnostics);
  for (const EntryDraft& entry : entries) {
    if (!entry.sound) continue;
    resources.add(entry);
    ids.add(entry);
  }
  check_containers(entries, diagnostics);
}

}  // namespace plughost
