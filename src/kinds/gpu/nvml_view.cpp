#include "kinds/gpu/nvml_view.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace plughost {

NvmlView look_at_nvml(const HostRoot& host, const std::string& library) {
  NvmlView view;
  auto opened = Nvml::open(library);
  if (auto* const why = std::get_if<std::string>(&opened)) {
    view.trouble = std::move(*why);
    return view;
  }
  const auto now = std::chrono::steady_clock::now;
  NvidiaHealth health;
  NvmlCards cards(std::get<std::unique_ptr<Nvml>>(std::move(opened)),
                  {.parts = true, .health_checks = false, .xids = {}}, health, now);
  Scan scan;
  const auto found = cards.look(host, scan);
  if (!found) {
    view.trouble = scan.remarks.empty() ? "NVML does not tell its cards" : scan.remarks.front();
    return view;
  }
  for (const NvmlCard& card : *found) {
    NvmlView::Card& seen = view.cards.emplace_back();
    static_cast<NvmlView::Unit&>(seen) = card.facts;
    seen.mig_enabled = card.divided;
    for (const NvmlCard::Part& part : card.parts) seen.parts.push_back(part.facts);
  }
  return view;
}

std::vector<NvmlCard> cards_in(const NvmlView& view) {
  std::vector<NvmlCard> cards;
  for (const NvmlView::Card& seen : view.cards) {
    NvmlCard& card = cards.emplace_back();
    card.facts = NvidiaGpu{seen, {}};
    card.divided = seen.mig_enabled;
    for (const NvmlView::Unit& part : seen.parts) card.parts.emplace_back().facts = NvidiaGpu{part, {}};
  }
  return cards;
}

}  // namespace plughost
