// The USB devices of generic-device-plugin's groups.

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"
#include "tools/convert/converters/generic_devices.hpp"

namespace plughost {
namespace {

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
