// Akri: a Configuration whose discovery handler is udev.

#include <algorithm>
#include <map>
#include <utility>

#include "base/document/yaml.hpp"
#include "base/text/template.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "tools/convert/converters/converter.hpp"
#include "tools/convert/converters/globs.hpp"

namespace plughost {
namespace {

// One `KEY{attribute}=="value"` of a rule.
struct Match {
  std::string key;
  std::string attribute;
  std::string operation;
  std::string value;
};

// Returns nullopt unless the rule is a list of matches.
std::optional<std::vector<Match>> matches_of(std::string_view rule) {
  std::vector<Match> all;
  while (!rule.empty()) {
    rule.remove_prefix(std::min(rule.find_first_not_of(" \t\n,"), rule.size()));
    if (rule.empty()) break;
    Match match;
    const std::size_t key = std::min(rule.find_first_of("{=!"), rule.size());
    match.key = rule.substr(0, key);
    rule.remove_prefix(key);
    if (rule.starts_with('{')) {
      const std::size_t end = rule.find('}');
      if (end == std::string_view::npos) return std::nullopt;
      match.attribute = rule.substr(1, end - 1);
      rule.remove_prefix(end + 1);
    }
    rule.remove_prefix(std::min(rule.find_first_not_of(" \t"), rule.size()));
    const std::size_t quoted = rule.find('"');
    if (quoted == std::string_view::npos) return std::nullopt;
    match.operation = rule.substr(0, quoted);
    while (match.operation.ends_with(' ')) match.operation.pop_back();
    const std::size_t end = rule.find('"', quoted + 1);
    if (end == std::string_view::npos || (match.operation != "==" && match.operation != "!="))
      return std::nullopt;
    match.value = rule.substr(quoted + 1, end - quoted - 1);
    rule.remove_prefix(end + 1);
    all.push_back(std::move(match));
  }
  return all.empty() ? std::nullopt : std::optional(all);
}

using Rule = std::vector<Match>;

// Akri passes some keys to libudev's enumeration, which accepts patterns, and matches the others itself as
// regular expressions of the whole text.
bool is_regex(const Match& match) {
  if (match.operation == "!=") return match.key == "KERNEL" || match.key == "TAG" || match.key == "ENV";
  return match.key == "DRIVER" || match.key.ends_with('S');
}

// Returns the match's values as patterns; nullopt if no patterns are equivalent.
std::optional<std::vector<std::string>> patterns_of(const Match& match) {
  if (!is_regex(match)) return std::vector{match.value};
  const auto globs = globs_of("^(" + match.value + ")$", 0);
  return globs && !globs->bounded && !globs->cut ? std::optional(globs->patterns) : std::nullopt;
}

// libudev's enumeration accepts a device if any match with this key fits.
bool is_one_of_several(const Match& match) {
  return match.operation == "==" && (match.key == "KERNEL" || match.key == "SUBSYSTEM" || match.key == "ENV");
}

std::string text_of(const Match& match) {
  return match.key + (match.attribute.empty() ? "" : '{' + match.attribute + '}') + match.operation +
         quote(match.value);
}

// Splits the rule into rules with one pattern per match, and with one match where Akri accepts any of
// several. If this is impossible, `error` is set to the reason.
std::vector<Rule> alternatives_of(const Rule& rule, std::string& error) {
  std::vector<Rule> all(1);
  std::map<std::string, std::vector<Match>> choices;
  for (const Match& match : rule) {
    const auto patterns = patterns_of(match);
    if (!patterns) {
      error = "Its rule has " + text_of(match) + ", a regular expression that no pattern can express.";
      return all;
    }
    const bool any = match.operation == "==";
    const std::string choice = is_one_of_several(match) ? match.key : text_of(match);
    for (const std::string& pattern : *patterns) {
      Match one = match;
      one.value = pattern;
      if (any)
        choices[choice].push_back(std::move(one));
      else
        all.front().push_back(std::move(one));
    }
  }
  for (const auto& [key, matches] : choices) {
    std::vector<Rule> with_choice;
    for (const Rule& each : all) {
      for (const Match& match : matches) {
        with_choice.push_back(each);
        with_choice.back().push_back(match);
      }
    }
    all = std::move(with_choice);
  }
  return all;
}

// Returns the subsystem that a kernel name implies. A rule may omit it; an entry of plughost requires it.
std::string subsystem_of(std::string_view kernel_name) {
  static constexpr Word<const char*> kSubsystems[] = {
      {"video", "video4linux"}, {"media", "media"},   {"hidraw", "hidraw"}, {"i2c-", "i2c-dev"},
      {"gpiochip", "gpio"},     {"spidev", "spidev"}, {"event", "input"},   {"nvme", "block"},
      {"renderD", "drm"},       {"card", "drm"},      {"tty", "tty"},       {"sd", "block"},
      {"loop", "block"},        {"nbd", "block"},     {"snd", "sound"},     {"pcmC", "sound"},
      {"controlC", "sound"},    {"null", "mem"},      {"zero", "mem"},      {"full", "mem"},
      {"random", "mem"},        {"urandom", "mem"}};
  const auto* const found =
      std::ranges::find_if(kSubsystems, [&](const auto& each) { return kernel_name.starts_with(each.word); });
  return found == std::end(kSubsystems) ? "" : found->value;
}

struct Udev {
  YamlDraft draft = YamlDraft::map();
  YamlDraft only = YamlDraft::flow_map();
  YamlDraft except = YamlDraft::list();
  std::string error;  // why the rule cannot be kept; empty: it can
};

constexpr Word<std::string_view> kOfUsb[] = {
    {"idVendor", "vendor"}, {"idProduct", "product"}, {"serial", "serial"}};

// Returns the attribute of `only` and `except` for the match; empty if there is no such attribute. ATTR has
// attributes for USB devices only.
std::string_view attribute_of(const Match& match, std::string_view subsystem) {
  static constexpr Word<std::string_view> kKeys[] = {{"KERNEL", "name"}, {"DRIVER", "driver"}};
  if (match.key == "ATTR" && subsystem == "usb") return value_of(kOfUsb, match.attribute).value_or("");
  return value_of(kKeys, match.key).value_or("");
}

std::string subsystem_of(const std::vector<Match>& matches) {
  std::string by_name;
  bool of_usb = false;
  for (const Match& match : matches) {
    const bool says = match.operation == "==";
    if (says && match.key == "SUBSYSTEM") return match.value;
    if (says && match.key == "KERNEL") by_name = subsystem_of(match.value);
    // Only USB devices have this attribute themselves.
    of_usb = of_usb || (match.key == "ATTR" && match.attribute == "idVendor");
  }
  return by_name.empty() && of_usb ? "usb" : by_name;
}

Udev udev_of(const std::vector<Match>& matches) {
  static constexpr Word<const char*> kMaps[] = {
      {"ENV", "properties"}, {"ATTR", "attributes"}, {"ATTRS", "attributesOfParents"}};
  Udev udev;
  const std::string subsystem = subsystem_of(matches);
  std::string name;
  std::map<std::string_view, YamlDraft> maps;
  std::vector<std::string> tags;
  for (const Match& match : matches) {
    const std::string whole = text_of(match);
    const std::string attribute(attribute_of(match, subsystem));
    if (match.value.find('|') != std::string::npos)
      udev.error = "Its rule has " + whole + ", and `|` is no `or` there: theirs finds no such device.";
    else if (match.operation == "!=" && !attribute.empty())
      udev.except.add(YamlDraft::flow_map({{attribute, match.value}}));
    else if (match.operation == "!=")
      udev.error = "Its rule has " + whole + ", and `except` has no word for that.";
    else if (match.key == "SUBSYSTEM")
      continue;
    else if (match.key == "KERNEL")
      name = match.value;
    else if (match.key == "DRIVER")
      udev.only.add(attribute, match.value);
    else if (match.key == "TAG")
      tags.push_back(match.value);
    else if (const auto map = value_of(kMaps, match.key))
      maps.try_emplace(*map, YamlDraft::map()).first->second.add(match.attribute, match.value);
    else
      udev.error = "Its rule has " + quote(match.key) + ", which has no counterpart.";
  }
  if (subsystem.empty() && udev.error.empty())
    udev.error =
        "No SUBSYSTEM== says which devices these are, and an entry of plughost's needs it, except where "
        "`groupRecursive` and no more than idVendor, idProduct and serial of ATTRS name a USB device.";
  udev.draft.add("subsystem", subsystem.empty() ? "?" : subsystem);
  if (!name.empty()) udev.draft.add("name", name);
  for (const auto& [key, ours] : kMaps) {
    if (const auto map = maps.find(ours); map != maps.end()) udev.draft.add(ours, std::move(map->second));
  }
  if (!tags.empty()) udev.draft.add("tags", tags);
  return udev;
}

// Returns the `groups` of the USB device whose nodes `groupRecursive` combines: a rule of ATTRS alone matches
// the device and everything below it. Empty if `usb` has no key for a match, or if a match has a pattern.
YamlDraft groups_of(const Rule& rule, const std::string& permissions) {
  std::map<std::string_view, std::string> said;
  for (const Match& match : rule) {
    if (match.operation == "==" && match.key == "SUBSYSTEMS" && match.value == "usb") continue;
    const bool is_attribute = match.operation == "==" && match.key == "ATTRS";
    const auto word = is_attribute ? value_of(kOfUsb, match.attribute) : std::nullopt;
    const bool plain = word == "serial" ? match.value.find_first_of("*?[\\|") == std::string::npos
                                        : hardware_id(match.value) == match.value;
    if (!word || !plain || !said.emplace(*word, match.value).second) return YamlDraft::list();
  }
  if (!said.contains("vendor")) return YamlDraft::list();
  YamlDraft usb = YamlDraft::map();
  for (const auto& [theirs, ours] : kOfUsb)
    if (const auto value = said.find(ours); value != said.end()) usb.add(std::string(ours), value->second);
  usb.add("nodes", std::vector<std::string>{"usb", "tty"}).notes = {
      doubt("Theirs gives all nodes of the USB device; name here those that it has, such as hidraw.")};
  usb.add("permissions", permissions);
  return YamlDraft::list({YamlDraft::map({{"usb", YamlDraft::list({std::move(usb)})}})});
}

// Adds the rule as `udev`, or as a comment if it cannot be kept. `error` is the reason, if one is known.
void add_udev(const Rule& rule, const std::string& error, const std::string& permissions, YamlDraft& entry) {
  Udev one = udev_of(rule);
  if (!error.empty()) one.error = error;
  if (!one.error.empty()) {
    entry.disabled = true;
    entry.notes.emplace_back("This cannot be kept.");
    entry.notes.push_back(loss(one.error));
  }
  one.draft.add("permissions", permissions);
  entry.add("udev", std::move(one.draft));
  if (!one.only.empty()) entry.add("only", std::move(one.only));
  if (!one.except.empty()) entry.add("except", std::move(one.except));
}

// Returns the handler's settings. `discoveryDetails` is a text in an object, and a map in values of the
// chart; before 0.1, `protocol` had the settings.
std::optional<Node> details_of(LenientFields& spec, Reading& diagnostics) {
  if (const Node* const details = spec.node("discoveryDetails")) return *details;
  if (const Node* const handler = spec.node("discoveryHandler")) {
    LenientFields fields(*handler, spec.path_of("discoveryHandler"), diagnostics);
    const std::string name = fields.text("name").value_or("");
    if (name != "udev") {
      fields.error(*handler, "name",
                   "the discovery handler is " + quote(name) + "; plughost has a counterpart for udev only");
      return std::nullopt;
    }
    const auto text = fields.text("discoveryDetails");
    if (!text) return std::nullopt;
    return parse_yaml(*text, handler->mark.file.text() + " (" + fields.path_of("discoveryDetails") + ')',
                      diagnostics);
  }
  const Node& protocol = or_nothing(spec.node("protocol"));
  if (const Node* const udev = protocol.find("udev")) return *udev;
  const Node& text = at(at(protocol, "discoveryDetails"), "protocolHandler");
  if (text_at(protocol, "name") != "udev" || text.scalar.empty()) return std::nullopt;
  return parse_yaml(text.scalar, text.mark.file.text() + " (protocolHandler)", diagnostics);
}

}  // namespace

void convert_akri(const Node& root, Arguments&, ConfigDraft& draft, Reading& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  const bool of_chart = !root.find("spec");
  LenientFields metadata(at(root, "metadata"), "metadata", diagnostics);
  LenientFields spec(of_chart ? root : at(root, "spec"), of_chart ? "" : "spec", diagnostics);
  const std::string name = of_chart ? spec.text("name").value_or("akri-udev") : metadata.require_text("name");
  const auto details = root.find("udevRules") ? std::optional(root) : details_of(spec, diagnostics);
  if (!details) {
    if (diagnostics.error_count() == errors)
      diagnostics.error(root.mark, "spec",
                        "it has no rules of udev: neither `discoveryHandler` nor `protocol` has them");
    return;
  }
  LenientFields udev(*details, "discoveryDetails", diagnostics);
  const std::vector<std::string> rules = udev.texts("udevRules");
  if (rules.empty()) diagnostics.error(root.mark, "udevRules", "there is no rule in it");
  const bool grouped = udev.flag("groupRecursive").value_or(false);
  bool ungrouped = false;  // some entry's devices would have been combined by `groupRecursive`
  draft.names_join = true;
  const std::string permissions = udev.text("permissions").value_or("rwm");
  const unsigned capacity = spec.number("capacity").value_or(1);
  const std::vector<Node::Member>& properties = or_nothing(spec.node("brokerProperties")).members;
  for (const std::string& text : rules) {
    const auto rule = matches_of(text);
    std::string error = rule ? "" : "It is no rule of udev's, or one that Akri does not take.";
    std::string note = "udevRules: " + text;
    for (const Rule& alternative : alternatives_of(rule.value_or(Rule()), error)) {
      YamlDraft& entry = draft.resources.add(YamlDraft::map({{"name", literal_name("akri.sh", name)}}));
      if (!note.empty()) entry.notes.emplace_back(std::exchange(note, {}));
      YamlDraft groups = grouped ? groups_of(alternative, permissions) : YamlDraft::list();
      const bool is_usb = !groups.empty();
      ungrouped = ungrouped || !is_usb;
      if (is_usb)
        entry.add("groups", std::move(groups));
      else
        add_udev(error.empty() ? alternative : Rule(), error, permissions, entry);
      if (capacity > 1) entry.add("replicas", sharing_draft(capacity));
      YamlDraft& env =
          entry.add("env", YamlDraft::map({{is_usb ? "UDEV_DEVNODE_0" : "UDEV_DEVNODE", "{path}"}}));
      if (!is_usb) env.add("UDEV_DEVPATH", "{devpath}");
      if (is_usb) env.notes = {loss("UDEV_DEVPATH, and UDEV_DEVNODE_ of the other nodes, are left out.")};
      for (const auto& [variable, value] : properties)
        env.add(variable.scalar, Template::escape(value.scalar));
    }
  }
  if (grouped && ungrouped)
    draft.notes.push_back(
        loss("`groupRecursive`, which makes one device of those that are children of another, is left out: "
             "`groups: [{usb: [{..., nodes: [tty, video4linux]}]}]` gives a USB device's nodes together."));
  std::vector<std::string> parts;
  for (const char* key : {"brokerSpec", "brokerPodSpec", "instanceServiceSpec", "configurationServiceSpec"}) {
    if (spec.node(key)) parts.push_back('`' + std::string(key) + '`');
  }
  if (!text_at(at(at(root, "brokerPod"), "image"), "repository").empty()) parts.emplace_back("`brokerPod`");
  if (!parts.empty())
    draft.notes.push_back(doubt(
        "Left out, because plughost starts no pods and makes no services: " + joined(parts, ", ") + '.'));
  spec.node("properties");
  if (!of_chart) {  // the chart's further values are for its own pods
    add_notes(draft.notes, udev.notes());
    add_notes(draft.notes, spec.notes());
  }
  if (permissions == "rwm")
    draft.notes.emplace_back(
        "`permissions: rwm` is what Akri gives; `rw` is enough unless a container makes device nodes.");
  draft.notes.emplace_back(
      "akri.sh/" + name + " is what Akri calls all of its devices together; akri.sh/" + name +
      "-<id>, one for each device, is not offered, and neither are the variables that Akri names after one.");
}

}  // namespace plughost
