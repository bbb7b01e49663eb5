#include "kubelet/dra_request.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

const ClaimRef kOne{.uid = "u1", .name_space = "default", .name = "one"};
const ClaimRef kTwo{.uid = "u2", .name_space = "default", .name = "two"};

}  // namespace

TEST_CASE("each claim is asked for once, however often the kubelet names it") {
  const DraRequest request = sort_claims({kTwo, kOne, kTwo});
  CHECK(request.claims == std::vector{kOne, kTwo});
  CHECK(request.refused.empty());
  CHECK(sort_claims({}).claims.empty());
}

TEST_CASE("what cannot be a claim is refused, and the others are not") {
  const DraRequest request =
      sort_claims({kOne, {.uid = "../../etc", .name_space = "default", .name = "b\nc"}});
  CHECK(request.claims == std::vector{kOne});
  REQUIRE(request.refused.size() == 1);
  CHECK(
      request.refused.at("../../etc") ==
      "the kubelet asks for claim default/b\\x0Ac, and its uid is none: letters, digits and '-', 63 at most");
}

TEST_CASE("of two claims with one uid neither is asked for, in any order and however many") {
  const ClaimRef other{.uid = "u1", .name_space = "default", .name = "other"};
  for (const auto& asked : {std::vector{kOne, other, kTwo}, {other, kTwo, kOne}, {kOne, other, kOne, kTwo}}) {
    const DraRequest request = sort_claims(asked);
    CHECK(request.claims == std::vector{kTwo});
    REQUIRE(request.refused.size() == 1);
    CHECK(request.refused.at("u1").find("another claim of the same request has its uid") !=
          std::string::npos);
  }
}
