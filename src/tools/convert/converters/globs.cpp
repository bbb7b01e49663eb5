#include "tools/convert/converters/globs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

using Alternatives = std::vector<std::string>;

constexpr std::size_t kMostPatterns = 64;
constexpr unsigned kDeepest = 8;
constexpr unsigned kWithoutEnd = std::numeric_limits<unsigned>::max();

// Thrown for an expression without equivalent patterns.
struct Untranslatable {};

struct Repeat {
  unsigned least = 1;
  unsigned most = 1;
};

Alternatives unique(Alternatives all) {
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kMostPatterns) throw Untranslatable{};
  return all;
}

Alternatives followed(const Alternatives& heads, const Alternatives& tails) {
  if (heads.size() * tails.size() > kMostPatterns * 4) throw Untranslatable{};
  Alternatives all;
  for (const std::string& head : heads) {
    for (const std::string& tail : tails) all.push_back(head + tail);
  }
  return unique(std::move(all));
}

class Translation {
 public:
  explicit Translation(std::string_view regex) : rest_(regex) {}

  Globs take() {
    Globs globs;
    globs.patterns = choice(0);
    if (!rest_.empty()) throw Untranslatable{};
    globs.exact = exact_;
    globs.bounded = bounded_;
    globs.cut = cut_;
    return globs;
  }

 private:
  struct Item {
    Alternatives alternatives;
    Repeat repeat;
    bool any = false;  // '.'
  };

  bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool skip(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Skips '*' or '?' after an anchor: an optional anchor has no effect.
  bool skip_none_or_more() { return skip('*') || skip('?'); }

  // Parses a|b|c.
  Alternatives choice(unsigned depth) {
    if (depth > kDeepest) throw Untranslatable{};
    Alternatives all;
    do {
      for (std::string& each : sequence(depth)) all.push_back(std::move(each));
    } while (skip('|'));
    return unique(std::move(all));
  }

  // Parses up to '|' or the closing ')'. Without an anchor at an end, the expression also matches inside of
  // names.
  Alternatives sequence(unsigned depth) {
    const bool top = depth == 0;
    const bool from_start = top && skip('^') && !skip_none_or_more();
    bool to_end = false;
    std::vector<Item> items;
    while (!rest_.empty() && !next_is('|') && !next_is(')')) {
      if (top && skip('$')) {
        to_end = true;
        break;
      }
      items.push_back(item(depth));
    }
    // Optional items at an open end have no effect.
    const auto may_be_missing = [](const Item& each) { return each.repeat.least == 0; };
    if (top && !to_end) {
      while (!items.empty() && may_be_missing(items.back())) items.pop_back();
      if (!items.empty()) items.back().repeat.most = items.back().repeat.least;
    }
    if (top && !from_start) {
      items.erase(items.begin(), std::ranges::find_if_not(items, may_be_missing));
      if (!items.empty()) items.front().repeat.most = items.front().repeat.least;
    }
    Alternatives all = {top && !from_start ? "*" : ""};
    for (const Item& each : items) all = followed(all, repeated(each));
    if (top && !to_end) all = followed(all, {"*"});
    if (top && !(from_start && to_end)) exact_ = false;
    return all;
  }

  Item item(unsigned depth) {
    Item item;
    if (skip('(')) {
      if (skip('?') && !(skip(':'))) throw Untranslatable{};
      item.alternatives = choice(depth + 1);
      if (!skip(')')) throw Untranslatable{};
    } else if (skip('.')) {
      item.alternatives = {"?"};
      item.any = true;
    } else if (next_is('[')) {
      item.alternatives = {char_class()};
    } else if (skip('\\')) {
      item.alternatives = {escaped()};
    } else {
      const char c = rest_.front();
      if (std::string_view("^$*+?{}]").find(c) != std::string_view::npos) throw Untranslatable{};
      rest_.remove_prefix(1);
      item.alternatives = {std::string(1, c)};
    }
    item.repeat = repeat();
    if (item.any) exact_ = false;
    return item;
  }

  // Returns the class in the syntax of patterns.
  std::string char_class() {
    std::string all = "[";
    rest_.remove_prefix(1);
    if (skip('^')) all += '!';
    const std::size_t end = rest_.find(']');
    const std::string_view members = rest_.substr(0, end);
    // A literal dash, and members that patterns read differently, are too rare to support.
    if (end == std::string_view::npos || members.empty() ||
        members.find_first_of("[\\!^/") != std::string_view::npos)
      throw Untranslatable{};
    rest_.remove_prefix(end + 1);
    return all + std::string(members) + ']';
  }

  std::string escaped() {
    if (rest_.empty()) throw Untranslatable{};
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == 'd') return "[0-9]";
    if (c == 'w') return "[0-9A-Za-z_]";
    if (is_letter_or_digit(c) || c == '\\') throw Untranslatable{};
    if (c == '*' || c == '?' || c == '[') return {'[', c, ']'};
    return {c};
  }

  Repeat repeat() {
    Repeat found;
    if (skip('?')) {
      found = {0, 1};
    } else if (skip('*')) {
      found = {0, kWithoutEnd};
    } else if (skip('+')) {
      found = {1, kWithoutEnd};
    } else if (skip('{')) {
      found.least = number();
      found.most = !skip(',') ? found.least : next_is('}') ? kWithoutEnd : number();
      if (!skip('}') || found.least > found.most) throw Untranslatable{};
    } else {
      return found;
    }
    skip('?');  // a lazy repetition matches the same texts
    if (!rest_.empty() && std::string_view("*+{").find(rest_.front()) != std::string_view::npos)
      throw Untranslatable{};
    return found;
  }

  unsigned number() {
    const std::string_view digits = rest_.substr(0, rest_.find_first_not_of("0123456789"));
    rest_.remove_prefix(digits.size());
    const auto value = number_in(digits, 20u);
    if (!value) throw Untranslatable{};
    return *value;
  }

  Alternatives repeated(const Item& item) {
    Alternatives head = {""};
    for (unsigned i = 0; i < item.repeat.least; ++i) head = followed(head, item.alternatives);
    if (item.any && item.repeat.most == kWithoutEnd) return followed(head, {"*"});
    unsigned most = item.repeat.most;
    if (most == kWithoutEnd) {
      most = std::max(item.repeat.least, kMostRepeats);
      (item.alternatives == Alternatives{"[0-9]"} ? bounded_ : cut_) = true;
    }
    Alternatives all = head;
    for (unsigned i = item.repeat.least; i < most; ++i) {
      head = followed(head, item.alternatives);
      all.insert(all.end(), head.begin(), head.end());
      all = unique(std::move(all));
    }
    return all;
  }

  std::string_view rest_;
  bool exact_ = true;
  bool bounded_ = false;
  bool cut_ = false;
};

// Replaces "**" by "*", which is equivalent.
std::string with_single_stars(const std::string& pattern) {
  std::string all;
  for (const char c : pattern) {
    if (c != '*' || !all.ends_with('*')) all += c;
  }
  return all;
}

// Adds variants with more directories: unlike a pattern's '*', the expression's '*' may match slashes.
void add_in_directories(const std::string& pattern, std::size_t from, unsigned directories,
                        Alternatives& all) {
  all.push_back(pattern);
  if (std::ranges::count(pattern, '/') >= std::ptrdiff_t{directories}) return;
  // Continues after the last star that was changed, so that no pattern is repeated.
  for (std::size_t at = from; (at = pattern.find('*', at)) != std::string::npos; ++at) {
    if (at > 0 && pattern[at - 1] == '[') continue;  // a literal '*'
    add_in_directories(pattern.substr(0, at) + "*/*" + pattern.substr(at + 1), at + 2, directories, all);
  }
}

}  // namespace

std::optional<Globs> globs_of(std::string_view regex, unsigned directories) try {
  Globs globs = Translation(regex).take();
  std::ranges::transform(globs.patterns, globs.patterns.begin(), with_single_stars);
  Alternatives in_directories;
  for (const std::string& pattern : globs.patterns)
    add_in_directories(pattern, 0, directories, in_directories);
  globs.patterns = unique(std::move(in_directories));
  // The shortest first, in the usual order of a hand-written list.
  std::ranges::stable_sort(globs.patterns, {}, &std::string::size);
  return globs;
} catch (const Untranslatable&) {
  return std::nullopt;
}

}  // namespace plughost
