#!/usr/bin/env python3
"""The program runs on every distribution with glibc 2.34 and libudev: it asks for nothing else.

Usage: portable_test.py PROGRAM. Ends with 77 where it was linked with a C library that is newer than Debian 12's: the packages are built there.
"""

import os
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from elf import Program  # noqa: E402

OLDEST_LIBC = (2, 34)
BUILT_WITH = (2, 36)
LIBRARIES = {"libc.so.6", "libm.so.6", "libudev.so.1"}
LOADERS = {"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}
LARGEST = 15_000_000  # bytes, stripped


def is_newer(version):
    """Than the oldest; or it is of no release, as GLIBC_PRIVATE."""
    number = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return not number or tuple(int(part) for part in number.group(1).split(".")) > OLDEST_LIBC


class Portable(unittest.TestCase):
    def test_it_is_linked_with_the_c_library_and_libudev_alone(self):
        loader = LOADERS[program.machine]
        self.assertEqual(program.interpreter, loader)
        self.assertLessEqual(set(program.libraries), LIBRARIES | {Path(loader).name})
        self.assertIn("libudev.so.1", program.libraries)
        self.assertEqual(program.search_path, "")

    def test_no_symbol_is_of_a_newer_c_library(self):
        for library, versions in program.versions.items():
            if library == "libudev.so.1":
                self.assertEqual(versions, {"LIBUDEV_183"})
                continue
            newer = {version for version in versions if is_newer(version)}
            self.assertEqual(newer, set(), f"of {library}")

    def test_it_is_small(self):
        print(f"\n{program.machine}: {program.size} bytes are loaded")
        self.assertLessEqual(program.size, LARGEST)

    def test_it_is_loaded_at_an_address_that_nobody_knows(self):
        self.assertTrue(program.position_independent)


if __name__ == "__main__":
    program = Program(sys.argv.pop(1))
    here = tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
    if here > BUILT_WITH:
        print(f"not shown: {os.confstr('CS_GNU_LIBC_VERSION')} is newer than what the packages are built with")
        sys.exit(77)
    unittest.main(verbosity=2)
