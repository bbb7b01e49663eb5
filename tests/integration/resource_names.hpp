#pragma once
// Names of resources.

#include <string>

namespace plughost::test {

inline const std::string kA = "example.com/a";
inline const std::string kB = "example.com/b";
inline const std::string kCamera = "example.com/camera";
inline const std::string kDisk = "example.com/disk";
inline const std::string kGopher = "example.com/gopher";
inline const std::string kOther = "example.com/other";
inline const std::string kPort = "example.com/port";
inline const std::string kToken = "example.com/token";

}  // namespace plughost::test
