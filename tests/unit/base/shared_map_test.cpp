#include "base/shared_map.hpp"

#include <doctest/doctest.h>

using namespace plughost;

using Numbers = SharedMap<int>;

TEST_CASE("copies have one content until one of them is changed, and then the other is as before") {
  Numbers one{{"a", 1}};
  Numbers other = one;
  CHECK(other.shares(one));
  other["b"] = 2;
  CHECK_FALSE(other.shares(one));
  CHECK(one == Numbers{{"a", 1}});
  CHECK(other == Numbers{{"a", 1}, {"b", 2}});
  const Numbers third = one;
  one["a"] = 3;
  CHECK(third.at("a") == 1);
  CHECK(one.at("a") == 3);
}

TEST_CASE("what nobody else has is changed where it is") {
  Numbers one{{"a", 1}};
  const int* const place = &one.at("a");
  one["a"] = 2;
  CHECK(&one.at("a") == place);
  CHECK(*place == 2);
}

TEST_CASE("two of them are the same by what they say, whoever made them") {
  CHECK(Numbers{{"a", 1}} == Numbers{{"a", 1}});
  CHECK_FALSE(Numbers{{"a", 1}} == Numbers{{"a", 2}});
  CHECK_FALSE(Numbers{{"a", 1}} == Numbers{});
  CHECK(Numbers{} == Numbers(Numbers::Map()));
  CHECK_FALSE(Numbers{{"a", 1}}.shares(Numbers{{"a", 1}}));
  CHECK_FALSE(Numbers{}.shares(Numbers{}));
}

TEST_CASE("an empty one has nothing, and can get something") {
  Numbers one;
  CHECK(one.empty());
  CHECK(one.begin() == one.end());
  CHECK_FALSE(one.contains("a"));
  one["a"] = 1;
  CHECK(one.size() == 1);
  CHECK(one.contains("a"));
  CHECK(one.begin()->second == 1);
}
