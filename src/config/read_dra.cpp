#include "config/read_dra.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "base/words.hpp"
#include "dra/advertised.hpp"
#include "dra/limits.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

enum class Advertise { kPlugin, kDra };
constexpr Word<Advertise> kAdvertise[] = {{"plugin", Advertise::kPlugin}, {"dra", Advertise::kDra}};
constexpr Word<OnUnhealthy> kOnUnhealthy[] = {
    {"taint", OnUnhealthy::kTaint}, {"evict", OnUnhealthy::kEvict}, {"withdraw", OnUnhealthy::kWithdraw}};
// With those that every device has there is room for so many of 32.
constexpr std::size_t kMostAttributes = 24;
constexpr std::string_view kReserved[] = {kEntryAttribute, kResourceAttribute, kIdAttribute};

// What an entry cannot have beside `advertise: dra`, and what to do instead.
struct Refusal {
  std::string_view key;
  const char* why;
};
constexpr Refusal kRefused[] = {
    {"annotations",
     "a claim's devices come by CDI, and that has no annotations for the container; use `env`, or leave "
     "`advertise: dra` out"},
    {"allocate",
     "a claim's devices are told to the container by CDI alone, and no program is asked; use `env`, `mounts` "
     "and `nodes`, or leave `advertise: dra` out"},
    {"assume",
     "with `advertise: dra` the scheduler itself chooses the card, and its allocation says which; leave "
     "the key out"},
    {"nodeResources",
     "a scheduler counts by the cards' own capacities in the pool, and needs no counts of the node's; "
     "leave the key out"},
    {"emptyAtStop",
     "a pool stays in the API server while plughost is stopped, so that a restart disturbs "
     "nobody; leave the key out"},
    {"allocationPolicy",
     "with `advertise: dra` the scheduler chooses the devices, and the kubelet is not asked; "
     "leave the key out"},
    {"sameCard",
     "a claim with requests of both entries and a constraint does this: keep `near`, and "
     "`plughost dra templates` prints it; leave the key out"},
};

void refuse_what_plugins_have(Fields& entry, const DeviceSource* source, std::string_view kind,
                              const Recipe& recipe) {
  for (const Refusal& each : kRefused) {
    if (entry.has(each.key)) entry.error(each.key, each.why);
  }
  if (recipe.units == CardUnits::kOfSeveralCards && !entry.has("assume"))
    entry.error(
        kind,
        "with `advertise: dra` a request gets a part of one card, and a claim may have several requests; "
        "leave `spanCards` out");
  for (const auto& brought : source ? source->recipes() : std::vector<std::shared_ptr<const KindRecipe>>()) {
    if (!brought->annotations.empty())
      entry.error(
          kind,
          "its answer has annotations, and a claim's devices come by CDI, which has none; choose another "
          "`deviceListStrategy`");
  }
}

// A value with no placeholders but one is of that one's type; the others' types must not depend on the
// device.
AttributeType type_of(const Template& value, const Node& written, const DraTerms& terms) {
  if (value.literal()) {
    if (written.quoted) return AttributeType::kText;
    if (written.scalar == "true" || written.scalar == "false") return AttributeType::kFlag;
    // 0451 stays a text.
    const auto number = number_in<std::int64_t>(written.scalar);
    return number && std::to_string(*number) == written.scalar ? AttributeType::kNumber
                                                               : AttributeType::kText;
  }
  const auto names = value.placeholders();
  const bool alone = names.size() == 1 && value.text() == '{' + std::string(names[0]) + '}';
  const auto type = alone ? terms.types.find(names[0]) : terms.types.end();
  return type == terms.types.end()                ? AttributeType::kText
         : type->second == AttributeType::kMemory ? AttributeType::kNumber
                                                  : type->second;
}

std::vector<DraAttribute> read_attributes(Fields& entry, const DraTerms& terms,
                                          std::span<const std::string_view> known) {
  constexpr std::string_view kKey = "attributes";
  const Node* const map = entry.node(kKey);
  if (!map || map->kind == Node::Kind::kNull) return {};
  if (map->kind != Node::Kind::kMap) {
    entry.error(kKey,
                std::string("a map of names and values is expected here, and this is ") + map->kind_name());
    return {};
  }
  if (map->members.size() > kMostAttributes)
    entry.error(kKey, "these are " + std::to_string(map->members.size()) + " attributes; at most " +
                          std::to_string(kMostAttributes) + " fit beside those that a device has anyway");
  std::vector<DraAttribute> attributes;
  for (const auto& [key, value] : map->members) {
    const std::string path = entry.path_of(kKey) + '.' + key.scalar;
    Diagnostics& diagnostics = entry.diagnostics();
    if (const std::string trouble = attribute_name_trouble(key.scalar); !trouble.empty())
      diagnostics.error(key.mark, path, quote(key.scalar) + " is no name of an attribute: " + trouble);
    else if (std::ranges::find(kReserved, key.scalar) != std::end(kReserved))
      diagnostics.error(key.mark, path,
                        "every device has this attribute, and classes select by it; choose another name");
    if (value.kind != Node::Kind::kScalar) {
      diagnostics.error(value.mark, path,
                        value.kind == Node::Kind::kNull ? "the key has no value; write \"\" for an empty text"
                                                        : not_a_scalar(value));
      continue;
    }
    DraAttribute& attribute = attributes.emplace_back();
    attribute.name = key.scalar;
    attribute.value = read_template(value.scalar, known, value.mark, path, diagnostics);
    attribute.type = type_of(attribute.value, value, terms);
    const auto text = attribute.value.expand([](std::string_view) { return std::optional<std::string>(""); });
    if (text && text->size() > kLongestAttributeText)
      diagnostics.error(value.mark, path,
                        "the value has " + std::to_string(text->size()) + " bytes" +
                            (attribute.value.literal() ? "" : ", not counting its placeholders") +
                            "; an attribute has at most " + std::to_string(kLongestAttributeText));
  }
  return attributes;
}

}  // namespace

bool is_advertised_by_dra(Fields& entry) {
  return entry.choice("advertise", kAdvertise, Advertise::kPlugin) == Advertise::kDra;
}

std::shared_ptr<const DraTerms> read_dra(Fields& entry, bool dra, std::span<const Kind* const> of,
                                         const DeviceSource* source, const Recipe& recipe,
                                         std::span<const std::string_view> known) {
  DraTerms terms;
  for (const Kind* const kind : of) {
    for (const TypedAttribute& each : kind->types) terms.types.emplace(each.name, each.type);
  }
  if (source) terms.unit = source->unit();
  terms.on_unhealthy = entry.choice("onUnhealthy", kOnUnhealthy, OnUnhealthy::kTaint);
  terms.attributes = read_attributes(entry, terms, known);
  if (!dra) {
    for (const std::string_view key : {"attributes", "onUnhealthy"}) {
      if (entry.has(key))
        entry.error(key,
                    "this is of devices in a pool, which the entry's are not; set `advertise: dra`, or "
                    "leave it out");
    }
    return nullptr;
  }
  refuse_what_plugins_have(entry, source, of.empty() ? "advertise" : of.front()->key, recipe);
  if (const std::size_t size = recipe.name.text().size(); size > kLongestAttributeText)
    entry.error("name", "the name has " + std::to_string(size) +
                            " bytes; with `advertise: dra` it is an attribute of "
                            "the devices, and that has at most " +
                            std::to_string(kLongestAttributeText));
  return std::make_shared<const DraTerms>(std::move(terms));
}

}  // namespace plughost
