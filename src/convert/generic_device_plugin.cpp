// generic-device-plugin: `domain`, `devices` or `device`, and the flags that say the same.

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "config/yaml.hpp"
#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"
#include "device/template.hpp"

namespace plughost {
namespace {

constexpr std::string_view kDefaultDomain = "squat.ai";
constexpr const char* kDefaultPermissions = "mrw";
constexpr std::array<std::string_view, 2> kGenericFlags = {"device", "domain"};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Go's YAML reads an id without quotes as a number, unless it has a letter.
bool was_a_number(const Node& id) {
  const std::string& text = id.scalar;
  return !id.quoted && text.size() > 1 && is_digits(text);
}

void add_usb_id(LenientFields& usb, const char* key, YamlDraft& draft) {
  const Node* const node = usb.node(key);
  const auto text = usb.text(key);
  if (!node || !text || text->empty()) return;
  const std::string id = hardware_id(*text);
  if (id.empty())
    usb.error(*node, key, quote(*text) + " is no id of hardware; it has four hexadecimal digits");
  YamlDraft value = YamlDraft::text(id);
  if (was_a_number(*node))
    value.notes.push_back("Theirs read " + *text + ", without quotes, as a decimal or octal number; " +
                          "this is the hexadecimal one, as lsusb prints it.");
  draft.add(key, std::move(value));
}

YamlDraft usb_draft(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  LenientFields usb(node, path, diagnostics);
  YamlDraft draft = YamlDraft::map();
  add_usb_id(usb, "vendor", draft);
  add_usb_id(usb, "product", draft);
  if (const auto serial = usb.text("serial"); serial && !serial->empty())
    draft.add("serial", YamlDraft::text(*serial));
  if (draft.empty()) diagnostics.error(node.mark, path, "neither a vendor, a product nor a serial number");
  add_notes(draft.notes, usb.notes());
  return draft;
}

// The terms of a path that count for its type.
void add_type(LenientFields& path, YamlDraft& draft) {
  const Node* const node = path.node("type");
  const std::string type = path.text("type").value_or("Device");
  const auto permissions = path.text("permissions");
  const bool read_only = path.flag("readOnly").value_or(false);
  if (type == "Mount") {
    draft.add("type", YamlDraft::text(type));
    if (read_only) draft.add("readOnly", YamlDraft::word("true"));
    if (permissions) draft.notes.emplace_back("`permissions` had no effect on a mount; left out.");
    return;
  }
  if (type != "Device" && !type.empty())
    path.error(*node, "type", quote(type) + " is neither Device nor Mount");
  draft.add("permissions",
            YamlDraft::text(permissions.value_or("").empty() ? kDefaultPermissions : *permissions));
  if (read_only) draft.notes.emplace_back("`readOnly` had no effect on a device node; left out.");
}

YamlDraft path_draft(const Node& node, const std::string& where, Diagnostics& diagnostics) {
  LenientFields path(node, where, diagnostics);
  YamlDraft draft = YamlDraft::map();
  const std::string host_path = trimmed(path.require_text("path"));
  draft.add("path", YamlDraft::text(host_path));
  if (const std::string mount = trimmed(path.text("mountPath").value_or("")); !mount.empty())
    draft.add("mountPath", YamlDraft::text(Template::escape(mount)));
  add_type(path, draft);
  if (const auto limit = path.number("limit"); limit.value_or(1) > 1)
    draft.add("limit", sharing_draft(*limit));
  if (path.flag("optional").value_or(false)) draft.add("optional", YamlDraft::word("true"));
  add_notes(draft.notes, path.notes());
  return draft;
}

YamlDraft group_draft(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  LenientFields group(node, path, diagnostics);
  YamlDraft draft = YamlDraft::map();
  if (const auto count = group.number("count"); count.value_or(1) > 1)
    draft.add("count", sharing_draft(*count));
  YamlDraft paths = YamlDraft::list();
  YamlDraft usbs = YamlDraft::list();
  const auto place = [&](const char* key, std::size_t i) {
    return group.path_of(key) + '[' + std::to_string(i) + ']';
  };
  for (std::size_t i = 0; const Node& item : group.items("paths"))
    paths.add(path_draft(item, place("paths", i++), diagnostics));
  for (const char* key : {"usb", "usbs"}) {
    for (std::size_t i = 0; const Node& item : group.items(key))
      usbs.add(usb_draft(item, place(key, i++), diagnostics));
  }
  if (paths.empty() && usbs.empty())
    diagnostics.error(node.mark, path, "neither `paths` nor `usb` has an item");
  if (!paths.empty()) draft.add("paths", std::move(paths));
  if (!usbs.empty()) {
    usbs.notes.emplace_back("Theirs made one device of all that fit; here each USB device is one.");
    draft.add("usb", std::move(usbs));
  }
  add_notes(draft.notes, group.notes());
  return draft;
}

void add_device(const Node& node, const std::string& path, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields device(node, path, diagnostics);
  YamlDraft entry = YamlDraft::map();
  const std::string name = trimmed(device.require_text("name"));
  entry.add("name", YamlDraft::text(Template::escape(name)));
  YamlDraft groups = YamlDraft::list();
  for (std::size_t i = 0; const Node& group : device.items("groups"))
    groups.add(group_draft(group, device.path_of("groups") + '[' + std::to_string(i++) + ']', diagnostics));
  if (groups.empty()) diagnostics.error(node.mark, path, "it has no group");
  entry.add("groups", std::move(groups));
  add_notes(entry.notes, device.notes());
  draft.resources.add(std::move(entry));
}

// `serial,/dev/ttyUSB*,/dev/ttyACM*`, which the first versions had.
void add_short_device(const std::string& text, ConfigDraft& draft, Diagnostics& diagnostics) {
  YamlDraft groups = YamlDraft::list();
  std::size_t comma = text.find(',');
  const std::string name = trimmed(text.substr(0, comma));
  while (comma != std::string::npos) {
    const std::size_t next = text.find(',', comma + 1);
    YamlDraft path = YamlDraft::map();
    path.add("path", YamlDraft::text(trimmed(text.substr(comma + 1, next - comma - 1))));
    path.add("permissions", YamlDraft::text(kDefaultPermissions));
    YamlDraft paths = YamlDraft::list();
    paths.add(std::move(path));
    YamlDraft group = YamlDraft::map();
    group.add("paths", std::move(paths));
    groups.add(std::move(group));
    comma = next;
  }
  if (name.empty() || groups.empty())
    diagnostics.error({.file = "--device"}, "",
                      quote(text) + " is no device; it is JSON or YAML with a `name` and `groups`");
  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text(Template::escape(name)));
  entry.add("groups", std::move(groups));
  draft.resources.add(std::move(entry));
}

void add_flag_device(const std::string& text, std::size_t index, ConfigDraft& draft,
                     Diagnostics& diagnostics) {
  const std::string path = "device[" + std::to_string(index) + ']';
  const std::size_t errors = diagnostics.error_count();
  const auto node = parse_yaml(text, "--device", diagnostics);
  if (!node || diagnostics.error_count() > errors) return;
  if (node->kind == Node::Kind::kMap)
    add_device(*node, path, draft, diagnostics);
  else
    add_short_device(text, draft, diagnostics);
}

void add_log_level(const std::string& theirs, ConfigDraft& draft) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLevels = {{
      {"all", "debug"},
      {"debug", "debug"},
      {"info", "info"},
      {"warn", "warn"},
      {"error", "error"},
      {"none", "error"},
  }};
  const auto* const level =
      std::ranges::find(kLevels, theirs, &std::pair<std::string_view, std::string_view>::first);
  if (level == kLevels.end()) {
    draft.notes.push_back("The log level " + quote(theirs) + " is not known; left out.");
    return;
  }
  YamlDraft log = YamlDraft::map();
  log.add("level", YamlDraft::text(level->second));
  if (level->first != level->second) log.notes.push_back("It was " + theirs + '.');
  draft.top.add("log", std::move(log));
}

void add_directory(const std::string& theirs, ConfigDraft& draft) {
  YamlDraft kubelet = YamlDraft::map();
  kubelet.add("directory", YamlDraft::text(theirs));
  draft.top.add("kubelet", std::move(kubelet));
}

// The command line's value, which wins, or the file's.
std::optional<std::string> setting(const char* key, LenientFields& top, Arguments& arguments) {
  auto from_file = top.text(key);
  auto from_flag = arguments.value(key);
  return from_flag ? from_flag : from_file;
}

void convert_generic(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields top(root, "", diagnostics);
  const std::string domain = setting("domain", top, arguments).value_or(std::string(kDefaultDomain));
  draft.top.add("domain", YamlDraft::text(domain));
  if (const auto directory = setting("plugin-directory", top, arguments)) add_directory(*directory, draft);
  if (const auto level = setting("log-level", top, arguments)) add_log_level(*level, draft);
  if (const auto listen = setting("listen", top, arguments))
    draft.notes.push_back("It served metrics at " + quote(*listen) + "; that is left out here.");
  arguments.value("config");

  const std::vector<std::string> flags = arguments.values("device");
  for (const char* key : {"devices", "device"}) {
    const std::vector<Node>& devices = top.items(key);
    if (flags.empty())
      add_devices(devices, key, draft, diagnostics);
    else if (!devices.empty())
      draft.notes.emplace_back("The file's devices are left out, because --device on the command line wins.");
  }
  for (std::size_t i = 0; i < flags.size(); ++i) add_flag_device(flags[i], i, draft, diagnostics);
  if (draft.resources.empty()) diagnostics.error(root.mark, "", "there is no device in it");
  for (std::string& note : top.notes()) draft.notes.push_back(std::move(note));
  add_device_notes(draft);
}

}  // namespace

void add_devices(const std::vector<Node>& devices, const std::string& path, ConfigDraft& draft,
                 Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    add_device(devices[i], path + '[' + std::to_string(i) + ']', draft, diagnostics);
}

void add_device_notes(ConfigDraft& draft) {
  draft.notes.emplace_back(
      "Ids are names such as ttyUSB0 in place of hashes, and a device that is unplugged is Unhealthy for "
      "`forgetAfter` before it goes.");
  draft.notes.emplace_back(
      "`permissions: mrw` is what theirs gave by default; `rw` is enough unless a container makes device "
      "nodes itself.");
}

Converter generic_device_plugin_converter() {
  return {.plugin = OtherPlugin::kGenericDevicePlugin,
          .looked_for = "a list `devices` or `device`",
          .flags = kGenericFlags,
          .convert = convert_generic};
}

}  // namespace plughost
