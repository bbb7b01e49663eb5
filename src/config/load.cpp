#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/document/fields.hpp"
#include "base/document/text_file.hpp"
#include "base/document/yaml.hpp"
#include "base/text/text.hpp"
#include "config/advice.hpp"
#include "config/checks.hpp"
#include "config/config.hpp"
#include "config/other_plugin.hpp"
#include "config/read_entry.hpp"
#include "config/read_settings.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultInclude = "plugins.d/*.yaml";
constexpr std::string_view kListWords[] = {"resources", "devices"};  // the keys of the list of entries

std::string texts_of(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) all += (all.empty() ? "" : "\n") + diagnostic.text();
  return all;
}

// A missing directory has no files; an unreadable directory may have some.
int stop_at_unreadable(const char*, int error) { return error != ENOENT && error != ENOTDIR; }

// Returns the pattern below `base`, in whose name wildcards are escaped.
std::string pattern_below(const fs::path& base, const fs::path& pattern) {
  const bool is_below = pattern.is_relative() && !base.empty();
  return (is_below ? without_wildcards((base / "").native()) : "") + pattern.string();
}

// Returns the matching paths, sorted. Throws std::system_error if a directory cannot be read.
std::vector<fs::path> expand(const std::string& pattern) {
  glob_t found{};
  errno = 0;
  const int result = ::glob(pattern.c_str(), 0, stop_at_unreadable, &found);
  const int error = errno;
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  if (result == GLOB_ABORTED) throw std::system_error(error, std::generic_category());
  std::vector<fs::path> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::ranges::sort(paths);
  return paths;
}

// Returns true if the list of entries is present but empty. A file without the list may have been truncated.
bool is_empty_on_purpose(const Node& root) {
  return std::ranges::any_of(kListWords, [&](std::string_view word) {
    const Node* const list = root.find(word);
    return list && list->kind == Node::Kind::kSequence;
  });
}

class Loader {
 public:
  Config load(const fs::path& file, const Overrides& overrides) {
    supposed_ = overrides.supposed;
    main_text_ = overrides.text;
    has_directory_ = !overrides.text;
    is_new(file);
    if (const Node* const root = read_document(file, nullptr)) {
      if (has_directory_) read_node_file(file.parent_path() / kNodeFile, overrides.node_file);
      read_main(*root, file, overrides);
      if (entries_.empty() && !is_empty_on_purpose(*root) && !diagnostics_.has_errors()) {
        diagnostics_.error(
            {.file = file.string()}, "resources",
            "nothing to do: neither this file nor what it includes has an entry in `resources`; "
            "on a node that offers nothing yet write `resources: []`");
      }
    }
    std::vector<Diagnostic> errors = check_all();
    // Diagnostics are sorted in the order of the files.
    const auto position = [this](const Diagnostic& diagnostic) {
      const auto in = std::ranges::find(config_.files.paths, fs::path(diagnostic.mark.file.text()));
      return std::tuple(in - config_.files.paths.begin(), diagnostic.mark.line, diagnostic.mark.column);
    };
    std::ranges::stable_sort(errors, {}, position);
    std::ranges::stable_sort(config_.warnings, {}, position);
    if (const std::size_t more = diagnostics_.error_count() - errors.size(); more > 0)
      errors.push_back({.mark = {.file = file.string()}, .what = std::to_string(more) + " more errors"});
    advise(errors);
    if (!errors.empty()) throw ConfigError(with_hint(std::move(errors), file), std::move(config_.files));

    if (!config_.watch) config_.files.sources.clear();
    for (EntryDraft& entry : entries_) config_.resources.push_back(std::move(entry.config));
    return std::move(config_);
  }

  std::vector<Diagnostic> check(const std::string& text, const std::string& name) {
    has_directory_ = false;
    if (const Node* const root = parse_document(text, name, true)) read_main(*root, name, {});
    return check_all();
  }

 private:
  // The place of a message about a file.
  struct Place {
    Mark mark;
    std::string path;
  };

  // Returns all errors that were kept, after the checks of the configuration as a whole. The warnings go to
  // config_.
  std::vector<Diagnostic> check_all() {
    settings_.check(entries_);
    check_entries(entries_, diagnostics_);
    std::vector<Diagnostic> errors;
    for (const Diagnostic& diagnostic : diagnostics_.all()) {
      const bool is_error = diagnostic.severity == Diagnostic::Severity::kError;
      (is_error ? errors : config_.warnings).push_back(diagnostic);
    }
    return errors;
  }

  using When = std::shared_ptr<const Condition>;  // the condition of an `include`; nullptr: none

  // Returns nullopt after reporting an error, at `included_at` if an included file cannot be read.
  std::optional<std::string> read_text(const fs::path& file, const Place* included_at) {
    config_.files.paths.push_back(file);
    follow(file);
    auto given = std::exchange(main_text_, std::nullopt);
    auto text = given ? std::variant<std::string, FileError>(*std::move(given)) : read_text_file(file);
    if (const auto* error = std::get_if<FileError>(&text)) {
      if (included_at)
        diagnostics_.error(included_at->mark, included_at->path, quote(file.string()) + ' ' + error->what);
      else
        diagnostics_.error({.file = file.string()}, "", "the file " + error->what);
      return std::nullopt;
    }
    std::uint64_t& hash = config_.files.hash;
    hash = fnv1a(std::get<std::string>(text), hash == 0 ? kFnvStart : hash);
    return std::get<std::string>(std::move(text));
  }

  // Returns nullptr after reporting an error like read_text().
  const Node* read_document(const fs::path& file, const Place* included_at) {
    const auto text = read_text(file, included_at);
    return text ? parse_document(*text, file.string(), !included_at) : nullptr;
  }

  const Node* parse_document(const std::string& text, const std::string& name, bool is_main) {
    auto parsed = parse_yaml(text, name, diagnostics_);
    if (!parsed) return nullptr;
    const Node* const root = &documents_.emplace_back(*std::move(parsed));
    if (is_main) {
      other_plugin_ = other_plugin(*root);
      is_manifest_ = root->find("apiVersion") && root->find("kind");
      const Node& spec = or_nothing(root->find("spec"));
      if (is_manifest_ && or_nothing(spec.find("resources")).kind == Node::Kind::kSequence)
        wrapper_ = root->find("apiVersion")->mark;
    }
    if (root->kind == Node::Kind::kMap) return root;
    if (root->kind == Node::Kind::kNull)
      diagnostics_.error({.file = name}, "",
                         "the file is empty; it should have a map with `resources:` in it");
    else
      diagnostics_.error(
          root->mark, "",
          "the file should have a map with `resources:` in it, and this is " + root->kind_name());
    return nullptr;
  }

  // Reads node.yaml before the main file, which overrides it.
  void read_node_file(const fs::path& file, const std::optional<std::string>& supposed) {
    std::error_code failed;
    if (supposed ? supposed->empty() : !fs::exists(file, failed)) return follow(file);
    is_new(file);  // marks the file as read, so that no `include` reads it
    const auto text = supposed ? supposed : read_text(file, nullptr);
    auto root = text ? parse_yaml(*text, file.string(), diagnostics_) : std::nullopt;
    if (!root || root->kind == Node::Kind::kNull) return;
    if (root->kind != Node::Kind::kMap)
      return diagnostics_.error(root->mark, "", "the file should have a map with `kubelet:` or `cdi:` in it");
    settings_.read_node_file(documents_.emplace_back(*std::move(root)));
  }

  void read_main(const Node& root, const fs::path& file, const Overrides& overrides) {
    Fields top(root, "", diagnostics_);
    base_ = file.parent_path();
    domain_ = read_domain(top, "");
    settings_.read_main(top, overrides);
    read_resources(top, domain_, nullptr);
    read_includes(top, file);
  }

  std::string read_domain(Fields& top, std::string_view fallback) {
    if (!top.has("domain")) return std::string(fallback);
    const std::string domain = top.text("domain", "");
    const std::string error = resource_name_error(domain + "/x");
    if (error.empty()) return domain;
    top.error("domain", quote(domain) + " is not a valid domain. " + error);
    // A valid domain is used instead, so that no errors in dependent names are reported as well.
    return "vendor.example";
  }

  void read_resources(Fields& top, std::string_view domain, const When& when) {
    if (top.has("resources") && top.has("devices"))
      top.error("devices",
                "this is an alias of `resources`, which is present already; move its entries there");
    for (const std::string_view key : kListWords) {
      const std::vector<Node>& items = top.items(key);
      entries_.reserve(entries_.size() + items.size());
      for (std::size_t i = 0; const Node& item : items) {
        const std::string path = std::string(key) + '[' + std::to_string(i++) + ']';
        EntryDraft& entry = entries_.emplace_back(read_entry(item, path, domain, diagnostics_));
        if (when) entry.config.when.insert(entry.config.when.begin(), when);
      }
    }
  }

  // Reads patterns, or maps of a pattern and the condition of the files that the pattern matches.
  void read_includes(Fields& top, const fs::path& file) {
    const Node* const node = top.node("include");
    if (!node) {
      if (!has_directory_) return;
      const Place place{{.file = file.string()}, "include"};
      return include_all(top, "include", std::string(kDefaultInclude), place, nullptr);
    }
    const bool has_maps =
        node->kind == Node::Kind::kSequence &&
        std::ranges::any_of(node->items, [](const Node& item) { return item.kind == Node::Kind::kMap; });
    if (!has_maps) {
      for (const std::string& pattern : top.texts("include"))
        include_all(top, "include", pattern, {node->mark, "include"}, nullptr);
      return;
    }
    for (std::size_t i = 0; const Node& item : node->items) {
      const Place place{item.mark, "include[" + std::to_string(i++) + ']'};
      if (item.kind == Node::Kind::kScalar) {
        include_all(top, "include", item.scalar, place, nullptr);
        continue;
      }
      Fields fields(item, place.path, diagnostics_);
      const std::string pattern = fields.require_text("file");
      When when;
      if (const Node* const condition = fields.node("when"))
        when = std::make_shared<const Condition>(
            Condition::read(*condition, fields.path_of("when"), diagnostics_));
      if (!pattern.empty()) include_all(fields, "file", pattern, place, when);
    }
  }

  void include_all(Fields& where, const std::string& key, const std::string& pattern, const Place& place,
                   const When& when) {
    if (!has_wildcards(pattern)) return include(base_ / pattern, place, when);
    follow(base_ / pattern);
    try {
      const std::string whole = pattern_below(base_, pattern);
      for (const fs::path& path : suppose(whole, expand(whole))) include(path, place, when);
    } catch (const std::system_error& exception) {
      where.error(key, "the files of " + quote(pattern) + " cannot be listed: " + exception.code().message());
    }
  }

  // Returns the paths that match the pattern under the assumptions (see Overrides), sorted.
  std::vector<fs::path> suppose(const std::string& pattern, std::vector<fs::path> paths) const {
    for (const auto& [path, file] : supposed_) {
      if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
      std::erase(paths, path);
      if (file) paths.insert(std::ranges::lower_bound(paths, path), path);
    }
    return paths;
  }

  void include(const fs::path& path, const Place& place, const When& when) {
    const auto supposed = supposed_.find(path);
    if (supposed != supposed_.end() && !supposed->second)
      return diagnostics_.error(place.mark, place.path, quote(path.string()) + " would not be there");
    const fs::path& file = supposed == supposed_.end() ? path : *supposed->second;
    if (!is_new(file)) return;
    const Node* const root = read_document(file, &place);
    if (!root) return;
    Fields top(*root, "", diagnostics_);
    const std::string domain = read_domain(top, domain_);
    settings_.read_included(top);
    read_resources(top, domain, when);
    settings_.refuse_main_only(*root, top);
  }

  // Watches the directories that lead to the files, links included.
  void follow(const fs::path& pattern) {
    std::error_code failed;
    for (WatchedDirectory& each : HostRoot().glob(fs::absolute(pattern, failed).lexically_normal()).watch) {
      each.what = WatchFor::kContents;
      config_.files.sources.push_back(std::move(each));
    }
  }

  bool is_new(const fs::path& file) {
    std::error_code failed;
    const fs::path path = fs::canonical(file, failed);
    return seen_.insert(failed ? file : path).second;
  }

  // Errors in another plugin's configuration are not useful, unless that plugin has plughost's keys.
  std::vector<Diagnostic> with_hint(std::vector<Diagnostic> errors, const fs::path& file) const {
    if (wrapper_) {
      return {{.mark = *wrapper_,
               .what =
                   "a configuration is no Kubernetes object: remove apiVersion, kind and metadata, and write "
                   "what is below `spec` at the top level of the file"}};
    }
    if (is_manifest_ && !other_plugin_) {
      return {
          {.mark = {.file = file.string()},
           .what = "this is a manifest of Kubernetes', not a configuration. If a configuration of plughost's "
                   "is in it, as under `data` of a ConfigMap, put its text in a file of its own; "
                   "`plughost convert " +
                   file.string() + "` converts that of another plugin"}};
    }
    if (!other_plugin_) return errors;
    if (*other_plugin_ != OtherPlugin::kGenericDevicePlugin) errors.clear();
    Diagnostic hint{.mark = {.file = file.string()}};
    hint.what = "this looks like the configuration of " + std::string(name_of(*other_plugin_)) +
                "; `plughost convert " + file.string() + "` prints it as one of plughost's";
    errors.push_back(std::move(hint));
    return errors;
  }

  decltype(Overrides::supposed) supposed_;
  std::optional<std::string> main_text_;  // of the main file, until it is read
  bool has_directory_ = true;  // the main file has one, for node.yaml and for what is included by default
  Diagnostics diagnostics_;
  Config config_;
  SettingsReader settings_{config_, diagnostics_};
  std::list<Node> documents_;        // of all files
  std::vector<EntryDraft> entries_;  // refer to documents_
  fs::path base_;                    // the main file's directory
  std::string domain_;               // of the main file
  std::set<fs::path> seen_;
  std::optional<OtherPlugin> other_plugin_;  // whose configuration the main file looks like
  bool is_manifest_ = false;                 // the main file is a Kubernetes object
  std::optional<Mark> wrapper_;              // an object whose `spec` has the keys of a configuration
};

}  // namespace

ConfigError::ConfigError(std::vector<Diagnostic> found, ConfigFiles read)
    : std::runtime_error(texts_of(found)), diagnostics(std::move(found)), files(std::move(read)) {}

Config load_config(const fs::path& file, const Overrides& overrides) {
  return Loader().load(file, overrides);
}

std::vector<Diagnostic> errors_of(const std::string& text, const std::string& name) {
  return Loader().check(text, name);
}

}  // namespace plughost
