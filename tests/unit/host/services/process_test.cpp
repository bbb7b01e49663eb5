#include "host/services/process.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

TEST_CASE("a process is reported with its arguments, its options and its unit") {
  const MadeNode node;
  node.process(5, "/usr/bin/kubelet --root-dir=/a --v 2 --root-dir /b", "kubelet.service");
  node.tree.file("proc/6/cmdline");
  node.tree.file("proc/7/cgroup", "0::/init.scope\n");
  node.tree.directory("proc/1x");
  const auto process = process_of(node.host, 5);
  REQUIRE(process);
  CHECK(process->name() == "kubelet");
  CHECK(process->unit == "kubelet.service");
  CHECK(process->option("--root-dir") == "/b");
  CHECK(process->option("--v") == "2");
  CHECK_FALSE(process->option("--root"));
  CHECK(process->text() == "process 5 (/usr/bin/kubelet --root-dir=/a --v 2 --root-dir /b)");
  CHECK(process_of(node.host, 6)->text() == "process 6");
  CHECK_FALSE(process_of(node.host, 7));
  CHECK(processes(node.host).size() == 2);
}

TEST_CASE(
    "a process that has overwritten its command line with a title is recognised by the title's first word") {
  const MadeNode node;
  node.tree.file("proc/5/cmdline", std::string("/usr/local/bin/k3s server") + std::string(40, '\0'));
  CHECK(process_of(node.host, 5)->name() == "k3s");
  CHECK(process_of(node.host, 5)->text() == "process 5 (/usr/local/bin/k3s server)");
}
