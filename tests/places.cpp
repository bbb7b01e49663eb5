#include "places.hpp"

namespace plughost::test {

std::string in_source(const std::string& path) { return PLUGHOST_SOURCE_DIR + path; }

const char* const kPlughost = PLUGHOST_BINARY;
const char* const kStandIn = PLUGHOST_STAND_IN;
const char* const kFakeNvml = PLUGHOST_FAKE_NVML;
const char* const kFakeNvmlOld = PLUGHOST_FAKE_NVML_OLD;
const char* const kFakeNvmlDirectory = PLUGHOST_FAKE_NVML_DIRECTORY;
const char* const kOldCurl = PLUGHOST_OLD_CURL;
const char* const kMadeMachines = PLUGHOST_MADE_MACHINES;
const char* const kFoundOnMachines = PLUGHOST_FOUND_ON_MACHINES;
const char* const kMadeSpecifications = PLUGHOST_MADE_SPECIFICATIONS;
const char* const kFoundOnNodes = PLUGHOST_FOUND_ON_NODES;

}  // namespace plughost::test
