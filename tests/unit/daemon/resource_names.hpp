#pragma once
// The names of two resources.

#include <string>

namespace plughost::test {

inline const std::string kA = "x.com/a";
inline const std::string kB = "x.com/b";

}  // namespace plughost::test
