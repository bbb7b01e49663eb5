#include <doctest/doctest.h>

#include "doctor/api_permissions.hpp"
#include "unit/apiserver/fake_objects.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kTrial = std::string("POST ") + FakeObjects::kSlices + "?dryRun=All";

// An entry that is advertised by DRA, and an API server.
struct Asking {
  FakeObjects objects;
  TempDir files;

  ClusterDra ask(std::chrono::milliseconds limit = 15s) const {
    files.file("config.yaml", "apiServer: {kubeconfig: " + objects.kubeconfig(files) +
                                  ", node: worker-1}\nresources:\n"
                                  "- {name: example.com/token, count: 2, advertise: dra}\n");
    const ApiPermissions access = ask_api_server(load_config(files.at("config.yaml")), limit);
    REQUIRE(access.dra);
    return *access.dra;
  }
  SliceTrial tried() const {
    const ClusterDra dra = ask();
    REQUIRE(dra.slice);
    return *dra.slice;
  }
};

}  // namespace

TEST_CASE("doctor tries a slice of the node, and nothing is made of it") {
  const Asking asking;
  CHECK(asking.tried() == SliceTrial{.features = DraFeatures{}, .trouble = {}});
  CHECK(asking.objects.asked(kTrial) == 1);
  CHECK(asking.objects.written().empty());
  CHECK(asking.objects.all(FakeObjects::kSlices).empty());
}

TEST_CASE("doctor learns which features the API server drops") {
  Asking asking;
  for (const DraFeatures& kept :
       {DraFeatures{.taints = false}, DraFeatures{.sharing = false}, DraFeatures{.partitions = false},
        DraFeatures{.taints = false, .sharing = false, .partitions = false}}) {
    asking.objects.keep(kept);
    CHECK(asking.tried() == SliceTrial{.features = kept, .trouble = {}});
  }
}

TEST_CASE("doctor tries it without counters where they are refused, and says so if that is refused, too") {
  Asking asking;
  asking.objects.refuse(kTrial, 422, 1);
  CHECK(asking.tried() == SliceTrial{.features = DraFeatures{.partitions = false}, .trouble = {}});
  CHECK(asking.objects.asked(kTrial) == 2);
  asking.objects.refuse(kTrial, 422);
  const SliceTrial trial = asking.tried();
  CHECK(trial.refused);
  CHECK(trial.trouble.find("refused by the test") != std::string::npos);
  CHECK(asking.objects.asked(kTrial) == 4);
}

TEST_CASE("doctor tries it in the version that there is, and not at all where there is none") {
  Asking asking;
  asking.objects.serve({"v1beta1", "v1beta2"});
  CHECK(asking.tried().features);
  CHECK(asking.objects.asked("POST /apis/resource.k8s.io/v1beta2/resourceslices?dryRun=All") == 1);
  CHECK(asking.objects.asked(kTrial) == 0);
  for (const std::vector<std::string>& versions : {std::vector<std::string>{"v1beta1"}, {}}) {
    asking.objects.serve(versions);
    const ClusterDra dra = asking.ask();
    CHECK_FALSE(dra.slice);
    CHECK(dra.trouble.empty());
    CHECK(dra.versions == versions);
  }
}

TEST_CASE("doctor says that the slice is forbidden, not served, or not answered") {
  Asking asking;
  asking.objects.refuse(kTrial, 403);
  CHECK(asking.tried().refused);
  asking.objects.refuse(kTrial, 404);
  const SliceTrial missing = asking.tried();
  CHECK_FALSE(missing.refused);
  CHECK_FALSE(missing.features);
  CHECK(missing.trouble.find("404") != std::string::npos);
  asking.objects.refuse(kTrial, 0);
  asking.objects.hold(kTrial);
  const ClusterDra late = asking.ask(1s);
  CHECK_FALSE((late.slice && (late.slice->features || late.slice->refused)));
  CHECK_FALSE((late.slice ? late.slice->trouble : late.trouble).empty());
  asking.objects.release();
  CHECK(asking.tried().features);
}
