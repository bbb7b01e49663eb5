#include "base/system/event_loop.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>

using namespace plughost;

TEST_CASE("a callback that is bound to a lifetime does nothing after it") {
  std::string said;
  std::optional<Lifetime> lifetime(std::in_place);
  const std::function<void(const std::string&, int)> call =
      lifetime->bound([&](const std::string& word, int number) { said += word + std::to_string(number); });
  call("a", 1);
  CHECK(said == "a1");
  lifetime.reset();
  call("b", 2);
  CHECK(said == "a1");
}

TEST_CASE("renewing a lifetime disables the callbacks that were bound before") {
  int calls = 0;
  Lifetime lifetime;
  const auto before = lifetime.bound([&] { ++calls; });
  lifetime.renew();
  before();
  CHECK(calls == 0);
  lifetime.bound([&] { ++calls; })();
  CHECK(calls == 1);
}
