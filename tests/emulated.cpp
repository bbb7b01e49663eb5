// For tests under qemu, whose clone() does not share the parent's memory as the start of programs requires
// (src/host/programs/launch.cpp). A test that would start a program ends here and counts as not shown.

#include "not_shown.hpp"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name for the replacement of __clone()
extern "C" int __wrap___clone() { plughost::test::not_shown("qemu starts no programs as the daemon does"); }
