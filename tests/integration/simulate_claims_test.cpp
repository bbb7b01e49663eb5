// plughost simulate --claim: what the containers of claims would get, without a cluster.

#include <doctest/doctest.h>

#include "base/json.hpp"
#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// results: of the allocation.
std::string claim(const std::string& name, const std::string& results) {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " + name +
         ", namespace: default, uid: uid-" + name +
         "}\nstatus:\n  allocation:\n    devices:\n      results: [" + results + "]\n";
}

std::string result(const std::string& request, const std::string& device,
                   const std::string& driver = "plughost.example.com") {
  return "{request: " + request + ", driver: " + driver +
         ", pool: worker-1/example.com/port, device: " + device + "}";
}

// Each file in the node's dev is a device of the pool.
struct Ports {
  Node node;

  Ports() {
    node.files().file("dev/tty-a");
    node.files().file("dev/tty-b");
    node.configure("- {name: example.com/port, directory: {path: " + node.path("dev") +
                   "}, env: {PORTS: \"{id}\"}, advertise: dra}\napiServer: {kubeconfig: " +
                   node.path("kubeconfig") + "}\n");
  }
  Finished run(const std::string& claims, const std::string& format = "table") {
    node.files().file("claims", claims);
    return run_plughost(
        {"simulate", "--config", node.configuration(), "--claim", node.path("claims"), "-o", format});
  }
};

}  // namespace

TEST_CASE("simulate: what the containers of a claim get with each of its requests") {
  Ports ports;
  const std::string both = claim("both", result("port/any", "tty-b") + ", " + result("port/any", "tty-a") +
                                             ", " + result("gpu", "gpu0", "gpu.nvidia.com"));
  const Finished json = ports.run(both, "json");
  REQUIRE_MESSAGE(json.exit_code == 0, json.output);
  const Json told = Json::parse(json.output);
  CHECK(told["driver"].text() == "plughost.example.com");
  REQUIRE(told["claims"].array().size() == 1);
  const Json& it = told["claims"].array()[0];
  CHECK(it["namespace"].text() == "default");
  CHECK(it["claim"].text() == "both");
  REQUIRE(it["requests"].array().size() == 1);
  const Json& request = it["requests"].array()[0];
  CHECK(request["request"].text() == "port");
  CHECK(request["devices"].dump() == R"([{"pool":"worker-1/example.com/port","device":"tty-b"},)"
                                     R"({"pool":"worker-1/example.com/port","device":"tty-a"}])");
  CHECK(request["answer"]["cdi"].dump() ==
        R"(["example.com/port=tty-b","plughost.example.com/claim=uid-both-port",)"
        R"("example.com/port=tty-a"])");
  CHECK(request["answer"]["byCdi"]["env"]["PORTS"].text() == "tty-b,tty-a");

  const Finished words = ports.run(both);
  CHECK(words.exit_code == 0);
  for (const char* line : {"claim default/both\n", "  gives a container with its request port\n",
                           "    device      worker-1/example.com/port/tty-b\n", "PORTS=tty-b,tty-a\n"})
    CHECK_MESSAGE(has(words.output, line), words.output);
}

TEST_CASE("simulate: of a list of claims those of the driver, and who of them would be refused") {
  Ports ports;
  const auto item = [](const std::string& text) { return "---\n" + text; };
  const Finished told = ports.run(item(claim("first", result("port", "tty-a"))) +
                                      item(claim("other", result("gpu", "gpu0", "gpu.nvidia.com"))) +
                                      item(claim("again", result("port", "tty-a"))) +
                                      item(claim("gone", result("port", "tty-c"))),
                                  "json");
  CHECK(told.exit_code == 1);
  const Json json = Json::parse(told.output);
  const Json::Array& claims = json["claims"].array();
  REQUIRE(claims.size() == 3);
  CHECK(claims[0]["refused"].is_null());
  CHECK(claims[1]["refused"].text() ==
        "device \"tty-a\" of example.com/port is still held by claim default/first, which has not been given "
        "back");
  CHECK(claims[2]["refused"].text() == "example.com/port lists no device \"tty-c\" now");
}

TEST_CASE("simulate: a file without a claim of the driver, and a command line that says nothing") {
  Ports ports;
  const Finished other = ports.run("kind: Pod\nmetadata: {name: a}\n");
  CHECK(other.exit_code == 1);
  CHECK_MESSAGE(has(other.output, "this is a Pod, and resourceclaims are wanted"), other.output);
  const Finished pending = ports.run(
      "kind: ResourceClaim\nmetadata: {name: a, namespace: default, uid: u}\nspec: {devices: {}}\n");
  CHECK(pending.exit_code == 1);
  CHECK_MESSAGE(has(pending.output, "no devices are allocated to the claim default/a"), pending.output);
  const Finished nothing = run_plughost({"simulate", "--config", ports.node.configuration()});
  CHECK(nothing.exit_code != 0);
  CHECK_MESSAGE(has(nothing.output, "the name of a resource"), nothing.output);
}
