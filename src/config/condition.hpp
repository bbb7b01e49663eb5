#pragma once
// `when`: on which nodes an entry applies. Values, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "host/hardware/machine_facts.hpp"
#include "host/hardware/node_labels.hpp"

namespace plughost {

// What conditions are asked about.
struct NodeView {
  MachineFacts machine;
  NodeLabels labels;
  // Whether the path is there, or something that the pattern matches. May block on the file system.
  std::function<bool(const std::string& pattern)> exists;
};

struct Verdict {
  enum class Kind { kApplies, kDoesNot, kUnknown };
  Kind kind = Kind::kApplies;
  std::string why;  // one line; empty: it applies
};

class Condition {
 public:
  // Reports what is wrong with it; the result then means nothing.
  static Condition read(const Node& node, const std::string& path, Diagnostics& diagnostics);

  Verdict evaluate(const NodeView& node) const;
  // In a few words: "hostname gpu-* or big-*, arch amd64".
  std::string text() const;
  // The patterns of `exists`, those below `not` included.
  std::vector<std::string> paths() const;
  bool names_labels() const { return has(Subject::kLabel); }
  bool names_node() const { return has(Subject::kNode); }
  // Where it stands.
  const Mark& mark() const { return mark_; }
  const std::string& path() const { return path_; }

 private:
  enum class Subject { kHostname, kArch, kKernel, kExists, kVendor, kProduct, kLabel, kNode };
  struct Term {
    Subject subject;
    std::string name;  // "hostname", "dmi.vendor", "label example.com/rack"
    std::string label;
    std::vector<std::string> patterns;  // fnmatch(3); one has to match, of kExists all

    Verdict evaluate(const NodeView& node) const;
    std::string text() const;
  };
  // All terms, and none of the others.
  struct Case {
    std::vector<Term> terms;
    std::vector<Case> excluded;

    Verdict evaluate(const NodeView& node) const;
    std::string text() const;
  };

  static Verdict any_of(const std::vector<Case>& cases, const NodeView& node);
  static std::string text_of(const std::vector<Case>& cases);
  static std::vector<Case> read_cases(const Node& node, const std::string& path, Diagnostics& diagnostics);
  static Case read_case(const Node& node, const std::string& path, Diagnostics& diagnostics);
  // Those below `not` included.
  static std::vector<const Term*> terms_of(const std::vector<Case>& cases);
  bool has(Subject subject) const;

  Mark mark_;
  std::string path_;
  std::vector<Case> cases_;  // one has to hold
};

}  // namespace plughost
