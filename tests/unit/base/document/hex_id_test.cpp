#include "base/document/fields.hpp"

#include <doctest/doctest.h>

#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

struct Reading {
  std::string one;
  Texts several;
  Texts problems;
};

Reading read(Node value) {
  const Node node = map({{"vendor", std::move(value)}});
  Diagnostics diagnostics;
  Reading reading;
  {
    Fields fields(node, "usb", diagnostics);
    if (node.members[0].second.kind == Node::Kind::kSequence)
      reading.several = read_hex_ids(fields, "vendor");
    else
      reading.one = read_hex_id(fields, "vendor");
  }
  for (const Diagnostic& diagnostic : diagnostics.all())
    reading.problems.push_back(diagnostic.path + ": " + diagnostic.what);
  return reading;
}

TEST_CASE(
    "a hardware id is read in any case and with or without 0x, and a decimal-looking one as hexadecimal") {
  CHECK(read(text("15b3")).one == "15b3");
  CHECK(read(text("15B3")).one == "15b3");
  CHECK(read(text("0x15B3")).one == "15b3");
  CHECK(read(text("0X46d")).one == "046d");
  CHECK(read(text("0451")).one == "0451");
  CHECK(read(text("1209")).one == "1209");
  CHECK(read(text("1e10")).one == "1e10");
  CHECK(read(list({text("15b3"), text("0x8086")})).several == Texts{"15b3", "8086"});
}

TEST_CASE("an invalid hardware id is refused with an example") {
  for (const char* wrong : {"", "0x", "297", "15b3f", "0x15b3f", "15g3", "mlx5", " 15b3", "-5b3"}) {
    CAPTURE(wrong);
    const Reading reading = read(text(wrong));
    REQUIRE(reading.problems.size() == 1);
    CHECK(reading.problems[0].starts_with("usb.vendor: '"));
    CHECK(reading.problems[0].find("0x15b3") != std::string::npos);
  }
  CHECK(read(list({text("15b3"), text("x"), text("y")})).problems.size() == 2);
  CHECK(read(list({map({})})).problems.size() == 1);
  CHECK(read(map({})).problems.size() == 1);
}

}  // namespace
}  // namespace plughost
