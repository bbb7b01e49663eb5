#include "base/shared_list.hpp"

#include <doctest/doctest.h>

using namespace plughost;

using Numbers = SharedList<int>;

TEST_CASE("copies of a list have one content until one of them is changed, and then the other is as before") {
  Numbers one{1, 2};
  Numbers other = one;
  CHECK(other.shares(one));
  other.edit().push_back(3);
  CHECK_FALSE(other.shares(one));
  CHECK(one == Numbers{1, 2});
  CHECK(other == Numbers{1, 2, 3});
  const Numbers third = one;
  one.edit()[0] = 7;
  CHECK(third[0] == 1);
  CHECK(one.at(0) == 7);
  CHECK(one.front() == 7);
}

TEST_CASE("a list that nobody else has is changed where it is") {
  Numbers one{1};
  const int* const place = &one[0];
  one.edit()[0] = 2;
  CHECK(&one[0] == place);
  CHECK(*place == 2);
}

TEST_CASE("two lists are the same by what they say, whoever made them") {
  CHECK(Numbers{1} == Numbers{1});
  CHECK_FALSE(Numbers{1} == Numbers{2});
  CHECK_FALSE(Numbers{1} == Numbers{});
  CHECK(Numbers{} == Numbers(Numbers::List()));
  CHECK_FALSE(Numbers{1}.shares(Numbers{1}));
  CHECK_FALSE(Numbers{}.shares(Numbers{}));
}

TEST_CASE("an empty list has nothing, and can get something") {
  Numbers one;
  CHECK(one.empty());
  CHECK(one.begin() == one.end());
  one.edit().push_back(1);
  CHECK(one.size() == 1);
  CHECK(*one.begin() == 1);
}
