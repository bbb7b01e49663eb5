#include "config/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using Names = std::vector<std::string>;
using enum Preset::Link;

std::string counted_entry(const std::string& name) { return "resources: [{name: " + name + ", count: 1}]\n"; }

// A configuration without entries, and three presets.
struct Rig {
  TempDir dir;
  Presets presets{dir.at("share"), dir.at("etc/config.yaml")};

  Rig() {
    dir.file("etc/config.yaml", "resources: []\n");
    dir.file("share/kvm.yaml",
             "# Virtual machines: /dev/kvm,\n# shared. And more.\n" + counted_entry("example.com/kvm"));
    dir.file("share/fuse.yaml", "# File systems.\n" + counted_entry("example.com/fuse"));
    dir.file("share/tun.yaml", "# Networks\n" + counted_entry("example.com/tun"));
    dir.file("share/.hidden.yaml", "not listed");
    dir.file("share/README", "not listed");
  }

  // Returns the entries of plugins.d as "kvm -> share/kvm.yaml", or as "kvm" for a file that is not a link.
  std::string links() const {
    if (!fs::exists(dir.at("etc/plugins.d"))) return "no directory";
    Names found;
    for (const auto& each : fs::directory_iterator(dir.at("etc/plugins.d"))) {
      std::string line = each.path().stem();
      if (each.is_symlink()) line += " -> " + without_root(fs::read_symlink(each.path()));
      found.push_back(std::move(line));
    }
    std::ranges::sort(found);
    return joined(found, ", ");
  }
  Names enable(const Names& names) const { return names_of(presets.enable(names)); }
  Names disable(const Names& names) const { return names_of(presets.disable(names)); }
  template <class Act>
  std::string refusal(Act act) const {
    try {
      act();
    } catch (const std::runtime_error& error) {
      return without_root(error.what());
    }
    return "it was done";
  }

 private:
  static Names names_of(const std::vector<Preset>& presets) {
    Names names;
    for (const Preset& preset : presets) names.push_back(preset.name);
    return names;
  }
  std::string without_root(std::string text) const {
    const std::string root = dir.path().string();
    for (std::size_t at; (at = text.find(root)) != std::string::npos;) text.erase(at, root.size());
    return text;
  }
};

TEST_CASE("presets are listed by name, with the first sentence of their description") {
  const Rig rig;
  const std::vector<Preset> all = rig.presets.list();
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "fuse");
  CHECK(all[0].what == "File systems");
  CHECK(all[1].what == "Virtual machines: /dev/kvm, shared");
  CHECK(all[1].file == rig.dir.at("share/kvm.yaml"));
  CHECK(all[2].what == "Networks");
  CHECK(all[2].link == kNone);
}

TEST_CASE("a preset is enabled by a link to it, once") {
  const Rig rig;
  CHECK(rig.enable({"kvm", "kvm", "tun"}) == Names{"kvm", "tun"});
  CHECK(rig.links() == "kvm -> /share/kvm.yaml, tun -> /share/tun.yaml");
  CHECK(rig.presets.get("kvm").link == kOurs);
  CHECK(rig.enable({"tun", "fuse", "kvm"}) == Names{"fuse"});
  CHECK(rig.enable({"fuse"}).empty());
  CHECK(load_config(rig.dir.at("etc/config.yaml")).resources.size() == 3);
}

TEST_CASE("a preset is disabled by removing its link, and no other") {
  const Rig rig;
  rig.enable({"kvm", "tun", "fuse"});
  CHECK(rig.disable({"tun", "tun", "kvm"}) == Names{"tun", "kvm"});
  CHECK(rig.links() == "fuse -> /share/fuse.yaml");
  CHECK(rig.disable({"tun"}).empty());
  CHECK(fs::exists(rig.dir.at("share/tun.yaml")));
}

TEST_CASE("a file that is not a link to the preset is neither replaced nor removed") {
  const Rig rig;
  rig.dir.file("etc/plugins.d/kvm.yaml", counted_entry("example.com/mine"));
  rig.dir.file("etc/elsewhere.yaml", counted_entry("example.com/other"));
  rig.dir.link("etc/plugins.d/tun.yaml", "../elsewhere.yaml");
  CHECK(rig.presets.get("kvm").link == kOther);
  CHECK(rig.presets.get("tun").link == kOther);
  CHECK(rig.refusal([&] {
    rig.enable({"fuse", "kvm"});
  }) == "/etc/plugins.d/kvm.yaml is there, and no link to /share/kvm.yaml; nothing was changed: move it away "
        "first, or keep it and leave the preset out");
  CHECK(rig.refusal([&] { rig.disable({"tun"}); }) ==
        "/etc/plugins.d/tun.yaml is not a link to /share/tun.yaml; nothing was changed: if it is to go, "
        "remove it "
        "by hand");
  CHECK(rig.links() == "kvm, tun -> ../elsewhere.yaml");
}

TEST_CASE("a link that leads to the preset by a relative path is accepted") {
  const Rig rig;
  rig.dir.link("etc/plugins.d/kvm.yaml", "../../share/kvm.yaml");
  CHECK(rig.presets.get("kvm").link == kOurs);
  CHECK(rig.enable({"kvm"}).empty());
  CHECK(rig.disable({"kvm"}) == Names{"kvm"});
}

TEST_CASE("a configuration that would become invalid stays unchanged") {
  const Rig rig;
  rig.dir.file("etc/config.yaml", counted_entry("example.com/kvm"));
  CHECK_THROWS_AS(rig.enable({"fuse", "kvm"}), ConfigError);
  CHECK(rig.refusal([&] { rig.enable({"kvm"}); })
            .starts_with("/share/kvm.yaml:3:44: resources[0].count: the id 'example.com/kvm-0' of "));
  CHECK(rig.links() == "no directory");
  // After this the preset is the only entry, and disabling it is refused.
  rig.dir.file("etc/config.yaml", "log: {level: info}\n");
  rig.enable({"fuse"});
  CHECK_THROWS_AS(rig.disable({"fuse"}), ConfigError);
  CHECK(rig.links() == "fuse -> /share/fuse.yaml");
}

TEST_CASE("a preset that the configuration would not include is not linked") {
  const Rig rig;
  rig.dir.file("etc/config.yaml", "include: [site.d/*.yaml]\nresources: []\n");
  CHECK(
      rig.refusal([&] { rig.enable({"kvm"}); }) ==
      "/etc/config.yaml does not include /etc/plugins.d/kvm.yaml; nothing was changed: add plugins.d/*.yaml "
      "to its `include`");
  CHECK(rig.links() == "no directory");
}

TEST_CASE("a preset that is already linked under a different name can be linked") {
  const Rig rig;
  rig.dir.link("etc/plugins.d/10-kvm.yaml", rig.dir.at("share/kvm.yaml"));
  CHECK(rig.presets.get("kvm").link == kNone);
  CHECK(rig.enable({"kvm"}) == Names{"kvm"});
  CHECK(load_config(rig.dir.at("etc/config.yaml")).resources.size() == 1);
}

TEST_CASE("a link whose preset is gone is listed, and can be removed") {
  const Rig rig;
  rig.enable({"kvm", "fuse"});
  rig.dir.remove("share/kvm.yaml");
  const Preset gone = rig.presets.get("kvm");
  CHECK_FALSE(gone.there);
  CHECK(gone.link == kOurs);
  CHECK(rig.presets.get("fuse").there);
  CHECK(rig.refusal([&] { rig.enable({"kvm"}); }) ==
        "/share/kvm.yaml does not exist any more, and its link is dangling; `plughost preset disable kvm` "
        "takes that away");
  CHECK(rig.disable({"kvm"}) == Names{"kvm"});
  CHECK(rig.links() == "fuse -> /share/fuse.yaml");
  CHECK_THROWS_AS(rig.presets.get("kvm"), PresetError);
}

TEST_CASE("an unknown preset is refused with the most similar one") {
  const Rig rig;
  CHECK(rig.refusal([&] {
    rig.enable({"fuse", "kvn"});
  }) == "there is no preset 'kvn' in /share (did you mean 'kvm'?); `plughost preset list` shows them");
  for (const char* name : {"../etc/config", ".hidden", "", "README", "kvm.yaml"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(rig.presets.get(name), PresetError);
  }
  CHECK(rig.links() == "no directory");
  const Presets none(rig.dir.at("nowhere"), rig.dir.at("etc/config.yaml"));
  CHECK(rig.refusal([&] { none.list(); }) ==
        "there are no presets in /nowhere; they come with the package, and --presets names a different "
        "directory");
}

TEST_CASE("a link that cannot be made is reported") {
  const Rig rig;
  rig.dir.link("etc/plugins.d", rig.dir.at("nowhere/below"));
  CHECK(rig.refusal([&] { rig.enable({"kvm"}); }) ==
        "/etc/plugins.d/kvm.yaml cannot be made: No such file or directory; nothing was changed");
}

}  // namespace
}  // namespace plughost
