#include "tools/plan/facts.hpp"

#include <doctest/doctest.h>

#include "host/hardware/host_root.hpp"

namespace plughost {
namespace {

// Returns the error that reading the text leads to, or "" for none.
std::string error_in(const std::string& text) {
  try {
    read_facts(text);
    return "";
  } catch (const FactsError& exception) {
    return exception.what();
  }
}

std::string with_tree(const std::string& tree) {
  return R"({"plughostFacts": 1, "node": "n", "tree": )" + tree + "}";
}

constexpr const char* kWhole = R"({
  "plughostFacts": 1,
  "node": "gpu-01",
  "nodeName": "gpu-01.example.com",
  "recorded": "2026-01-31T12:00:00Z",
  "somebody": {"else's": ["words", 1.5, null, true, {}]},
  "tree": {
    "dev": {"nvidia0": ["char", "195:0"], "sda": ["block", "8:0"], "log": ["socket"], "pipe": ["fifo"],
            "by-id": {"a": ["link", "../nvidia0"]}},
    "etc": {"secret": ["file"], "empty": "", "none": {}},
    "odd": ["other"]
  },
  "nvml": {"cards": [
    {"uuid": "GPU-1", "name": "A100", "pci": "0000:01:00.0", "minor": 0, "memory": 42949672960,
     "nodes": ["/dev/nvidia0"], "bonds": [{"pci": "0000:02:00.0", "score": 150}], "migEnabled": true,
     "parts": [{"uuid": "MIG-1", "name": "A100 MIG 1g.5gb", "profile": "1g.5gb", "index": "0:0",
                "pci": "0000:01:00.0", "nodes": ["/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap66"]},
               {"uuid": "MIG-2"}]},
    {"uuid": "GPU-2", "fabricTrouble": "has not finished: In Progress"}
  ]}
})";

TEST_CASE("a file of each type is read as it was recorded") {
  const Facts facts = read_facts(kWhole);
  CHECK(facts.node == "gpu-01");
  CHECK(facts.recorded == "2026-01-31T12:00:00Z");
  const HostRoot host(facts.machine);
  CHECK(host.node_name() == "gpu-01.example.com");
  CHECK(host.type("/dev/nvidia0") == FileType::kCharacter);
  CHECK(host.device_number("/dev/nvidia0") == "195:0");
  CHECK(host.type("/dev/sda") == FileType::kBlock);
  CHECK(host.device_number("/dev/sda") == "8:0");
  CHECK(host.type("/dev/log") == FileType::kSocket);
  CHECK(host.type("/dev/pipe") == FileType::kFifo);
  CHECK(host.type("/odd") == FileType::kOther);
  CHECK(host.canonical("/dev/by-id/a") == "/dev/nvidia0");
  CHECK(host.type("/etc/secret") == FileType::kRegular);
  CHECK(host.text("/etc/secret") == std::nullopt);
  CHECK(host.text("/etc/empty") == "");
  CHECK(host.type("/etc/none") == FileType::kDirectory);
  CHECK_FALSE(host.exists("/somebody"));
}

TEST_CASE("a recorded NVML view is read, with defaults for what a card lacks") {
  const NvmlView nvml = read_facts(kWhole).machine->nvml;
  CHECK(nvml.error.empty());
  REQUIRE(nvml.cards.size() == 2);
  const NvmlView::Card& card = nvml.cards[0];
  CHECK(card.uuid == "GPU-1");
  CHECK(card.name == "A100");
  CHECK(card.index == "0");
  CHECK(card.pci == "0000:01:00.0");
  CHECK(card.minor == 0U);
  CHECK(card.memory == 42949672960);
  CHECK(card.nodes == std::vector<std::string>{"/dev/nvidia0"});
  CHECK(card.bonds == std::vector<Bond>{{"0000:02:00.0", 150}});
  CHECK(card.mig_enabled);
  REQUIRE(card.parts.size() == 2);
  CHECK(card.parts[0].profile == "1g.5gb");
  CHECK(card.parts[0].nodes.size() == 2);
  CHECK(card.parts[1].index == "0:1");
  CHECK(nvml.cards[1].index == "1");
  CHECK(nvml.cards[1].minor == std::nullopt);
  CHECK_FALSE(nvml.cards[1].mig_enabled);
  CHECK(card.fabric_error.empty());
  CHECK(nvml.cards[1].fabric_error == "has not finished: In Progress");
}

TEST_CASE("facts that are written and read again are the same") {
  const Facts facts = read_facts(kWhole);
  const std::string text = text_of(facts);
  const Facts again = read_facts(text);
  CHECK(text_of(again) == text);
  CHECK(again.node == facts.node);
  CHECK(again.recorded == facts.recorded);
  CHECK(again.machine->node == facts.machine->node);
  CHECK(again.machine->nvml == facts.machine->nvml);
  CHECK(text.starts_with(R"({"plughostFacts":1,"node":"gpu-01",)"));
  for (const char* part :
       {R"("nvidia0":["char","195:0"])", R"("log":["socket"])", R"("a":["link","../nvidia0"])",
        R"("secret":["file"])", R"("empty":"")", R"("none":{})", R"("odd":["other"])"})
    CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("a recorded error of NVML is read, and missing NVML data is an error too") {
  const std::string tree = R"("tree": {"dev": {}})";
  CHECK(read_facts(R"({"plughostFacts": 1, )" + tree + "}").machine->nvml.error ==
        "it was missing when the facts were recorded");
  const Facts facts = read_facts(R"({"plughostFacts": 1, "nvmlTrouble": "no library", )" + tree + "}");
  CHECK(facts.machine->nvml.error == "no library");
  CHECK(read_facts(text_of(facts)).machine->nvml == facts.machine->nvml);
  CHECK_FALSE(facts.machine->nvml.refuses);
  const Facts refused =
      read_facts(R"({"plughostFacts": 1, "nvmlTrouble": "no", "nvmlRefuses": true, )" + tree + "}");
  CHECK(refused.machine->nvml.refuses);
  CHECK(read_facts(text_of(refused)).machine->nvml == refused.machine->nvml);
}

TEST_CASE("facts of a different version are refused with that version's number") {
  CHECK(error_in(R"({"plughostFacts": 2, "tree": {"dev": {}}})") ==
        "these are facts of version 2, and this plughost reads version 1; record them again, or use the "
        "plughost that did");
  CHECK(error_in(R"({"plughostFacts": "1", "tree": {"dev": {}}})")
            .starts_with("these are facts of version \"1\""));
  CHECK(error_in(R"({"plughostFacts": 1, "a": {"plughostFacts": 2}, "tree": {"dev": {}}})").empty());
}

TEST_CASE("invalid facts are refused with an error that says what is wrong") {
  CHECK(error_in("{}").starts_with("these are no facts of a node: `plughostFacts` is missing"));
  CHECK(error_in("[]") == "this is a list, not an object");
  CHECK(error_in("7") == "this is no object");
  CHECK(error_in("") == "the file ends too early, at line 1, column 1");
  CHECK(error_in(R"({"plughostFacts": 1})") == "`tree` is missing, or empty");
  CHECK(error_in(with_tree("{}")) == "`tree` is missing, or empty");
  CHECK(error_in(with_tree("7")) == "`tree` is missing, or empty");
  CHECK(error_in("{\n  \"plughostFacts\": 1,\n  tree") == "this is no JSON at line 3, column 5");
  CHECK(error_in("{\"plughostFacts\": 1,\n\"tree\": {\"dev\": {") ==
        "the file ends too early, at line 2, column 17");
}

TEST_CASE("an impossible entry of the tree is refused with its name") {
  const std::string words =
      " is none of these: an object (a directory), a text (a file), a list such as [\"link\", \"../x\"]";
  for (const char* value : {"7", "true", "null", "1.5", "[]", R"(["link"])", R"(["file", "x"])",
                            R"(["directory"])", R"(["char"])", R"(["char", "1:3", "x"])",
                            R"(["socket", "x"])", R"([["link"]])", R"([{"a": "b"}])", R"([""])"}) {
    CAPTURE(value);
    const std::string error = error_in(with_tree(R"({"dev": {"x": )" + std::string(value) + "}}"));
    CHECK(error == "`tree`: \"x\"" + words);
  }
}

TEST_CASE("facts with more than 64 levels of objects or lists are refused") {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += R"({"a":)";
    return text + "\"\"" + std::string(depth, '}');
  };
  CHECK(error_in(with_tree(nested(63))).empty());
  CHECK(error_in(with_tree(nested(64))) == "it has more than 64 objects in each other");
  CHECK(error_in(R"({"a":)" + std::string(64, '[')) == "it has more than 64 lists in each other");
}

}  // namespace
}  // namespace plughost
