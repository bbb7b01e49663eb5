#include "model/device/label.hpp"

#include <doctest/doctest.h>

#include <set>

namespace plughost {
namespace {

using namespace std::chrono_literals;

const FeatureTime kNow{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z
const Labels::Pairs kLabels{{"model", "T4"}, {"example.com/mark", ""}};

std::string lasting(std::chrono::microseconds time) { return feature_file_text(kLabels, kNow + time); }

TEST_CASE("a feature file has a line for each label, after its expiry time") {
  CHECK(feature_file_text(kLabels, kNow) ==
        "# plughost writes this file. What others write into it is lost.\n"
        "# +expiry-time=2027-01-15T08:00:00.000000Z\n"
        "model=T4\n"
        "example.com/mark=\n");
}

TEST_CASE("a feature file is written again if it expires within half an hour, or lasts too long") {
  CHECK(is_fresh(lasting(60min), kLabels, kNow));
  CHECK(is_fresh(lasting(30min), kLabels, kNow));
  CHECK_FALSE(is_fresh(lasting(30min - 1us), kLabels, kNow));
  CHECK_FALSE(is_fresh(lasting(60min + 1us), kLabels, kNow));
  CHECK_FALSE(is_fresh(lasting(-1us), kLabels, kNow));
}

TEST_CASE("a feature file with different labels, or with further lines, is written again") {
  CHECK_FALSE(is_fresh("", kLabels, kNow));
  CHECK_FALSE(is_fresh("model=T4\n", kLabels, kNow));
  CHECK_FALSE(is_fresh("# +expiry-time=soon\nmodel=T4\n", kLabels, kNow));
  CHECK_FALSE(is_fresh("# +expiry-time=", kLabels, kNow));
  CHECK_FALSE(is_fresh(lasting(50min) + "more=1\n", kLabels, kNow));
  CHECK_FALSE(is_fresh(lasting(50min), {{"model", "T4"}}, kNow));
}

TEST_CASE("the largest file of an entry is accepted by Node Feature Discovery") {
  std::string prefix(253, 'a');
  std::string part(63, 'b');
  const Labels::Pairs largest(kMostLabels, {prefix + '/' + part, part});
  CHECK(feature_file_text(largest, kNow).size() <= 65'536);
}

TEST_CASE("each entry of each owner has its own file, with the owner in its name") {
  std::set<std::string> names;
  for (const char* owner : {"plughost", "plughost.0123456789abcdef"})
    for (const char* entry : {"a.com/gpu", "b.com/gpu", "a.com/{name}", "a.com/{id}", "a.com/gpu.shared"}) {
      const std::string name = feature_file_name(owner, entry);
      CHECK(is_feature_file(owner, name));
      CHECK(is_feature_file(owner, '.' + name + ".tmp"));
      CHECK(name.find('/') == std::string::npos);
      names.insert(name);
    }
  CHECK(names.size() == 10);
  CHECK(feature_file_name("plughost", "a.com/gpu").starts_with("plughost-gpu-"));
  CHECK(feature_file_name("plughost", std::string(244, 'a') + '/' + std::string(63, 'b')).size() < 200);
}

TEST_CASE("files of other owners and programs are not recognised as the owner's feature files") {
  CHECK_FALSE(is_feature_file("plughost", "plughost"));
  CHECK_FALSE(is_feature_file("plughost", "plughost.0123456789abcdef-gpu-0"));
  CHECK_FALSE(is_feature_file("plughost.0123456789abcdef", "plughost-gpu-0"));
  CHECK_FALSE(is_feature_file("plughost", "my-plughost-gpu"));
  CHECK_FALSE(is_feature_file("plughost", ""));
}

}  // namespace
}  // namespace plughost
