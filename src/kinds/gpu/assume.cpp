#include <string>
#include <string_view>

#include "assume/dialects.hpp"
#include "base/words.hpp"
#include "device/label.hpp"
#include "kinds/gpu/terms.hpp"

namespace plughost {
namespace {

constexpr Word<CardIs> kCardIs[] = {{"uuid", CardIs::kUuid}, {"index", CardIs::kIndex}};
constexpr Word<Identify> kIdentify[] = {{"late", Identify::kLate}, {"guess", Identify::kGuess}};

void read_names(Fields& fields, AssumeTerms& terms) {
  const auto read = [&](std::string_view key, std::string AssumeNames::*name) {
    if (!fields.has(key)) return;
    const std::string text = fields.require_text(key);
    if (const std::string trouble = label_key_trouble(text); !text.empty() && !trouble.empty())
      fields.error(key, quote(text) + " is no annotation's name. " + trouble);
    for (AssumeNames& names : terms.names) names.*name = text;
  };
  read("time", &AssumeNames::time);
  read("assigned", &AssumeNames::assigned);
  read("card", &AssumeNames::card);
}

}  // namespace

std::optional<AssumeTerms> read_assume(Fields& entry, const GpuTerms& terms) {
  const Node* const node = entry.node("assume");
  if (!node) return std::nullopt;
  if (terms.unit.memory == 0)
    entry.error(
        "assume",
        "a scheduler that chooses cards counts units of their memory: say how large one is, as in gpu: "
        "{unit: {memory: 1GiB}}");
  Fields fields(*node, entry.path_of("assume"), entry.diagnostics());
  if (!fields.has("dialect"))
    fields.error("dialect", "say which scheduler's extender chooses: doslab, gpushare or volcano");
  AssumeTerms assume = terms_of(fields.choice("dialect", kDialects, Dialect::kDoslab));
  read_names(fields, assume);
  assume.card_is = fields.choice("cardIs", kCardIs, assume.card_is);
  if (fields.has("identify")) assume.identify = fields.choice("identify", kIdentify, Identify::kGuess);
  assume.only_card = fields.flag("onlyCard", false);
  assume.answer_without_card = fields.flag("answerWithoutCard", false);
  if (assume.answer_without_card && assume.dialect != Dialect::kGpushare)
    fields.error("answerWithoutCard",
                 "only gpushare has such an answer; elsewhere a container that has no card does not start");
  assume.sets_visible = terms.injection.envvar && !terms.injection.volume_mounts;
  assume.unit = terms.unit.memory / CardUnit::kMiB;
  return assume;
}

}  // namespace plughost
