#include "host/services/unit_file.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using Words = std::set<std::string>;
using Values = std::vector<std::string>;

namespace {

UnitSettings settings_of(const std::string& text) {
  UnitSettings settings;
  settings.read(text);
  return settings;
}

}  // namespace

TEST_CASE("settings add up, and an empty assignment clears the earlier ones") {
  const UnitSettings settings = settings_of(
      "[Unit]\nBefore=a.service b.service\nBefore=c.service\nAfter=x\nAfter=\nAfter = y\n# "
      "Before=d\n;Before=e\n");
  CHECK(settings.words("Before") == Words{"a.service", "b.service", "c.service"});
  CHECK(settings.values("After") == Values{"y"});
  CHECK(settings.values("Wants").empty());
  CHECK(settings.words("Wants").empty());
}

TEST_CASE("a line that ends in a backslash continues, and quotes around a word are removed") {
  const UnitSettings settings =
      settings_of("ExecStart=/usr/local/bin/k3s \\\n    server\nReadWritePaths=\"-/a\" -/b\nX=\\");
  CHECK(settings.values("ExecStart") == Values{"/usr/local/bin/k3s      server"});
  CHECK(settings.words("ReadWritePaths") == Words{"-/a", "-/b"});
}

TEST_CASE(
    "a unit file of the first directory is used with the drop-ins of all directories, and given files are "
    "skipped") {
  const MadeNode node;
  CHECK_FALSE(unit_file(node.host, "x.service"));
  node.tree.file("usr/lib/systemd/system/x.service", "[Unit]\nBefore=a\n");
  CHECK(unit_file(node.host, "x.service")->path == "/usr/lib/systemd/system/x.service");
  node.tree.file("etc/systemd/system/x.service", "[Unit]\nBefore=b\n");
  node.tree.file("etc/systemd/system/x.service.d/1.conf", "[Unit]\nBefore=c\n");
  node.tree.file("usr/lib/systemd/system/x.service.d/2.conf", "[Unit]\nBefore=d\n");
  node.tree.file("etc/systemd/system/x.service.d/3.txt", "[Unit]\nBefore=e\n");
  const auto unit = unit_file(node.host, "x.service");
  CHECK(unit->path == "/etc/systemd/system/x.service");
  CHECK(unit->settings.words("Before") == Words{"b", "c", "d"});
  CHECK(unit->text == "[Unit]\nBefore=b\n[Unit]\nBefore=c\n[Unit]\nBefore=d\n");
  const auto other = unit_file(node.host, "x.service",
                               {"/etc/systemd/system/x.service", "/etc/systemd/system/x.service.d/1.conf"});
  CHECK(other->path == "/usr/lib/systemd/system/x.service");
  CHECK(other->settings.words("Before") == Words{"a", "d"});
}

TEST_CASE(
    "a unit is enabled by a link in a different unit's wants or requires, and masked by a link to "
    "/dev/null") {
  const MadeNode node;
  node.tree.file("etc/systemd/system/x.service", "[Unit]\n");
  CHECK_FALSE(unit_file(node.host, "x.service")->enabled);
  CHECK_FALSE(unit_file(node.host, "x.service")->masked);
  for (const char* const relation : {"wants", "requires"}) {
    const std::string link = std::string("run/systemd/system/y.target.") + relation + "/x.service";
    node.tree.link(link, "/etc/systemd/system/x.service");
    CHECK(unit_file(node.host, "x.service")->enabled);
    node.tree.remove(link);
    CHECK_FALSE(unit_file(node.host, "x.service")->enabled);
  }
  node.tree.remove("etc/systemd/system/x.service");
  node.tree.link("etc/systemd/system/x.service", "/dev/null");
  CHECK(unit_file(node.host, "x.service")->masked);
}
