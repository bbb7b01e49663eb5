// generic-device-plugin: `domain`, `devices` or `device`, and the equivalent flags; also MicroShift, which
// has the same settings under `genericDevicePlugin: {status, domain, devices}`. Their USB devices.

#include <algorithm>
#include <utility>

#include "base/document/yaml.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "tools/convert/converters/generic_devices.hpp"

namespace plughost {
namespace {

constexpr const char* kDefaultDomain = "devic.es";
constexpr const char* kDomainBefore = "squat.ai";
constexpr unsigned kMinorWithDefault = 2;  // 0.2.0 changed the default

// The form of --device: the present form, or the form of versions before 0.1.
enum class Form { kNow, kOld };

// Marks scalars as quoted, because the flag takes unquoted ids literally.
void read_as_texts(Node& node) {
  node.quoted = node.quoted || node.kind == Node::Kind::kScalar;
  for (Node& item : node.items) read_as_texts(item);
  for (auto& [key, value] : node.members) read_as_texts(value);
}

Form add_flag_device(const std::string& text, std::size_t index, ConfigDraft& draft, Reading& diagnostics) {
  const std::string path = "device[" + std::to_string(index) + ']';
  const std::size_t errors = diagnostics.error_count();
  auto node = parse_yaml(text, "--device", diagnostics);
  if (!node || diagnostics.error_count() > errors) return Form::kNow;
  if (node->kind != Node::Kind::kMap) {
    add_short_device(text, draft, diagnostics);
    return Form::kOld;
  }
  read_as_texts(*node);
  add_devices({*node}, path, draft, diagnostics);
  return node->find("name") ? Form::kNow : Form::kOld;
}

void add_log_level(const std::string& theirs, ConfigDraft& draft) {
  static constexpr Word<std::string_view> kLevels[] = {{"all", "debug"},   {"debug", "debug"},
                                                       {"info", "info"},   {"warn", "warn"},
                                                       {"error", "error"}, {"none", "error"}};
  const auto level = value_of(kLevels, theirs);
  if (!level) return draft.notes.push_back("The log level " + quote(theirs) + " is not known; left out.");
  YamlDraft& log = draft.top.add("log", YamlDraft::map({{"level", *level}}));
  if (*level != theirs) log.notes.push_back("It was " + theirs + '.');
}

// Returns the tag's minor version, 1 in "example/generic-device-plugin:0.1.4"; nullopt: none.
std::optional<unsigned> minor_version(std::string_view image) {
  image = image.substr(0, image.find('@'));
  std::string_view tag = image.substr(image.rfind(':') + 1);  // npos + 1 is 0
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const std::size_t major = tag.find('.');
  if (major == std::string_view::npos || !number_in<unsigned>(tag.substr(0, major))) return std::nullopt;
  tag.remove_prefix(major + 1);
  return number_in<unsigned>(tag.substr(0, tag.find('.')));
}

YamlDraft default_domain(Form form, const std::string& image, ConfigDraft& draft) {
  const auto minor = minor_version(image);
  // Images without a version are mostly older than 0.2.
  const bool before = form == Form::kOld || (minor ? *minor < kMinorWithDefault : !image.empty());
  YamlDraft domain = before ? kDomainBefore : kDefaultDomain;
  if (form == Form::kOld)
    domain.notes.push_back("It is not said; " + domain.scalar.text() +
                           " was the default when --device had this form.");
  else if (minor)
    domain.notes.push_back("It is not said; " + domain.scalar.text() + " is the default of this version, " +
                           quote(image) + '.');
  else {
    draft.domain_is_a_guess = true;
    domain.notes.push_back(doubt(std::string("The domain is a guess, because it is not said: ") +
                                 kDefaultDomain + " is the default since 0.2.0, and " + kDomainBefore +
                                 " was before. `kubectl describe node` shows which one is in use."));
  }
  return domain;
}

// Go's YAML parser reads an unquoted id as a number unless it has a letter.
bool was_a_number(const Node& id) {
  const std::string& text = id.scalar;
  return !id.quoted && text.size() > 1 && is_digits(text);
}

// Returns true if an id is given. An empty id, as MicroShift prints it, does not count.
bool add_usb_id(LenientFields& usb, const char* key, YamlDraft& draft) {
  const Node* const node = usb.node(key);
  const auto text = usb.text(key);
  if (!node || !text || text->empty()) return false;
  const std::string id = hardware_id(*text);
  if (id.empty())
    usb.error(*node, key, quote(*text) + " is not a hardware id, which has four hexadecimal digits");
  YamlDraft& value = draft.add(key, id);
  if (was_a_number(*node))
    value.notes.push_back(doubt("Theirs read " + *text +
                                ", without quotes, as a decimal or octal number; this is the hexadecimal "
                                "one, as lsusb prints it."));
  return true;
}

// Returns an empty draft if `usb` has no vendor, product or serial number.
YamlDraft usb_draft(LenientFields& usb) {
  YamlDraft draft = YamlDraft::map();
  const bool vendor = add_usb_id(usb, "vendor", draft);
  const bool product = add_usb_id(usb, "product", draft);
  if (const auto serial = usb.text("serial"); serial && !serial->empty()) draft.add("serial", *serial);
  if (draft.empty() || (vendor && product)) return draft;
  draft.disabled = true;
  const std::string missing = vendor ? "product" : product ? "vendor" : "vendor and the missing product";
  draft.notes.push_back(
      doubt("Theirs takes the missing " + missing + " for 0000, which no device has, and offers none."));
  draft.notes.emplace_back("Without the `#` it is any:");
  return draft;
}

// Makes the items alternatives for one device, because the other plugin forms one device of all USB devices
// that match any of the items.
YamlDraft any_of(YamlDraft usbs) {
  const auto kept = std::ranges::count(usbs.items, false, &YamlDraft::disabled);
  if (kept < 2) {
    if (kept == 1)
      usbs.notes.emplace_back("Theirs made one device of all that fit; here each USB device is one.");
    return usbs;
  }
  YamlDraft list = YamlDraft::list({YamlDraft::map({{"anyOf", std::move(usbs)}})});
  list.notes.emplace_back(
      "Theirs made one device of all that fit one of these, as with hardware that says that it is another "
      "one once it has its firmware; here each USB device is one. Things that belong together are items of "
      "their own, without `anyOf`.");
  return list;
}

}  // namespace

void convert_generic(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  PeerSettings settings(OtherPlugin::kGenericDevicePlugin, root, arguments, diagnostics);
  LenientFields& top = settings.map("");
  const auto domain = settings.text("domain");
  const std::vector<std::string> flags =
      arguments.has("device") ? arguments.values("device") : std::vector<std::string>{};
  for (const char* key : {"devices", "device"}) {
    const std::vector<Node>& devices = top.items(key);
    if (flags.empty())
      add_devices(devices, key, draft, diagnostics);
    else if (!devices.empty())
      draft.notes.emplace_back("The file's devices are left out, because --device on the command line wins.");
  }
  Form form = Form::kNow;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (add_flag_device(flags[i], i, draft, diagnostics) == Form::kOld) form = Form::kOld;
  }
  // An error would drop the notes that say why no device can be kept.
  if (draft.resources.empty() && draft.notes.empty())
    diagnostics.error(root.mark, "", "there is no device in it");

  draft.top.add("domain", domain ? *domain : default_domain(form, arguments.image(), draft));
  if (const auto directory = settings.text("plugin-directory"))
    draft.top.add("kubelet", YamlDraft::map({{"directory", *directory}}));
  if (const auto level = settings.text("log-level")) add_log_level(*level, draft);
  if (const auto listen = settings.text("listen"))
    draft.notes.push_back(doubt("It served metrics at " + quote(*listen) + "; that is left out here."));
  settings.finish(draft.notes);
}

void convert_microshift(const Node& root, Arguments&, ConfigDraft& draft, Reading& diagnostics) {
  constexpr const char* kSection = "genericDevicePlugin";
  LenientFields section(*root.find(kSection), kSection, diagnostics);
  if (section.text("status").value_or("Disabled") != "Enabled")
    draft.notes.emplace_back("Its `status` is not Enabled: MicroShift does not serve these devices.");
  if (root.members.size() > 1) draft.notes.emplace_back("Only the section `genericDevicePlugin` was read.");
  draft.top.add("domain", section.text("domain").value_or("device.microshift.io"));
  add_devices(section.items("devices"), section.path_of("devices"), draft, diagnostics);
  if (draft.resources.empty())
    draft.notes.push_back(
        loss("It has no `devices`; MicroShift has some by default, which `microshift show-config` prints."));
  add_notes(draft.notes, section.notes());
}

YamlDraft usbs_of_group(LenientFields& group, Notes& notes) {
  YamlDraft usbs = YamlDraft::list();
  for (const char* key : {"usb", "usbs"}) {
    for (std::size_t i = 0; const Node& item : group.items(key)) {
      const std::string path = group.path_of(key) + '[' + std::to_string(i++) + ']';
      LenientFields usb(item, path, group.diagnostics());
      YamlDraft draft = usb_draft(usb);
      if (draft.empty()) {
        for (Note& note : usb.notes()) notes.emplace_back(path + ": " + note.text, note.weight);
        continue;
      }
      add_notes(draft.notes, usb.notes());
      usbs.add(std::move(draft));
    }
  }
  return any_of(std::move(usbs));
}

}  // namespace plughost
