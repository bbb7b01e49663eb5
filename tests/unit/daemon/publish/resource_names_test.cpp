#include "daemon/publish/resource_publisher.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Names = std::set<std::string>;

TEST_CASE("a name belongs to the entry that claims it first, however often it is claimed") {
  ResourceNames names;
  CHECK(names.claim("x.com/a", "first") == "first");
  CHECK(names.claim("x.com/a", "second") == "first");
  CHECK(names.claim("x.com/a", "first") == "first");
  CHECK(names.claim("x.com/b", "second") == "second");
  CHECK(names.take_waiting().empty());
}

TEST_CASE("a released name can be claimed by the entries whose claims were refused") {
  ResourceNames names;
  names.claim("x.com/a", "first");
  names.claim("x.com/a", "second");
  names.claim("x.com/a", "third");
  names.release("x.com/a", "first");
  CHECK(names.take_waiting() == Names{"second", "third"});
  CHECK(names.take_waiting().empty());
  CHECK(names.claim("x.com/a", "third") == "third");
  CHECK(names.claim("x.com/a", "second") == "third");
}

TEST_CASE("an entry that gives up a refused claim is not notified when the name is released") {
  ResourceNames names;
  names.claim("x.com/a", "first");
  names.claim("x.com/a", "second");
  names.release("x.com/a", "second");
  CHECK(names.claim("x.com/a", "third") == "first");
  names.release("x.com/a", "first");
  CHECK(names.take_waiting() == Names{"third"});
  names.release("x.com/never-claimed", "first");
}

TEST_CASE("an entry that ends releases all of its names, and waits for none") {
  ResourceNames names;
  names.claim("x.com/a", "first");
  names.claim("x.com/b", "first");
  names.claim("x.com/c", "other");
  names.claim("x.com/a", "second");
  names.claim("x.com/b", "third");
  names.claim("x.com/c", "first");
  names.claim("x.com/c", "second");
  names.release_all("first");
  CHECK(names.claim("x.com/a", "fourth") == "fourth");
  names.release_all("second");
  CHECK(names.take_waiting() == Names{"third"});
  names.release("x.com/c", "other");
  CHECK(names.take_waiting().empty());
}

}  // namespace
}  // namespace plughost
