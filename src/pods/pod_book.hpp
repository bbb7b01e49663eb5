#pragma once
// The pods of this node that ask for one resource, and what is being written to them. A value; not
// thread-safe.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assume/asking_pod.hpp"
#include "device/assume_terms.hpp"
#include "kubelet/pod_resources.hpp"

namespace plughost {

class PodBook {
 public:
  // A kubelet runs some hundred pods; what is beyond is not looked at.
  static constexpr std::size_t kMostPods = 5000;

  PodBook(std::string resource, AssumeTerms terms)
      : resource_(std::move(resource)), terms_(std::move(terms)) {}

  // All that there are, one of them, or one that is no more, as somebody else shows them.
  void replace(const std::vector<Pod>& pods);
  void put(const Pod& pod);
  void remove(const std::string& uid);

  std::vector<const AskingPod*> all() const;
  // nullptr: there is none.
  const AskingPod* find(const std::string& uid) const;
  // By its name, or by its UID where that is all that is known.
  const AskingPod* find(const Holder& holder) const;

  // It is marked, or its annotation says this card: before anybody shows it so, and whatever older news say.
  void set_marked(const std::string& uid);
  void set_card(const std::string& uid, const std::string& card);

 private:
  // What is being written to a pod, and nobody shows yet.
  struct Ours {
    std::optional<std::string> card;
    bool marked = false;
  };

  std::string resource_;
  AssumeTerms terms_;
  std::map<std::string, AskingPod> pods_;  // by UID
  std::map<std::string, Ours> ours_;       // by UID
};

}  // namespace plughost
