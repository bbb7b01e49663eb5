#pragma once
// `when`: the nodes on which an entry applies. Values, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "host/hardware/machine_facts.hpp"
#include "host/hardware/node_labels.hpp"

namespace plughost {

// The data that conditions examine.
struct NodeView {
  MachineFacts machine;
  NodeLabels labels;
  // Returns true if the path exists, or if a path matches the pattern. May block on the file system.
  std::function<bool(const std::string& pattern)> exists;
};

struct Verdict {
  enum class Kind { kApplies, kDoesNot, kUnknown };
  Kind kind = Kind::kApplies;
  std::string why;  // one line; empty: the entry applies
};

class Condition {
 public:
  // Reads a condition. After a reported error the result is meaningless.
  static Condition read(const Node& node, const std::string& path, Diagnostics& diagnostics);

  Verdict evaluate(const NodeView& node) const;
  // Returns a summary: "hostname gpu-* or big-*, arch amd64".
  std::string text() const;
  // Returns the patterns of `exists`, including those below `not`.
  std::vector<std::string> paths() const;
  bool names_labels() const { return has(Subject::kLabel); }
  bool names_node() const { return has(Subject::kNode); }
  // Return the condition's place in the file.
  const Mark& mark() const { return mark_; }
  const std::string& path() const { return path_; }

 private:
  enum class Subject { kHostname, kArch, kKernel, kExists, kVendor, kProduct, kLabel, kNode };
  struct Term {
    Subject subject;
    std::string name;  // "hostname", "dmi.vendor", "label example.com/rack"
    std::string label;
    std::vector<std::string> patterns;  // fnmatch(3); one must match; for kExists, all must match

    Verdict evaluate(const NodeView& node) const;
    std::string text() const;
  };
  // All terms must hold, and no case in `excluded`.
  struct Case {
    std::vector<Term> terms;
    std::vector<Case> excluded;

    Verdict evaluate(const NodeView& node) const;
    std::string text() const;
  };

  static std::string text_of(const std::vector<Case>& cases);
  static std::vector<Case> read_cases(const Node& node, const std::string& path, Diagnostics& diagnostics);
  static Case read_case(const Node& node, const std::string& path, Diagnostics& diagnostics);
  // Returns all terms, including terms below `not`.
  static std::vector<const Term*> terms_of(const std::vector<Case>& cases);
  bool has(Subject subject) const;

  Mark mark_;
  std::string path_;
  std::vector<Case> cases_;  // at least one case must hold
};

}  // namespace plughost
