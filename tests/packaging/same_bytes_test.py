#!/usr/bin/env python3
"""The packages, made once more of the same build, are the same bytes; their sums of what is in them, and their SBOM.

Usage: same_bytes_test.py PACKAGES, the folder in a build where ./dev package left them. `./dev release --twice` compiles twice, too.
"""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

REPOSITORY = Path(__file__).resolve().parents[2]


def one(pattern):
    found, = packages.glob(pattern)
    return found


class SameBytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tarfile.open(one("*.tar.gz")) as archive:
            cls.made = archive.next().mtime
        cls.environment = {**os.environ, "SOURCE_DATE_EPOCH": str(cls.made), "SOURCE_REVISION": cls.revision()}

    @staticmethod
    def revision():
        """As the image tells it."""
        with tarfile.open(one("*.oci.tar")) as archive:
            def read(name):
                return json.load(archive.extractfile(name))
            named, = read("index.json")["manifests"]
            words = read("blobs/" + named["digest"].replace(":", "/"))["annotations"]
        return words.get("org.opencontainers.image.revision", "")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="plughost-again-")))

    def assertSame(self, name):
        self.assertEqual(hashlib.sha256((self.folder / name).read_bytes()).hexdigest(),
                         hashlib.sha256((packages / name).read_bytes()).hexdigest(), name)

    def test_they_are_made_again(self):
        _, version, _, architecture = one("*.spdx.json").name.removesuffix(".spdx.json").split("-")
        subprocess.run([REPOSITORY / "packaging/make", packages.parent, version, architecture, self.folder], env=self.environment, check=True)
        made = sorted(path.name for path in packages.iterdir())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), made)
        for name in made:
            self.assertSame(name)

    def test_the_tarball_knows_nobody_who_made_it(self):
        with tarfile.open(one("*.tar.gz")) as archive:
            for member in archive:
                self.assertEqual((member.uid, member.gid, member.uname, member.gname, member.mtime), (0, 0, "", "", self.made), member.name)

    def test_no_file_says_where_it_was_made(self):
        subprocess.run(["tar", "--extract", "--directory", self.folder, "--file", one("*.tar.gz")], check=True)
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(str(REPOSITORY).encode() + b"/", file.read_bytes(), file)

    def test_the_sbom_names_the_libraries_that_are_in_the_program(self):
        sbom = json.loads(one("*.spdx.json").read_text())
        self.assertEqual(sbom["spdxVersion"], "SPDX-2.3")
        found = {package["SPDXID"]: package for package in sbom["packages"]}
        self.assertEqual(len(found), len(sbom["packages"]))
        by_kind = {}
        for relation in sbom["relationships"]:
            by_kind.setdefault(relation["relationshipType"], set()).add(found[relation["relatedSpdxElement"]]["name"])
        self.assertEqual(by_kind["DESCRIBES"], {"plughost"})
        self.assertEqual(by_kind["DYNAMIC_LINK"], {"libc6", "libudev1"})
        self.assertLessEqual({"libgrpc-dev", "libgrpc++-dev", "libprotobuf-dev", "libabsl-dev", "libc-ares-dev", "zlib1g-dev",
                              "libstdc++-12-dev", "libgcc-12-dev", "libyaml-cpp-dev", "libyaml-dev", "libspdlog-dev", "libfmt-dev", "nlohmann-json3-dev",
                              "libcli11-dev", "prometheus-cpp-dev"}, by_kind["STATIC_LINK"])
        self.assertFalse({"doctest-dev", "libssl-dev", "libc6-dev"} & by_kind["STATIC_LINK"])
        for package in found.values():
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["versionInfo"])

    def test_the_licences_of_what_is_in_the_program_come_with_it(self):
        subprocess.run(["tar", "--extract", "--directory", self.folder, "--file", one("*.tar.gz")], check=True)
        file, = self.folder.glob("*/files/usr/share/doc/plughost/third-party.gz")
        text = gzip.decompress(file.read_bytes()).decode()
        for package in ("libgrpc-dev", "libprotobuf-dev", "libabsl-dev", "libc-ares-dev", "zlib1g-dev", "nlohmann-json3-dev",
                        "prometheus-cpp-dev"):
            self.assertRegex(text, rf"(?m)^==== .*{package}\b")
        self.assertIn("Copyright", text)

    def test_all_say_one_version(self):
        version = re.search(r"^project\(plughost VERSION (\S+) ", (REPOSITORY / "CMakeLists.txt").read_text(), re.M).group(1)
        for package in packages.iterdir():
            self.assertRegex(package.name, rf"^plughost(-dbgsym|-kubelet)?[-_]{re.escape(version)}[-_]")
        # CMakeLists.txt is where it is said; a page that names a package has to follow.
        for page in (REPOSITORY / "README.md", *REPOSITORY.glob("docs/*.md"), *(REPOSITORY / "packaging").rglob("*.yaml")):
            for named in re.findall(r"plughost[-_:](\d+\.\d+\.\d+)", page.read_text()):
                self.assertEqual(named, version, page)


if __name__ == "__main__":
    packages = Path(sys.argv.pop(1)).resolve()
    if not packages.is_dir():
        print("not shown: ./dev package has made none")
        sys.exit(77)
    unittest.main(verbosity=2)
