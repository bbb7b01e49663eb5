#include "config/checks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/allocate/one_container.hpp"
#include "model/device/names.hpp"

namespace plughost {

const Mark& mark_of(const EntryDraft& entry, std::string_view key) {
  const Node* const value = entry.document->find(key);
  return value ? value->mark : entry.document->mark;
}

std::string named(const EntryDraft& entry) { return entry.path + " (" + entry.config.where + ')'; }

bool may_exclude_each_other(const EntryDraft& a, const EntryDraft& b) {
  return !a.config.when.empty() && !b.config.when.empty();
}

bool is_same_resource(const EntryDraft& a, const EntryDraft& b) {
  return a.config.spec->name.text() == b.config.spec->name.text();
}

bool take_the_same(const EntryDraft& one, const EntryDraft& other) {
  const Choice& choice = one.config.spec->choice;
  const Choice& its = other.config.spec->choice;
  return choice == its || choice == Choice{} || its == Choice{};
}

namespace {

// Returns " (`plughost preset disable kvm`)" if `plughost preset enable` made the link to the entry's file.
std::string disabling_command(const EntryDraft& entry) {
  const std::filesystem::path link = entry.document->mark.file.text();
  std::error_code failed;
  const std::filesystem::path preset = std::filesystem::read_symlink(link, failed);
  if (!preset.is_absolute() || preset.filename() != link.filename()) return {};
  return " (`plughost preset disable " + link.stem().string() + "`)";
}

// Replaces {resource} and {resourceEnv} if the resource's name is known.
Template bound(const EntryDraft& entry, const Template& pattern) {
  const Template& name = entry.config.spec->name;
  return pattern.bind([&](std::string_view placeholder) -> std::optional<std::string> {
    const bool variable = placeholder == "resourceEnv";
    if ((placeholder != "resource" && !variable) || !name.literal()) return std::nullopt;
    return variable ? resource_variable(name.text()) : name.text();
  });
}

// Returns true if the entry itself sets the variable, which overrides the kind's variable.
bool sets(const EntryDraft& entry, const Template& variable) {
  return std::ranges::any_of(entry.config.spec->env,
                             [&](const auto& pair) { return pair.first == variable; });
}

// Checks the variables that kinds set in a container. A container that gets a card through two resources gets
// the value of either resource.
class KindVariables {
 public:
  KindVariables(std::span<const EntryDraft> entries, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
    std::vector<const AllocationSpec*> specs;
    for (const EntryDraft& entry : entries) specs.push_back(entry.config.spec.get());
    groups_ = same_card_groups(specs);
  }

  void add(const EntryDraft& entry) {
    bool reported = false;
    for (const auto& spec : entry.config.source->specs()) {
      for (const auto& [name, value] : spec->env) {
        if (sets(entry, name)) continue;
        std::vector<Setter>& setters = setters_[name.text()];
        const Setter setter{.entry = &entry, .value = bound(entry, value)};
        const auto other =
            std::ranges::find_if(setters, [&](const Setter& each) { return clash(each, setter); });
        if (other != setters.end() && !std::exchange(reported, true)) report(*other, setter, name.text());
        setters.push_back(setter);
      }
    }
  }

 private:
  struct Setter {
    const EntryDraft* entry;
    Template value;
  };

  bool clash(const Setter& one, const Setter& other) const {
    if (is_same_resource(*one.entry, *other.entry)) return false;
    if (may_exclude_each_other(*one.entry, *other.entry)) return false;
    if (one.value == other.value && (one.value.literal() || joined(*one.entry, *other.entry))) return false;
    return take_the_same(*one.entry, *other.entry);
  }

  bool joined(const EntryDraft& one, const EntryDraft& other) const {
    const auto group = groups_.find(one.config.spec->name.text());
    const auto its = groups_.find(other.config.spec->name.text());
    if (group != groups_.end() && its != groups_.end() && group->second == its->second) return true;
    return is_to_be_joined(*one.config.spec, *other.config.spec) ||
           is_to_be_joined(*other.config.spec, *one.config.spec);
  }

  // Ignores a `sameCard` that is missing in the other entry, which check_entries() reports.
  static bool is_to_be_joined(const AllocationSpec& spec, const AllocationSpec& other) {
    return spec.same_card && spec.near == other.name.text();
  }

  void report(const Setter& other, const Setter& setter, const std::string& variable) {
    const EntryDraft& entry = *setter.entry;
    diagnostics_.error(
        mark_of(entry, entry.kind), entry.path + '.' + entry.kind,
        "its devices and those of " + named(*other.entry) +
            " are the same cards, and each sets the variable " + quote(variable) +
            ", of which a container with devices of both gets one value; leave out this entry" +
            disabling_command(entry) + " or the other" + disabling_command(*other.entry) + ", or " +
            (setter.value == other.value ? "join both by `near` and `sameCard: true`, or " : "") +
            "separate the cards by `only`, or set the variable in `env`");
  }

  Diagnostics& diagnostics_;
  std::map<std::string, std::size_t> groups_;
  std::map<std::string, std::vector<Setter>> setters_;
};

// A key that an entry sets in a container and that another resource might set as well.
struct ContainerSetting {
  const EntryDraft* entry;
  std::string what;  // "environment variable"
  std::string key;   // templates, with {resource} replaced where it is known
  std::string value;
  bool varies;   // the value depends on the devices
  bool of_kind;  // set by the kind, not by the entry
  Mark mark;
  std::string path;
};

class ContainerSettings {
 public:
  explicit ContainerSettings(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void add(const EntryDraft& entry) {
    const AllocationSpec& spec = *entry.config.spec;
    add_pairs(entry, "env", "environment variable", spec.env);
    add_pairs(entry, "annotations", "annotation", spec.annotations);
    for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
      const MountSpec& mount = spec.mounts[i];
      add_path(entry, "mounts", i, mount.container_path, mount.host_path,
               mount.read_only ? "mount, read-only" : "mount");
    }
    for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
      const NodeSpec& node = spec.nodes[i];
      add_path(entry, "nodes", i, node.container_path, node.host_path, "device, " + node.permissions);
    }
    for (const auto& brought : entry.config.source->specs()) {
      for (const auto& [name, value] : brought->env) {
        if (!sets(entry, name))
          add_setting(entry, "environment variable", name, bound(entry, value), "",
                      mark_of(entry, entry.kind), entry.path + '.' + entry.kind, true);
      }
    }
  }

 private:
  // The first setting of a key, and the first setting that differs from it.
  struct Setters {
    ContainerSetting first;
    std::optional<ContainerSetting> other;
  };

  void add_pairs(const EntryDraft& entry, std::string_view field, std::string_view what,
                 const AllocationSpec::Pairs& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Node& name = entry.document->find(field)->members[i].first;
      add_setting(entry, what, pairs[i].first, bound(entry, pairs[i].second), "", name.mark,
                  entry.path + '.' + std::string(field) + '.' + name.scalar);
    }
  }

  void add_path(const EntryDraft& entry, std::string_view field, std::size_t i,
                const Template& container_path, const Template& host_path, const std::string& terms) {
    const Node& item = entry.document->find(field)->items[i];
    const Node* const value = item.find("containerPath");
    add_setting(entry, "path in the container", container_path, bound(entry, host_path), terms,
                value ? value->mark : item.mark,
                entry.path + '.' + std::string(field) + '[' + std::to_string(i) + ']');
  }

  void add_setting(const EntryDraft& entry, std::string_view what, const Template& key_pattern,
                   const Template& value, const std::string& terms, const Mark& mark, std::string path,
                   bool of_kind = false) {
    const Template key = bound(entry, key_pattern);
    // Ids and resource names are unique, so a key with one of them is unique as well.
    if (key.names("id") || key.names("resource") || key.names("resourceEnv")) return;
    ContainerSetting setting{.entry = &entry,
                             .what = std::string(what),
                             .key = key.text(),
                             .value = value.text() + ' ' + terms,
                             .varies = !value.literal(),
                             .of_kind = of_kind,
                             .mark = mark,
                             .path = std::move(path)};
    if (setting.varies && !of_kind && !entry.config.spec->name.literal())
      report(setting, "another resource of this entry");

    const auto [known, is_new] = setters_.try_emplace({setting.what, setting.key}, Setters{setting, {}});
    if (is_new) return;
    Setters& setters = known->second;
    if (differ(setters.first, setting)) {
      report(setting, named(*setters.first.entry));
      if (!setters.other) setters.other = std::move(setting);
    } else if (setters.other && differ(*setters.other, setting)) {
      report(setting, named(*setters.other->entry));
    }
  }

  // Settings of one resource need no report, because an Allocate that needs two values is refused.
  static bool differ(const ContainerSetting& a, const ContainerSetting& b) {
    const bool both_of_kinds = a.of_kind && b.of_kind;  // see KindVariables
    return !is_same_resource(*a.entry, *b.entry) && !both_of_kinds &&
           !may_exclude_each_other(*a.entry, *b.entry) && (a.varies || b.varies || a.value != b.value);
  }

  void report(const ContainerSetting& setting, const std::string& other) {
    diagnostics_.warning(setting.mark, setting.path,
                         "the " + setting.what + ' ' + quote(setting.key) +
                             " may get a different value from " + other +
                             "; a container with devices of both has either, at random; tell them apart, for "
                             "example by {resource} in the name");
  }

  Diagnostics& diagnostics_;
  std::map<std::pair<std::string, std::string>, Setters> setters_;
};

}  // namespace

void check_containers(std::span<const EntryDraft> entries, Diagnostics& diagnostics) {
  KindVariables variables(entries, diagnostics);
  ContainerSettings settings(diagnostics);
  for (const EntryDraft& entry : entries) {
    if (!entry.sound) continue;
    variables.add(entry);
    settings.add(entry);
  }
}

}  // namespace plughost
