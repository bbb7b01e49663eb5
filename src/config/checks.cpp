#include "config/checks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/kernel_limits.hpp"
#include "device/assembly.hpp"
#include "device/inventory.hpp"
#include "device/resource_name.hpp"

namespace plughost {
namespace {

// Where a key of an entry stands; the entry itself if it has no such key.
const Mark& mark_of(const EntryDraft& entry, std::string_view key) {
  const Node* const value = entry.document->find(key);
  return value ? value->mark : entry.document->mark;
}

std::string named(const EntryDraft& entry) {
  return entry.path + " (" + entry.config.where + ')';
}

// Which of them apply is known on a node, and there one is refused if both do.
bool may_exclude_each_other(const EntryDraft& a, const EntryDraft& b) {
  return !a.config.when.empty() && !b.config.when.empty();
}

void check_names(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, const EntryDraft*> first;
  for (const EntryDraft& entry : entries) {
    const std::string& name = entry.config.recipe->name.text();
    if (name.empty()) continue;
    const auto [other, is_new] = first.try_emplace(name, &entry);
    if (is_new || may_exclude_each_other(entry, *other->second)) continue;
    const bool one_has = !entry.config.when.empty() || !other->second->config.when.empty();
    diagnostics.error(mark_of(entry, "name"), entry.path + ".name",
                      quote(name) + " is the name of " + named(*other->second) +
                          " already; each entry needs its own" + (one_has ? ", or a `when` each" : ""));
  }
}

// The resources that are known before anybody has looked at the machine, by the entries that serve them.
class KnownResources {
 public:
  explicit KnownResources(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void add(const EntryDraft& entry) {
    const Recipe& recipe = *entry.config.recipe;
    if (!recipe.name.literal()) return;
    const auto name = recipe.name.expand([](std::string_view) { return std::nullopt; });
    add(entry, *name);
    const bool shared = recipe.rename_shared && (recipe.replicas > 1 || !recipe.replicas_of.empty());
    if (shared) add(entry, *name + ".shared");
  }

  void add(const EntryDraft& entry, const std::string& resource) {
    const auto [owner, is_new] = owners_.try_emplace(resource, &entry);
    if (is_new || owner->second == &entry || may_exclude_each_other(entry, *owner->second)) return;
    // Two entries of one name are reported as that.
    if (owner->second->config.recipe->name.text() == entry.config.recipe->name.text()) return;
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
  for (const EntryDraft& entry : entries) names.push_back(entry.config.recipe->name.text());
  for (const EntryDraft& entry : entries) {
    const std::string& near = entry.config.recipe->near;
    const bool own = near == entry.config.recipe->name.text();
    if (near.empty() || (!own && std::ranges::find(names, near) != names.end())) continue;
    diagnostics.error(mark_of(entry, "near"), entry.path + ".near",
                      own ? "an entry's devices cannot be near themselves; name another entry"
                          : "there is no entry named " + quote(near) + did_you_mean(near, names));
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
    // A list that cannot fit, however short its ids are, is not made: it could be a million devices.
    const std::size_t least = count * config.recipe->replicas * wire_size(Device{.id = "0"});
    if (config.recipe->name.literal() && least > kListLimit) return report_size(entry, count, "");
    const Assembly assembly = assemble(*config.recipe, std::move(devices));
    std::size_t kept = 0;
    bool full = false;
    for (const auto& [resource, list] : assembly.resources) {
      kept += list.size();
      full = full || is_full(list);
    }
    if (kept < count && full) {
      const std::size_t fitting = kept * config.recipe->replicas;
      return report_size(entry, count, ", but only about " + std::to_string(fitting) + " of them");
    }
    if (!assembly.remarks.empty()) report_remarks(entry, assembly.remarks, kept < count);
    for (const auto& [resource, list] : assembly.resources) {
      if (!config.recipe->name.literal()) resources_.add(entry, resource);
      add_ids(entry, resource, list);
    }
  }

 private:
  struct Owner {
    const EntryDraft* entry;
    std::string resource;
  };

  // Would one more device like the last one be too many for a message?
  static bool is_full(const std::vector<Device>& devices) {
    if (devices.empty()) return false;
    const Device& last = devices.back();
    // Ids are sorted: one that was left out can be longer than the last by the digits of a number.
    std::size_t bytes = wire_size(last) + 10 * last.replicas;
    for (const Device& device : devices) bytes += wire_size(device);
    return bytes > kListLimit;
  }

  void report_size(const EntryDraft& entry, std::size_t count, const std::string& how_many_do) {
    const std::size_t replicas = entry.config.recipe->replicas;
    diagnostics_.error(mark_of(entry, entry.kind), entry.path + '.' + entry.kind,
                       std::to_string(count * replicas) +
                           " ids do not fit into one message to the kubelet (4 MiB)" + how_many_do +
                           "; use a coarser unit" + (replicas > 1 ? ", fewer replicas" : "") +
                           " or several resources");
  }

  // The devices of one entry are alike, and so are the remarks: one of them is enough.
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
    // Two entries of one name are reported as that.
    if (!clash || (clash->second.entry != &entry && clash->second.resource == resource)) return;
    if (clash->second.entry != &entry && may_exclude_each_other(entry, *clash->second.entry)) return;
    const std::string_view key = entry.document->find("id") ? "id" : std::string_view(entry.kind);
    diagnostics_.error(
        mark_of(entry, key), entry.path + '.' + std::string(key),
        "the id " + quote(clash->first) + " of " + resource + " is also an id of " + clash->second.resource +
            ", from " + named(*clash->second.entry) +
            ", and the kubelet needs ids that are unique on the node; put {resource} into `id`");
  }

  KnownResources& resources_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, Owner> owners_;
};

// What an entry sets in a container under a key that another resource might set, too.
struct Claim {
  const EntryDraft* entry;
  std::string what;  // "environment variable"
  std::string key;   // templates, with {resource} filled in where it is known
  std::string value;
  bool varies;  // the value depends on the devices
  Mark mark;
  std::string path;
};

class Claims {
 public:
  explicit Claims(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void add(const EntryDraft& entry) {
    const Recipe& recipe = *entry.config.recipe;
    add_pairs(entry, "env", "environment variable", recipe.env);
    add_pairs(entry, "annotations", "annotation", recipe.annotations);
    for (std::size_t i = 0; i < recipe.mounts.size(); ++i) {
      const MountRecipe& mount = recipe.mounts[i];
      add_path(entry, "mounts", i, mount.container_path, mount.host_path,
               mount.read_only ? "mount, read-only" : "mount");
    }
    for (std::size_t i = 0; i < recipe.nodes.size(); ++i) {
      const NodeRecipe& node = recipe.nodes[i];
      add_path(entry, "nodes", i, node.container_path, node.host_path, "device, " + node.permissions);
    }
  }

 private:
  // The first claim of a key, and the first that differs from it.
  struct Claimants {
    Claim first;
    std::optional<Claim> other;
  };

  static Template bound(const EntryDraft& entry, const Template& pattern) {
    const Template& name = entry.config.recipe->name;
    return pattern.bind([&](std::string_view placeholder) -> std::optional<std::string> {
      const bool variable = placeholder == "resourceEnv";
      if ((placeholder != "resource" && !variable) || !name.literal()) return std::nullopt;
      const auto resource = name.expand([](std::string_view) { return std::nullopt; });
      return variable ? resource_variable(*resource) : resource;
    });
  }

  void add_pairs(const EntryDraft& entry, std::string_view field, std::string_view what,
                 const Recipe::Pairs& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Node& name = entry.document->find(field)->members[i].first;
      add_claim(entry, what, pairs[i].first, bound(entry, pairs[i].second), "", name.mark,
                entry.path + '.' + std::string(field) + '.' + name.scalar);
    }
  }

  void add_path(const EntryDraft& entry, std::string_view field, std::size_t i,
                const Template& container_path, const Template& host_path, const std::string& terms) {
    const Node& item = entry.document->find(field)->items[i];
    const Node* const value = item.find("containerPath");
    add_claim(entry, "path in the container", container_path, bound(entry, host_path), terms,
              value ? value->mark : item.mark,
              entry.path + '.' + std::string(field) + '[' + std::to_string(i) + ']');
  }

  void add_claim(const EntryDraft& entry, std::string_view what, const Template& key_pattern,
                 const Template& value, const std::string& terms, const Mark& mark, std::string path) {
    const Template key = bound(entry, key_pattern);
    // Ids and the names of resources are unique, and so is a key that has one in it.
    if (key.names("id") || key.names("resource") || key.names("resourceEnv")) return;
    Claim claim{.entry = &entry,
                .what = std::string(what),
                .key = key.text(),
                .value = value.text() + ' ' + terms,
                .varies = !value.literal(),
                .mark = mark,
                .path = std::move(path)};
    if (claim.varies && !entry.config.recipe->name.literal()) report(claim, "another resource of this entry");

    const auto [known, is_new] = claimants_.try_emplace({claim.what, claim.key}, Claimants{claim, {}});
    if (is_new) return;
    Claimants& claimants = known->second;
    if (differ(claimants.first, claim)) {
      report(claim, named(*claimants.first.entry));
      if (!claimants.other) claimants.other = std::move(claim);
    } else if (claimants.other && differ(*claimants.other, claim)) {
      report(claim, named(*claimants.other->entry));
    }
  }

  static bool differ(const Claim& a, const Claim& b) {
    return a.entry != b.entry && !may_exclude_each_other(*a.entry, *b.entry) &&
           (a.varies || b.varies || a.value != b.value);
  }

  void report(const Claim& claim, const std::string& other) {
    diagnostics_.warning(claim.mark, claim.path,
                         "the " + claim.what + ' ' + quote(claim.key) + " may get another value from " +
                             other +
                             "; a container with devices of both has either, at random; tell them apart, for "
                             "example by {resource} in the name");
  }

  Diagnostics& diagnostics_;
  std::map<std::pair<std::string, std::string>, Claimants> claimants_;
};

// NFD would take either of the values.
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
  check_names(entries, diagnostics);
  check_neighbours(entries, diagnostics);
  check_labels(entries, diagnostics);
  KnownResources resources(diagnostics);
  FixedIds ids(resources, diagnostics);
  Claims claims(diagnostics);
  for (const EntryDraft& entry : entries) {
    if (!entry.sound) continue;
    resources.add(entry);
    ids.add(entry);
    claims.add(entry);
  }
}

}  // namespace plughost
