#include "dra/names.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace plughost;

TEST_CASE("an id that is a DNS label is the device's name") {
  CHECK(device_label("ttyusb0") == "ttyusb0");
  CHECK(device_label("gpu-0") == "gpu-0");
  CHECK(device_label(std::string(63, 'a')) == std::string(63, 'a'));
}

TEST_CASE("other ids become labels with a hash, and no two the same one") {
  std::set<std::string> labels;
  for (const char* const id : {"ttyUSB0", "TTYusb0", "0000:3b:00.0", "0000-3b-00-0", "-", "a-", "",
                               "\xc3\xa4", "ttyusb0", "a.b", "a_b"}) {
    const std::string label = device_label(id);
    CHECK_MESSAGE(driver_name_trouble(label).empty(), label);
    CHECK(labels.insert(label).second);
  }
  CHECK(device_label("ttyUSB0").starts_with("ttyusb0-"));
  CHECK(device_label("ttyUSB0").size() == std::string("ttyusb0-").size() + 16);
  CHECK(device_label("0000:3b:00.0").starts_with("0000-3b-00-0-"));
  CHECK(device_label("a.:b").starts_with("a-b-"));
  CHECK(device_label(std::string(64, 'a')).size() == 63);
  // Where it is cut there is no second hyphen.
  CHECK(device_label(std::string(45, 'a') + '_' + std::string(20, 'b')).find("--") == std::string::npos);
  CHECK(device_label(std::string(64, 'a')) != device_label(std::string(65, 'a')));
}

TEST_CASE("names are the same in every version: claims have them") {
  CHECK(device_label("ttyUSB0") == "ttyusb0-906ee3bae42640d2");
  CHECK(slice_name(1, "plughost.example.com", "node-a", "node-a/example.com/camera") ==
        "00001-392c613475eeeaac");
}

TEST_CASE("a pool is called after its node and its resource") {
  CHECK(pool_name("node-a", "example.com/camera") == "node-a/example.com/camera");
  CHECK(pool_name("node-a", "example.com/hd.camera") == "node-a/example.com/hd.camera");
  const std::string upper = pool_name("node-a", "example.com/Camera");
  CHECK(upper.starts_with("node-a/example-com-camera-"));
  CHECK(upper != pool_name("node-a", "example.com/cAmera"));
  CHECK(pool_name("node-a", "example.com/a_b").starts_with("node-a/example-com-a-b-"));
  const std::string longest = "example.com/" + std::string(40, 'a');
  const std::string node(253 - 1 - longest.size(), 'n');
  CHECK(pool_name(node, longest) == node + '/' + longest);
  CHECK(pool_name(node + "n", longest).starts_with(node + "n/example-com-aaa"));
}

TEST_CASE("a slice's name tells its place, and what it belongs to") {
  const std::string name = slice_name(0, "d.example.com", "node-a", "p");
  CHECK(name.starts_with("00000-"));
  CHECK(name.size() == 5 + 1 + 16);
  CHECK(slice_name(0xabcde, "d.example.com", "node-a", "p").starts_with("abcde-"));
  CHECK(slice_name(1, "d.example.com", "node-a", "p").substr(5) == name.substr(5));
  CHECK(slice_name(0, "e.example.com", "node-a", "p") != name);
  CHECK(slice_name(0, "d.example.com", "node-b", "p") != name);
  CHECK(slice_name(0, "d.example.com", "node-a", "q") != name);
  CHECK(slice_name(0, "a", "bc", "p") != slice_name(0, "ab", "c", "p"));
}

TEST_CASE("a slice's place is read from its name, and from no other name") {
  for (const std::size_t index : {std::size_t{0}, std::size_t{17}, std::size_t{0xfffff}})
    CHECK(slice_index(slice_name(index, "d", "n", "p")) == index);
  CHECK_FALSE(slice_index(""));
  CHECK_FALSE(slice_index("00001"));
  CHECK_FALSE(slice_index("00001-8c2f61ab4d0e9f3"));
  CHECK_FALSE(slice_index("000010-8c2f61ab4d0e9f"));
  CHECK_FALSE(slice_index("0000g-8c2f61ab4d0e9f37"));
  CHECK_FALSE(slice_index("-0001-8c2f61ab4d0e9f37") == 1);
}

TEST_CASE("a driver's name is a DNS subdomain of 63 characters at most") {
  CHECK(driver_name_trouble("plughost.example.com").empty());
  CHECK(driver_name_trouble("a").empty());
  CHECK(driver_name_trouble(std::string(31, 'a') + '.' + std::string(31, 'b')).empty());
  for (const std::string& name :
       {std::string(), std::string(32, 'a') + '.' + std::string(31, 'b'), std::string("Plughost"),
        std::string("a..b"), std::string(".a"), std::string("a."), std::string("a_b"), std::string("-a.b"),
        std::string("a-.b")})
    CHECK_FALSE_MESSAGE(driver_name_trouble(name).empty(), name);
}

TEST_CASE("of a claim, what cannot be its name is told, so that what can is fit for a path") {
  const ClaimRef fine{.uid = "0b5e-A1", .name_space = "default", .name = "camera.a-1"};
  CHECK(claim_name_trouble(fine).empty());
  const auto with = [&](auto change) {
    ClaimRef claim = fine;
    change(claim);
    return claim_name_trouble(claim);
  };
  for (const std::string& uid : {std::string(), std::string(64, 'a'), std::string("../a"), std::string("a/b"),
                                 std::string("a.b"), std::string("-a"), std::string("a b")})
    CHECK_MESSAGE(with([&](ClaimRef& claim) { claim.uid = uid; }).find("uid") != std::string::npos, uid);
  CHECK(with([](ClaimRef& claim) { claim.uid = std::string(63, 'a'); }).empty());
  for (const std::string& name_space :
       {std::string(), std::string(64, 'a'), std::string("a.b"), std::string("A")})
    CHECK_MESSAGE(
        with([&](ClaimRef& claim) { claim.name_space = name_space; }).find("namespace") != std::string::npos,
        name_space);
  // A pod's claim is called after both: a part of it may be longer than a label.
  const std::string longest = std::string(251, 'a') + ".b";
  CHECK(longest.size() == 253);
  CHECK(with([&](ClaimRef& claim) { claim.name = longest; }).empty());
  for (const std::string& name : {std::string(), longest + "a", std::string("a/b"), std::string("a?b")})
    CHECK_MESSAGE(with([&](ClaimRef& claim) { claim.name = name; }).find("name is none") != std::string::npos,
                  name);
}
