#include "kubernetes/apiserver/node_watch.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Texts = std::map<std::string, std::string>;

TEST_CASE("a Node's name, uid, labels and capacity are read") {
  const NodeObject node = node_object_of(Json::parse(
      R"({"metadata":{"name":"n","uid":"u","labels":{"rack":"a","empty":""},"annotations":{"x":"y"}},)"
      R"("status":{"capacity":{"x.com/gpu":"2","cpu":"8"},"allocatable":{"x.com/gpu":"1"},"images":[1]}})"));
  CHECK(node == NodeObject{.name = "n",
                           .uid = "u",
                           .labels = Texts{{"rack", "a"}, {"empty", ""}},
                           .capacity = Texts{{"x.com/gpu", "2"}, {"cpu", "8"}}});
}

TEST_CASE("missing members of a Node, or members that are not text, are left out") {
  CHECK(node_object_of(Json()) == NodeObject());
  const NodeObject node =
      node_object_of(Json::parse(R"({"metadata":{"name":3,"labels":{"a":1,"b":"c"}},"status":[]})"));
  CHECK(node == NodeObject{.labels = Texts{{"b", "c"}}});
}

}  // namespace
}  // namespace plughost
