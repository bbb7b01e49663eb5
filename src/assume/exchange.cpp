#include "assume/exchange.hpp"

#include <algorithm>

namespace plughost {

std::vector<NewCard> exchange(std::span<const AskingPod* const> pods, const AskingPod& real,
                              const std::string& given, const std::string& meant) {
  if (real.card == given) return {};
  std::vector<NewCard> news{{.pod = &real, .card = given}};
  const AskingPod* other = nullptr;
  for (const AskingPod* const pod : pods) {
    if (pod->uid == real.uid || pod->card != given || pod->ended() || !pod->time) continue;
    const bool it = pod->uid == meant;
    const bool waits = pod->phase == "Pending" && pod->units() == real.units();
    if (it || (waits && (!other || earlier(*pod, *other)))) other = pod;
    if (it) break;
  }
  if (other && real.card) news.push_back({.pod = other, .card = *real.card});
  return news;
}

}  // namespace plughost
