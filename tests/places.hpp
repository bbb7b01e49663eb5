#pragma once
// Where the tests find what they read and start. Only places.cpp is compiled anew where a checkout lies
// elsewhere. Thread-safe.

#include <string>

namespace plughost::test {

// A file of this repository: in_source("/docs/exec.md").
[[nodiscard]] std::string in_source(const std::string& path);

extern const char* const kPlughost;           // the program that was built beside the tests
extern const char* const kStandIn;            // plughost-kubelet
extern const char* const kFakeNvml;           // NVIDIA's library as a text file describes it
extern const char* const kFakeNvmlOld;        // as it was before its calls had versions
extern const char* const kFakeNvmlDirectory;  // for LD_LIBRARY_PATH
extern const char* const kOldCurl;            // libcurl of former years
extern const char* const kMadeMachines;       // the directory of what tests/machines/make.py makes
extern const char* const
    kFoundOnMachines;  // what tests/machines were seen to give, for who has to look at a difference
extern const char* const kMadeSpecifications;  // of CDI, which tests/cdi shows to the library that reads them
extern const char* const kFoundOnNodes;        // likewise, of tests/nodes

}  // namespace plughost::test
