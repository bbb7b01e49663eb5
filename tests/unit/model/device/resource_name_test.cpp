#include "model/device/names.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

TEST_CASE("names that the kubelet accepts have no error") {
  for (const std::string& name :
       {std::string("nvidia.com/gpu"), std::string("a/b"), std::string("lixueduan.com/gopher"),
        std::string("nvidia.com/mig-1g.5gb.Shared_x"), std::string(244, 'a') + "/x",
        "x/" + std::string(63, 'A'), std::string("request.example/x"),
        std::string("my-kubernetes.io.example/x")}) {
    CHECK_MESSAGE(resource_name_error(name).empty(), name);
  }
}

TEST_CASE("names that the kubelet refuses have a specific error") {
  const auto refused = [](const std::string& name, const char* word) {
    return resource_name_error(name).find(word) != std::string::npos;
  };
  CHECK(refused("", "has a domain"));
  CHECK(refused("gopher", "has a domain"));
  CHECK(refused("a/b/c", "exactly one '/'"));
  CHECK(refused("kubernetes.io/x", "belong to Kubernetes"));
  CHECK(refused("my.kubernetes.io/x", "belong to Kubernetes"));
  CHECK(refused("requests.example/x", "requests."));
  CHECK(refused(std::string(245, 'a') + "/x", "has 245 characters; at most 244"));
  for (const char* domain : {"", "Example.com", "a..b", ".a", "a.", "-a", "a-", "a_b", "a.-b"}) {
    CHECK_MESSAGE(refused(std::string(domain) + "/x", "lower-case"), domain);
  }
  CHECK(refused("a/" + std::string(64, 'x'), "has 64 characters; at most 63"));
  for (const char* part : {"", "-x", "x-", "_x", "x.", "a b", "a:b", "größe"}) {
    CHECK_MESSAGE(refused("a/" + std::string(part), "begin and end"), part);
  }
}

TEST_CASE("a machine's value becomes the most similar valid part of a name") {
  CHECK(resource_name_part("snd/timer") == "snd_timer");
  CHECK(resource_name_part("/dev/tty S0/") == "dev_tty_S0");
  CHECK(resource_name_part("..x-1.5") == "x-1.5");
  CHECK(resource_name_part("--") == "");
  CHECK(resource_name_part("") == "");
  CHECK(resource_name_part(std::string(62, 'x') + "-y") == std::string(62, 'x'));
  CHECK(resource_name_error("a/" + resource_name_part("\xFF"
                                                      "a\xFF"
                                                      "b\xFF"))
            .empty());
}

}  // namespace
}  // namespace plughost
