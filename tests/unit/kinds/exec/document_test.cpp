#include "kinds/exec/document.hpp"
#include "places.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace plughost;

namespace {

std::string error_of(const std::string& text) {
  try {
    read_exec_document(text);
  } catch (const DocumentError& exception) {
    return exception.what();
  }
  return "it was taken";
}

// Returns the error of a document that has one device "a" with the members `more`.
std::string error_with(const std::string& more) {
  return error_of(R"({"devices": [{"id": "a", )" + more + "}]}");
}

nlohmann::json schema_of(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(test::in_source("/docs/") + name));
}

// Returns the keys of an object, in alphabetical order.
std::string keys(const nlohmann::json& object) {
  std::string list;
  for (const auto& item : object.items()) list += (list.empty() ? "" : ", ") + item.key();
  return list;
}

}  // namespace

TEST_CASE("every member of a document's device is read") {
  const auto devices = read_exec_document(R"({"devices": [
    {"id": "b", "healthy": false, "reason": "too hot\nsecond line", "numa": [1, 0]},
    {"id": "a", "numa": 1,
     "nodes": ["/dev/a{1}", {"hostPath": "/dev/b", "containerPath": "/dev/disk{n}", "permissions": "r"}],
     "mounts": [{"hostPath": "/srv/a", "readOnly": true}],
     "env": {"DISK_{n}": "a", "EMPTY": ""},
     "attributes": {"serial": "S1"}}]})");
  REQUIRE(devices.size() == 2);
  CHECK(devices[0] == Device{.id = "b", .error = "too hot", .numa_nodes = {1, 0}});
  CHECK(devices[1] ==
        Device{.id = "a",
               .numa_nodes = {1},
               .nodes = {{.host_path = "/dev/a{1}", .container_path = "/dev/a{{1}}", .permissions = "rw"},
                         {.host_path = "/dev/b", .container_path = "/dev/disk{n}", .permissions = "r"}},
               .mounts = {{.host_path = "/srv/a", .container_path = "/srv/a", .read_only = true}},
               .env = {{.name = "DISK_{n}", .value = "a"}, {.name = "EMPTY", .value = ""}},
               .attributes = {{.name = "serial", .value = "S1"}}});
}

TEST_CASE("an empty list of devices is valid") { CHECK(read_exec_document(R"({"devices": []})").empty()); }

TEST_CASE("a device that is not healthy has a reason, even if the program prints none") {
  const auto devices = read_exec_document(R"({"devices": [{"id": "a", "healthy": false, "reason": " \n"},
                                                          {"id": "b", "reason": "well"}]})");
  CHECK(devices[0].error == "its program reports it as Unhealthy");
  CHECK(devices[1].healthy());
}

TEST_CASE("NUMA node -1 is left out, because the kubelet would not match it with any node") {
  CHECK(read_exec_document(R"({"devices": [{"id": "a", "numa": -1}]})")[0].numa_nodes.empty());
}

TEST_CASE("an invalid document is refused with the reason") {
  CHECK(error_of("") == "the document: it is empty");
  CHECK(error_of(" \n") == "the document: it is empty");
  CHECK(error_of("nvme0n1\n").starts_with("the document: it is not JSON: parse error at line 1, column 2"));
  CHECK(error_of(R"({"devices": [{"id": "a"})").starts_with("the document: it is not JSON: "));
  CHECK(error_of("{\"devices\": [{\"id\": \"\xff\"}]}").starts_with("the document: it is not JSON: "));
  CHECK(error_of(R"({"devices": []} {"devices": []})").starts_with("the document: it is not JSON: "));
  CHECK(error_of("[]") == "the document: must be an object, not a list");
  CHECK(error_of("{}") == "the document: the key 'devices' is missing");
  CHECK(error_of(std::string(100'000, '[')) == "the document: it is nested too deeply");
  CHECK(error_of(R"({"devices": 1e999})") == "the document: it has a number that is too large");
  CHECK(error_of(R"({"devices": [], "devices": []})") ==
        "the document: the key 'devices' is twice in one object");
  CHECK(error_of(R"({"devices": [], "device": []})") ==
        "the document: unknown key 'device' (did you mean 'devices'?)");
  CHECK(error_of(R"({"devices": {}})") == "devices: must be a list, not an object");
}

TEST_CASE("an error of a device is reported with its place and id") {
  CHECK(error_of(R"({"devices": ["a"]})") == "devices[0]: must be an object, not text");
  CHECK(error_of(R"({"devices": [{"id": "a"}, {"healthy": true}]})") ==
        "devices[1]: the key 'id' is missing");
  CHECK(error_of(R"({"devices": [{"id": 7}]})") == "devices[0].id: must be text, not a number");
  CHECK(error_of(R"({"devices": [{"id": ""}]})") == "devices[0] (''): the id is empty");
  CHECK(error_with(R"("helthy": true)") ==
        "devices[0] ('a'): unknown key 'helthy' (did you mean 'healthy'?)");
  CHECK(error_with(R"("healthy": "yes")") == "devices[0] ('a').healthy: must be true or false, not text");
  CHECK(error_with(R"("reason": null)") == "devices[0] ('a').reason: must be text, not null");
  CHECK(error_with(R"("numa": 0.5)") ==
        "devices[0] ('a').numa: must be the number of a NUMA node, not a number");
  CHECK(error_with(R"("numa": [0, 5000])") ==
        "devices[0] ('a').numa[1]: the range of NUMA nodes is from 0 to 1023");
  CHECK(error_with(R"("numa": 18446744073709551615)") ==
        "devices[0] ('a').numa: the range of NUMA nodes is from 0 to 1023");
  CHECK(error_with(R"("nodes": ["dev/a"])") ==
        "devices[0] ('a').nodes[0]: must be an absolute path, not 'dev/a'");
  CHECK(error_with(R"("nodes": [{"hostPath": "/dev/a", "permissions": "rx"}])") ==
        "devices[0] ('a').nodes[0].permissions: permissions are one or more of r, w and m, as in rw");
  CHECK(error_with(R"("nodes": [{"hostPath": "/dev/a", "containerPath": "/dev/{serial}"}])") ==
        "devices[0] ('a').nodes[0].containerPath: the placeholder {serial} is not allowed here; {n} is");
  CHECK(error_with(R"("mounts": ["/srv"])") == "devices[0] ('a').mounts[0]: must be an object, not text");
  CHECK(error_with(R"("mounts": [{"hostPath": "/a/../b"}])")
            .starts_with("devices[0] ('a').mounts[0].hostPath: the path is not in its plain form"));
  CHECK(error_with(R"("env": {"A=B": "1"})") ==
        "devices[0] ('a').env.'A=B': the name of a variable cannot have '='");
  CHECK(error_with(R"("env": {"A": 1})") == "devices[0] ('a').env.'A': must be text, not a number");
  CHECK(error_with(R"("env": {"A": "\u0000"})") ==
        "devices[0] ('a').env.'A': a text cannot have a NUL character");
  CHECK(error_with(R"("attributes": {"id": "b"})") ==
        "devices[0] ('a').attributes.'id': the id has a key of its own");
}

TEST_CASE("every member of an allocation's response is read unchanged") {
  CHECK(read_allocation_document(R"({
    "nodes": ["/dev/a{1}", {"hostPath": "/dev/b", "containerPath": "/dev/disk{n}", "permissions": "r"}],
    "mounts": [{"hostPath": "/srv/a", "readOnly": true}, {"hostPath": "/srv/b", "containerPath": "/b"}],
    "env": {"A": "{id}"}, "annotations": {"b": "{n}"}, "cdi": ["x.com/disk=a", "x.com/disk=b"]})") ==
        Allocation{.env = {{"A", "{id}"}},
                   .mounts = {{"/srv/a", "/srv/a", true}, {"/srv/b", "/b", false}},
                   .nodes = {{"/dev/a{1}", "/dev/a{1}", "rw"}, {"/dev/b", "/dev/disk{n}", "r"}},
                   .annotations = {{"b", "{n}"}},
                   .cdi = {"x.com/disk=a", "x.com/disk=b"}});
  CHECK(read_allocation_document("{}") == Allocation{});
}

TEST_CASE("an invalid response to an allocation is refused with the place") {
  const auto error = [](const std::string& text) -> std::string {
    try {
      read_allocation_document(text);
    } catch (const DocumentError& exception) {
      return exception.what();
    }
    return "it was taken";
  };
  CHECK(error("") == "the document: it is empty");
  CHECK(error("[]") == "the document: must be an object, not a list");
  CHECK(error(R"({"nodes": ["dev/a"]})").starts_with("nodes[0]: must be an absolute path"));
  CHECK(error(R"({"mounts": [{"hostPath": "/a", "containerPath": "b"}]})")
            .starts_with("mounts[0].containerPath: must be an absolute path"));
  CHECK(error(R"({"env": {"A=B": "c"}})") == "env.'A=B': the name of a variable cannot have '='");
  CHECK(error(R"({"cdi": ["disk"]})") == "cdi[0]: 'disk' is no CDI name, which is vendor.example/class=name");
  CHECK(error(R"({"devices": []})").starts_with("the document: unknown key 'devices'"));
  CHECK(error("{\"env\": {\"A\": \"\xff\"}}").starts_with("the document: it is not JSON: "));
}

TEST_CASE("the schemas have exactly the keys that are read") {
  const auto schema = schema_of("exec.schema.json");
  CHECK(keys(schema["properties"]) == "devices");
  const auto& parts = schema["$defs"];
  CHECK(keys(parts["device"]["properties"]) == "attributes, env, healthy, id, mounts, nodes, numa, reason");
  CHECK(keys(parts["node"]["properties"]) == "containerPath, hostPath, permissions");
  CHECK(keys(parts["mount"]["properties"]) == "containerPath, hostPath, readOnly");
  CHECK(error_with(R"("xyzzyxyzzyxyzzy": 1)") ==
        "devices[0] ('a'): unknown key 'xyzzyxyzzyxyzzy'; valid: id, healthy, reason, numa, nodes, "
        "mounts, env, attributes");

  const auto allocation = schema_of("exec-allocate.schema.json")["$defs"];
  CHECK(keys(allocation["answer"]["properties"]) == "annotations, cdi, env, mounts, nodes");
  CHECK_THROWS_WITH(
      read_allocation_document(R"({"xyzzyxyzzyxyzzy": 1})"),
      "the document: unknown key 'xyzzyxyzzyxyzzy'; valid: nodes, mounts, env, annotations, cdi");
  CHECK(keys(allocation["node"]["properties"]) == keys(parts["node"]["properties"]));
  CHECK(keys(allocation["mount"]["properties"]) == keys(parts["mount"]["properties"]));
  const ResourceSnapshot snapshot{.resource = "x.com/a", .inventory = Inventory({{.id = "a"}})};
  const auto request = nlohmann::json::parse(allocation_request(snapshot, std::vector<std::string>{"a"}));
  CHECK(keys(request) == keys(allocation["request"]["properties"]));
  CHECK(keys(request["devices"][0]) == keys(allocation["device"]["properties"]));
}
