#include "host/programs/program.hpp"

#include <doctest/doctest.h>

using namespace plughost;

TEST_CASE("a command line has the device's values, or an error that names the missing one") {
  const std::vector<Template> command{Template("/bin/a"), Template("{resource}/{id}"),
                                      Template("--serial={serial}")};
  const Device device{.id = "a", .attributes = {{.name = "serial", .value = "S 1"}}};
  CHECK(command_line(command, "x.com/r", device).words ==
        std::vector<std::string>{"/bin/a", "x.com/r/a", "--serial=S 1"});
  const CommandLine line = command_line(command, "x.com/r", {.id = "b"});
  CHECK(line.words.empty());
  CHECK(line.missing == "serial");
}

TEST_CASE("a program with a different user is started through chroot --userspec") {
  CHECK(words_as("").empty());
  CHECK(words_as("nobody") == std::vector<std::string>{"/usr/sbin/chroot", "--userspec=nobody:", "/"});
}
