// For tests that qemu runs: it gives no child its parent's memory, which is how programs are started
// (src/host/programs/launch.cpp). A test that would start one ends here, and is counted as not shown.

#include "not_shown.hpp"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name of what stands in for __clone()
extern "C" int __wrap___clone() { plughost::test::not_shown("qemu starts no programs as the daemon does"); }
