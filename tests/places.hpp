#pragma once
// Paths of the files that tests read and the programs that they start. Only places.cpp is recompiled when the
// checkout moves. Thread-safe.

#include <string>

namespace plughost::test {

// Returns the path of a file of this repository: in_source("/docs/exec.md").
[[nodiscard]] std::string in_source(const std::string& path);

extern const char* const kPlughost;           // the program built with the tests
extern const char* const kStandIn;            // plughost-kubelet
extern const char* const kFakeNvml;           // NVIDIA's library as described by a text file
extern const char* const kFakeNvmlOld;        // the same before its calls had versions
extern const char* const kFakeNvmlDirectory;  // for LD_LIBRARY_PATH
extern const char* const kOldCurl;            // an old version of libcurl
extern const char* const kMadeMachines;       // output of tests/machines/make.py
extern const char* const kFoundOnMachines;    // results for tests/machines, to inspect differences
extern const char* const
    kMadeSpecifications;  // CDI specifications that tests/cdi passes to the library that reads them
extern const char* const kFoundOnNodes;  // results for tests/nodes

}  // namespace plughost::test
