#include "tools/convert/manifests/arguments.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "tools/convert/peers/peers.hpp"

namespace plughost {
namespace {

// Returns the path in "registry.example/squat/generic-device-plugin:latest@sha256:…".
std::string_view path_of_image(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.rfind(':');
  const bool is_tag = colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos;
  return is_tag ? image.substr(0, colon) : image;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string_view flag_of(std::string_view word) {
  const std::size_t dashes = word.find_first_not_of('-');
  if (dashes == 0 || dashes == std::string_view::npos) return {};
  word.remove_prefix(dashes);
  return word.substr(0, word.find('='));
}

// Returns the first peer for which a word of the list matches; nullptr: none.
template <typename Matches>
const Peer* first_peer(std::string_view list, const Matches& matches) {
  const auto found =
      std::ranges::find_if(peers(), [&](const Peer& peer) { return any_word(at(*peer.row, list), matches); });
  return found == peers().end() ? nullptr : &*found;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Calls `matches` with the words of a name such as "nvidia-device-plugin-ctr", until it returns true.
template <typename Matches>
bool any_part(std::string_view name, const Matches& matches) {
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("-_."));
    name.remove_prefix(std::min(word.size() + 1, name.size()));
    if (matches(word)) return true;
  }
  return false;
}

const Peer* peer_of_image(const PluginCommand& line) {
  const std::string_view path = path_of_image(line.image);
  const Peer* const peer = first_peer("images", [&](std::string_view word) { return ends_in(path, word); });
  if (peer || base_name(path) != "k8s-device-plugin") return peer;
  // In a mirror's own folder, "k8s-device-plugin" is the plugin of which the container's name speaks.
  return first_peer("makers", [&](std::string_view maker) {
    return any_part(line.container, [&](std::string_view part) { return part == maker; });
  });
}

std::string_view stranger_in(const PluginCommand& line) {
  std::string_view name = stranger_of(path_of_image(line.image), "");
  for (const std::string& word : line.words) {
    if (name.empty()) name = stranger_of("", flag_of(word));
  }
  return name;
}

// Returns true for the name of a different plugin: "volcano-vgpu-device-plugin", not "k8s-device-plugin".
bool is_another(std::string_view image, const Peer& peer) {
  const std::string_view name = base_name(path_of_image(image));
  const auto is_maker = [&](std::string_view part) { return has_word(at(*peer.row, "makers"), part); };
  const auto is_other = [](std::string_view part) {
    return !is_one_of(part, {"k8s", "kube", "kubernetes", "device", "plugin", "gpu", "deviceplugin"});
  };
  return name.find("plugin") != std::string_view::npos && !any_part(name, is_maker) &&
         any_part(name, is_other);
}

// Returns true if the container runs a different program of the plugin's image, such as a labeller.
bool runs_another_program(const PluginCommand& line) {
  if (line.image.find(":labeller") != std::string::npos) return true;
  return !line.words.empty() &&
         is_one_of(base_name(line.words.front()),
                   {"config-manager", "gpu-feature-discovery", "mps-control-daemon", "k8s-node-labeller"});
}

bool has_groups(const PluginCommand& line) {
  return std::ranges::any_of(
      line.words, [](const std::string& word) { return word.find("groups") != std::string::npos; });
}

// Reads `image` as a text, as a text beside `repository` and `version`, or as a map with these.
std::string image_of(const Node& container) {
  const Node& image = at(container, "image");
  const bool is_map = image.kind == Node::Kind::kMap;
  const Node& parts = is_map ? image : container;
  std::string path;
  for (const std::string& part :
       {text_at(parts, "registry"), text_at(parts, "repository"), is_map ? std::string() : image.scalar}) {
    if (!part.empty()) path += (path.empty() ? "" : "/") + part;
  }
  if (!is_map && image.scalar.empty()) return {};
  const std::string& tag = text_at(parts, is_map ? "tag" : "version");
  return path + (tag.empty() || path.empty() ? "" : ':' + tag);
}

// Reads a list of {name, value}, or a map as in Helm charts.
std::map<std::string, std::string> environment_of(const Node& container) {
  std::map<std::string, std::string> all;
  const Node& env = at(container, "env");
  for (const Node& item : env.items) {
    if (const std::string name = text_at(item, "name"); !name.empty()) all[name] = text_at(item, "value");
  }
  for (const auto& [key, value] : env.members)
    all[key.scalar] = value.kind == Node::Kind::kMap ? text_at(value, "value") : value.scalar;
  return all;
}

// Expands $(NAME) as the kubelet does.
std::string expanded(std::string_view word, const std::map<std::string, std::string>& environment) {
  std::string all;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = word.substr(at).starts_with("$(") ? word.find(')', at) : std::string_view::npos;
    const auto found = end == std::string_view::npos
                           ? environment.end()
                           : environment.find(std::string(word.substr(at + 2, end - at - 2)));
    if (found == environment.end()) {
      all += word[at++];
    } else {
      all += found->second;
      at = end + 1;
    }
  }
  return all;
}

}  // namespace

std::optional<OtherPlugin> running_plugin(const PluginCommand& line) {
  if (!stranger_in(line).empty()) return std::nullopt;
  if (const Peer* const peer = peer_of_image(line))
    return runs_another_program(line) ? std::nullopt : std::optional(peer->plugin);
  const auto found = [&line](const Peer* peer) {
    return peer && !is_another(line.image, *peer) ? std::optional(peer->plugin) : std::nullopt;
  };
  for (const std::string& word : line.words) {
    const bool flag = word.starts_with('-');
    const std::string_view name = flag ? flag_of(word) : base_name(word);
    // Many programs have these flags; of one with an image of its own, only the flag's value is a sign.
    if (flag && !line.image.empty() && is_one_of(name, {"device", "domain", "pulse"}) && !has_groups(line))
      continue;
    const auto plugin =
        found(first_peer(flag ? "flags" : "programs", [&](std::string_view sign) { return sign == name; }));
    if (plugin) return plugin;
  }
  return found(first_peer(
      "variables", [&](std::string_view name) { return line.environment.contains(std::string(name)); }));
}

std::string unknown_plugin(const PluginCommand& line) {
  const std::string image(path_of_image(line.image));
  if (const std::string_view stranger = stranger_in(line); !stranger.empty())
    return std::string(stranger) + (image.empty() ? "" : " (" + image + ')');
  const bool is_plugin =
      base_name(image).find("device-plugin") != std::string_view::npos && !peer_of_image(line);
  return is_plugin && !running_plugin(line) ? "the image " + image : "";
}

PluginCommand command_of(const Node& container, const std::string& place, Diagnostics& diagnostics) {
  PluginCommand line{.image = image_of(container),
                     .environment = environment_of(container),
                     .container = text_at(container, "name")};
  for (const char* key : {"command", "args"}) {
    const Node& words = at(container, key);
    if (words.kind == Node::Kind::kScalar) line.words.push_back(words.scalar);
    for (const Node& word : words.items) line.words.push_back(expanded(word.scalar, line.environment));
  }
  const bool by_shell = line.words.size() > 2 && line.words[1].ends_with('c') &&
                        is_one_of(base_name(line.words[0]), {"sh", "bash", "ash", "dash"});
  if (by_shell) line.words = words_of(line.words[2], place, diagnostics);
  return line;
}

}  // namespace plughost
