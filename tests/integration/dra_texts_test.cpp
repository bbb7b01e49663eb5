// What an administrator applies for entries that are advertised by DRA: `plughost dra`.

#include <doctest/doctest.h>

#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

struct Texts {
  Node node;

  explicit Texts(const std::string& resources, const std::string& top = "apiServer: {}\n") {
    node.set_top(top);
    node.configure(resources);
  }
  Finished print(std::vector<std::string> what) const {
    what.insert(what.begin(), "dra");
    what.insert(what.end(), {"--config", node.configuration()});
    return run_plughost(what);
  }
};

const std::string kEntries =
    "- {name: example.com/token, count: 2, advertise: dra}\n"
    "- {name: example.com/plain, count: 2}\n"
    "- {name: example.com/gpu-memory, gpu: {vendor: nvidia, unit: {memory: 1GiB}}, advertise: dra, near: "
    "example.com/token}\n";

}  // namespace

TEST_CASE("dra classes: a DeviceClass for each entry that is advertised so, in YAML") {
  const Finished classes = Texts(kEntries).print({"classes"});
  CHECK(classes.exit_code == 0);
  CHECK(classes.output ==
        R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: token.example.com
spec:
  selectors:
    - cel:
        expression: "device.driver == \"plughost.example.com\" && device.attributes[\"plughost.example.com\"].entry == \"example.com/token\""
  extendedResourceName: example.com/token
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu-memory.example.com
spec:
  selectors:
    - cel:
        expression: "device.driver == \"plughost.example.com\" && device.attributes[\"plughost.example.com\"].entry == \"example.com/gpu-memory\""
)");
}

TEST_CASE("dra classes: the driver is the one that the configuration names, and templates are no resource") {
  const Finished classes =
      Texts(
          "- {name: \"example.com/{name}\", udev: {subsystem: tty}, advertise: dra}\n"
          "- {name: example.com/shared, count: 2, replicas: 2, renameByDefault: true, advertise: dra}\n",
          "apiServer: {}\ndra: {driver: devices.example.net}\n")
          .print({"classes"});
  CHECK(classes.exit_code == 0);
  CHECK(classes.output.find(R"(device.driver == \"devices.example.net\")") != std::string::npos);
  CHECK(classes.output.find(R"(.entry == \"example.com/{name}\")") != std::string::npos);
  CHECK(classes.output.find("extendedResourceName") == std::string::npos);
}

TEST_CASE("dra templates: one of each entry, by the unit, and one of both where they are to be near") {
  const Finished templates = Texts(kEntries).print({"templates"});
  CHECK(templates.exit_code == 0);
  CHECK(templates.output.find("name: token.example.com\n") != std::string::npos);
  CHECK(templates.output.find("example.com/plain") == std::string::npos);
  CHECK(templates.output.find(R"(
            capacity:
              requests:
                memory: "1Gi"
)") != std::string::npos);
  CHECK(templates.output.find("matchAttribute: resource.kubernetes.io/pcieRoot\n") != std::string::npos);
}

TEST_CASE("dra rbac: what the configuration needs, for the account that is named") {
  const Finished access = Texts(kEntries).print({"rbac", "--account", "devices/host"});
  CHECK(access.exit_code == 0);
  for (const char* part : {"kind: ServiceAccount\nmetadata:\n  name: host\n  namespace: devices\n",
                           "kind: ClusterRole\n", "resourceslices", "resourceclaims", "nodes", "nodes/status",
                           "system:serviceaccount:devices:host", "kind: ValidatingAdmissionPolicyBinding\n"})
    CHECK_MESSAGE(access.output.find(part) != std::string::npos, part << "\n" << access.output);
  const Finished usual = Texts(kEntries).print({"rbac"});
  CHECK(usual.output.find("system:serviceaccount:plughost:plughost") != std::string::npos);
  for (const char* const wrong : {"host", "/host", "devices/", "Devices/host", "devices/ho st"}) {
    const Finished refused = Texts(kEntries).print({"rbac", "--account", wrong});
    CHECK(refused.exit_code == 1);
    CHECK(refused.output.find("--account is a namespace and the name") != std::string::npos);
  }
}

TEST_CASE("dra: a configuration that advertises nothing so, or that is wrong, is told") {
  const Finished none = Texts("- {name: example.com/plain, count: 2}\n").print({"classes"});
  CHECK(none.exit_code == 1);
  CHECK(none.output.find("no entry of") != std::string::npos);
  CHECK(none.output.find("has `advertise: dra`") != std::string::npos);
  const Finished wrong = Texts("- {name: example.com/plain, count: many}\n").print({"classes"});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.output.find("config.yaml:") != std::string::npos);
  CHECK(run_plughost({"dra"}).exit_code == 2);
  CHECK(run_plughost({"dra", "pods"}).exit_code == 2);
}
