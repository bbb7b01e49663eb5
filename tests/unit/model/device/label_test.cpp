#include "model/device/label.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// Label pairs whose keys are completed with the default prefix.
struct Pairs : Labels::Pairs {
  Pairs(std::initializer_list<std::pair<std::string, std::string>> pairs) {
    for (const auto& [key, value] : pairs) emplace_back(label_name(key), value);
  }
};

Device labelled_card(const std::string& id, const std::string& name, const std::string& memory = "80") {
  Device device;
  device.id = id;
  device.attributes = {{"name", name}, {"memory", memory}};
  return device;
}

Device gone_card(Device device) {
  device.gone = true;
  device.error = "it is gone";
  return device;
}

LabelSpec label(const std::string& key, const std::string& value) {
  return {.key = key, .value = Template(value)};
}

Labels labels(const std::vector<LabelSpec>& specs, const std::vector<std::vector<Device>>& lists) {
  std::vector<Inventory> inventories;
  for (const auto& devices : lists) inventories.emplace_back(devices);
  return labels_of(specs, inventories);
}

std::string of(std::size_t count, char c = 'a') {
  std::string text;
  text.assign(count, c);
  return text;
}

bool takes_key(const std::string& key) { return label_key_error(key).empty(); }

bool takes_value(const std::string& value) { return label_value_error(value).empty(); }

TEST_CASE("a label's key is one that Kubernetes accepts") {
  for (const char* key : {"a", "A", "7", "model", "gpu.model", "gpu-model_2", "example.com/model", "a/b"}) {
    CAPTURE(key);
    CHECK(takes_key(key));
  }
  for (const char* key : {"", "/", "a/", "/a", "a/b/c", "-a", "a-", ".a", "a_", "a b", "a=b", "#a", "{name}",
                          "ä", "Example.com/a", "example..com/a", "-x.com/a", "example.com./a", "a\n"}) {
    CAPTURE(key);
    CHECK_FALSE(takes_key(key));
  }
}

TEST_CASE("a label's name has at most 63 characters, and its prefix 253") {
  CHECK(takes_key(of(63)));
  CHECK_FALSE(takes_key(of(64)));
  CHECK(takes_key("example.com/" + of(63)));
  CHECK_FALSE(takes_key("example.com/" + of(64)));
  CHECK(takes_key(of(253) + "/a"));
  CHECK_FALSE(takes_key(of(254) + "/a"));
}

TEST_CASE("of the prefixes in kubernetes.io only those of Node Feature Discovery are accepted") {
  for (const char* prefix :
       {"feature.node.kubernetes.io", "vendor.feature.node.kubernetes.io", "profile.node.kubernetes.io",
        "vendor.profile.node.kubernetes.io", "kubernetes.io.example.com", "notkubernetes.io", "k8s.io"}) {
    CAPTURE(prefix);
    CHECK(takes_key(std::string(prefix) + "/a"));
  }
  for (const char* prefix : {"kubernetes.io", "node.kubernetes.io", "node-role.kubernetes.io",
                             "xfeature.node.kubernetes.io", "xprofile.node.kubernetes.io"}) {
    CAPTURE(prefix);
    CHECK_FALSE(takes_key(std::string(prefix) + "/a"));
  }
}

TEST_CASE("a key without a prefix gets Node Feature Discovery's") {
  CHECK(label_name("model") == "feature.node.kubernetes.io/model");
  CHECK(label_name("example.com/model") == "example.com/model");
}

TEST_CASE("a label's value is one that Kubernetes accepts: empty, or 63 characters at most") {
  for (const std::string& value : {std::string(), std::string("a"), std::string("A.b_c-9"), of(63)}) {
    CAPTURE(value);
    CHECK(takes_value(value));
  }
  for (const std::string& value : {of(64), std::string("-a"), std::string("a-"), std::string("a b"),
                                   std::string("a/b"), std::string("a\n"), std::string("-")}) {
    CAPTURE(value);
    CHECK_FALSE(takes_value(value));
  }
}

TEST_CASE("an attribute is converted to a label's value in the same way as gpu-feature-discovery does") {
  CHECK(label_value("NVIDIA A100-SXM4-80GB") == "NVIDIA-A100-SXM4-80GB");
  CHECK(label_value("Tesla  T4\t(rev a1)") == "Tesla-T4-rev-a1");
  CHECK(label_value(" -A_b.c- ") == "A_b.c");
  CHECK(label_value("Geforce® RTX/4090") == "Geforce-RTX4090");
  CHECK(label_value("0000:3b:00.0") == "00003b00.0");
  CHECK(label_value("a=b\nc") == "abc");
  CHECK(label_value("").empty());
  CHECK(label_value("...").empty());
  CHECK(label_value("日本").empty());
}

TEST_CASE("a label has the value that all devices give, and {count} is their number") {
  const Labels made = labels({label("model", "{name}"), label("example.com/memory", "{memory}GB"),
                              label("count", "{count}"), label("present", "true"), label("mark", "")},
                             {{labelled_card("a", "T 4", "16"), labelled_card("b", "T 4", "16")}});
  CHECK(made.pairs == Pairs{{"model", "T-4"},
                            {"example.com/memory", "16GB"},
                            {"count", "2"},
                            {"present", "true"},
                            {"mark", ""}});
  CHECK(made.remarks.empty());
}

TEST_CASE("if devices differ the label is left out, and the first two are named") {
  const std::vector<LabelSpec> specs = {label("model", "{name}"), label("memory", "{memory}")};
  const Labels made = labels(specs, {{labelled_card("a", "T4"), labelled_card("b", "T4"),
                                      labelled_card("c", "L4"), labelled_card("d", "A2")}});
  CHECK(made.pairs == Pairs{{"memory", "80"}});
  CHECK(made.remarks ==
        Texts{"feature.node.kubernetes.io/model: the devices differ: \"T4\" of a, \"L4\" of c"});
  // Values that are equal after the conversion count as equal.
  CHECK(labels(specs, {{labelled_card("a", "T 4"), labelled_card("b", "T-4")}}).remarks.empty());
}

TEST_CASE("the devices of all resources of an entry count, each of them once") {
  Device shared = labelled_card("a", "T4");
  shared.replicas = 4;
  const std::vector<LabelSpec> specs = {label("model", "{name}"), label("count", "{count}")};
  CHECK(labels(specs, {{shared}, {}, {labelled_card("b", "T4")}}).pairs ==
        Pairs{{"model", "T4"}, {"count", "2"}});
  CHECK(labels(specs, {{shared}, {labelled_card("b", "L4")}}).pairs == Pairs{{"count", "2"}});
}

TEST_CASE("Unhealthy devices count, and devices that are gone do not") {
  const std::vector<LabelSpec> specs = {label("model", "{name}"), label("count", "{count}")};
  Device sick = labelled_card("a", "T4");
  sick.error = "XID 79";
  CHECK(labels(specs, {{sick, gone_card(labelled_card("b", "L4"))}}).pairs ==
        Pairs{{"model", "T4"}, {"count", "1"}});
}

TEST_CASE("without a device there is no label, not even a constant one") {
  const std::vector<LabelSpec> specs = {label("present", "true"), label("count", "{count}"),
                                        label("model", "{name}")};
  for (const Labels& none :
       {labels(specs, {}), labels(specs, {{}}), labels(specs, {{gone_card(labelled_card("a", "T4"))}})}) {
    CHECK(none.pairs.empty());
    CHECK(none.remarks.empty());
  }
}

TEST_CASE("a value that a device lacks, or that no label can have, is left out with the reason") {
  const auto remark = [](const LabelSpec& spec, const std::vector<Device>& devices) {
    const Labels made = labels({spec}, {devices});
    CHECK(made.pairs.empty());
    REQUIRE(made.remarks.size() == 1);
    return made.remarks[0];
  };
  Device silent;
  silent.id = "b";
  CHECK(remark(label("x.com/m", "{name}"), {labelled_card("a", "T4"), silent}) ==
        "x.com/m: {name} is not known of b");
  CHECK(remark(label("x.com/m", "{name}"), {silent}) == "x.com/m: {name} is not known of b");
  CHECK(remark(label("x.com/m", "{name}"), {labelled_card("a", "日本")}) ==
        "x.com/m: nothing of \"日本\" may stand in a label's value");
  CHECK(remark(label("x.com/m", "{name}"), {labelled_card("a", "")}) ==
        "x.com/m: nothing of \"\" may stand in a label's value");
  CHECK(labels({label("m", "{name}")}, {{labelled_card("a", of(63))}}).pairs == Pairs{{"m", of(63)}});
  CHECK(remark(label("x.com/m", "{name}"), {labelled_card("a", of(64))}) ==
        "x.com/m: \"" + of(64) + "\": A label's value has at most 63 characters; this one has 64.");
  // The device's name is empty, so only the v of the template "v{name}" is left.
  CHECK(labels({label("m", "v{name}")}, {{labelled_card("a", "")}}).pairs == Pairs{{"m", "v"}});
}

}  // namespace
}  // namespace plughost
