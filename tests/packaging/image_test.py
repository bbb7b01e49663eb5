#!/usr/bin/env python3
"""The image, from its archive: what is in it and what is not, its size, what it says of itself; and one for several architectures.

Usage: image_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where there is nothing to read it with. container_test.py and
arm64_test.py run it.
"""

import datetime
import hashlib
import json
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from elf import Program  # noqa: E402
from oci import Image, missing_tool, raw, skopeo  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
LARGEST = 40_000_000  # bytes, compressed and unpacked
TRIPLES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
ABOUT = "org.opencontainers.image."
# Whom nothing names that is in the image: packaging/image says who opens them.
OPENED_LATER = {"libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libcurl.so.4"}
# With what libcurl brings along.
DEBIAN = {*"""libbrotli1 libc6 libcom-err2 libcurl4 libffi8 libgcc-s1 libgmp10 libgnutls30 libgssapi-krb5-2 libhogweed6 libidn2-0 libk5crypto3 libkeyutils1
  libkrb5-3 libkrb5support0 libldap-2.5-0 libnettle8 libnghttp2-14 libp11-kit0 libpsl5 librtmp1 libsasl2-2 libssh2-1 libssl3 libtasn1-6 libudev1
  libunistring2 libzstd1 zlib1g""".split()}


def one(pattern):
    found, = packages.glob(pattern)
    return found


def sha256(file):
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def field(name):
    return subprocess.run(["dpkg-deb", "--field", one("plughost_*.deb"), name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class OfOneArchitecture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="plughost-image-")))
        cls.archive = one("*.oci.tar")
        cls.architecture = field("Architecture")
        cls.image = Image(cls.archive, cls.architecture, cls.folder)
        cls.root = cls.image.root
        cls.package = cls.folder / "package"
        subprocess.run(["dpkg-deb", "--extract", one("plughost_*.deb"), cls.package], check=True)
        cls.libraries = cls.root / "usr/lib" / TRIPLES[cls.architecture]
        cls.sbom = json.loads((cls.root / "usr/share/doc/plughost/plughost.spdx.json").read_text())

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()}

    def test_it_is_small(self):
        compressed = self.archive.stat().st_size
        unpacked = sum(path.lstat().st_size for path in self.root.rglob("*") if not path.is_dir())
        print(f"\nimage: {self.architecture}: {compressed} bytes, {unpacked} unpacked")
        self.assertLessEqual(max(compressed, unpacked), LARGEST)

    def test_it_has_the_program_of_the_package_and_its_entries(self):
        self.assertEqual(sha256(self.root / "usr/bin/plughost"), sha256(self.package / "usr/bin/plughost"))
        for folder in ("usr/share/plughost/plugins.d", "etc/plughost"):
            for file in (self.package / folder).rglob("*"):
                if file.is_file():
                    self.assertEqual(sha256(self.root / file.relative_to(self.package)), sha256(file), file)
        self.assertTrue((self.root / "usr/share/plughost/plugins.d/fuse.yaml").exists())

    def test_nothing_else_in_it_can_be_run(self):
        program = Path("usr/bin/plughost")
        loader = Path(Program(self.root / program).interpreter).name
        self.assertEqual([path.name for path in (self.root / "usr/bin").iterdir()], ["plughost"])
        for file in map(Path, self.files() - {str(program)}):
            if (self.root / file).stat().st_mode & 0o111:
                self.assertEqual(self.root / file.parent, self.libraries, file)
                self.assertRegex(file.name, rf"\.so\.\d+$|^{re.escape(loader)}$")
            self.assertFalse((self.root / file).stat().st_mode & (stat.S_ISUID | stat.S_ISGID), file)
        for name in ("bin", "sbin", "usr/sbin", "usr/lib/apt", "usr/bin/dpkg"):
            self.assertFalse((self.root / name).exists(), name)

    def test_the_libraries_are_those_that_somebody_asks_for(self):
        there = {path.name for path in self.libraries.iterdir()}
        program = Program(self.root / "usr/bin/plughost")
        self.assertTrue((self.root / program.interpreter[1:]).resolve().is_file(), program.interpreter)
        asked = {*program.libraries, Path(program.interpreter).name, *OPENED_LATER}
        for name in there:
            found = Program(self.libraries / name)
            self.assertEqual(found.machine, self.architecture, name)
            asked.update(found.libraries)
        self.assertEqual(there, asked)

    def test_it_says_what_it_is(self):
        said = self.image.configuration["config"]["Labels"]
        self.assertEqual(said, self.image.manifest["annotations"])
        self.assertEqual(said[f"{ABOUT}title"], "plughost")
        self.assertIn("Kubernetes", said[f"{ABOUT}description"])
        self.assertEqual(said[f"{ABOUT}version"], field("Version"))
        self.assertEqual(said[f"{ABOUT}source"], field("Homepage"))
        self.assertEqual(said[f"{ABOUT}licenses"], "Apache-2.0")
        self.assertRegex(said[f"{ABOUT}created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(said[f"{ABOUT}created"], self.sbom["creationInfo"]["created"])
        if (REPOSITORY / ".git").exists():
            self.assertRegex(said[f"{ABOUT}revision"], r"^[0-9a-f]{40}(-dirty)?$")

    def test_it_is_run_as_the_unit_runs_it(self):
        configuration = self.image.configuration
        self.assertEqual((configuration["os"], configuration["architecture"]), ("linux", self.architecture))
        self.assertEqual(configuration["config"]["Entrypoint"], ["/usr/bin/plughost"])
        self.assertEqual(configuration["config"]["Cmd"], ["run"])
        self.assertEqual(configuration["config"]["User"], "0:0")
        unit = (REPOSITORY / "systemd/plughost.service").read_text()
        self.assertEqual(configuration["config"]["Env"], ["PATH=/usr/bin", *re.findall(r"^Environment=(.*)$", unit, re.M)])

    def test_what_a_container_mounts_has_its_place(self):
        # A root that cannot be written to takes no new directory.
        manifest = (REPOSITORY / "packaging/kubernetes/daemonset.yaml").read_text()
        mounted = re.findall(r"mountPath: ([^,}\s]+)", manifest)
        self.assertIn("/var/lib/kubelet/device-plugins", mounted)
        for place in (*mounted, "/var/lib/kubelet/pods-api", "/proc", "/tmp"):  # pods-api: the chart's, with `assume`
            self.assertTrue((self.root / place[1:]).is_dir(), place)
        self.assertEqual(stat.S_IMODE((self.root / "tmp").stat().st_mode), 0o1777)

    def test_a_pod_finds_it_by_the_name_in_the_daemon_set(self):
        manifest = (REPOSITORY / "packaging/kubernetes/daemonset.yaml").read_text()
        with tarfile.open(self.archive) as archive:
            named, = json.load(archive.extractfile("index.json"))["manifests"]
        self.assertEqual(named["annotations"]["io.containerd.image.name"], re.search(r"image: (\S+)", manifest).group(1))

    def test_its_layers_know_nobody_who_made_them(self):
        created = self.image.configuration["created"]
        times = set()
        for layer in self.image.layers:
            with tarfile.open(layer) as archive:
                for member in archive:
                    self.assertEqual((member.uid, member.gid, member.uname, member.gname), (0, 0, "", ""), member.name)
                    self.assertFalse(member.mode & 0o022 and member.name != "tmp" and not member.issym(), member.name)
                    times.add(member.mtime)
        self.assertEqual({datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for time in times}, {created})
        self.assertEqual({entry["created"] for entry in self.image.configuration["history"]}, {created})

    def test_its_sbom_is_spdx_and_names_what_is_in_it(self):
        self.assertEqual((self.sbom["spdxVersion"], self.sbom["dataLicense"], self.sbom["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        found = {package["SPDXID"]: package for package in self.sbom["packages"]}
        self.assertEqual(len(found), len(self.sbom["packages"]))
        for package in found.values():
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue(package["name"] and package["versionInfo"] and package["downloadLocation"])
        contained = {}
        for relation in self.sbom["relationships"]:
            from_there = (relation["spdxElementId"], relation["relationshipType"])
            contained.setdefault(from_there, set()).add(found[relation["relatedSpdxElement"]]["name"])
        self.assertEqual(contained["SPDXRef-DOCUMENT", "DESCRIBES"], {"plughost-image"})
        self.assertEqual(contained["SPDXRef-image", "CONTAINS"], {"plughost", *DEBIAN})
        self.assertIn("libgrpc-dev", contained["SPDXRef-plughost", "STATIC_LINK"])
        # The program's own document has the same of it.
        beside = json.loads(one("*.spdx.json").read_text())
        self.assertEqual([each for each in beside["packages"] if each["name"] == "plughost"],
                         [each for each in self.sbom["packages"] if each["name"] == "plughost"])

    def test_the_versions_of_its_libraries_are_true(self):
        versions = {package["name"]: package["versionInfo"] for package in self.sbom["packages"]}
        self.assertIn(f"GNU C Library (Debian GLIBC {versions['libc6']})".encode(), (self.libraries / "libc.so.6").read_bytes())
        for name in DEBIAN:
            # Where scanners look that know Debian's packages.
            words = (self.root / "var/lib/dpkg/status.d" / name).read_text()
            self.assertIn(f"Package: {name}\n", words)
            self.assertIn(f"\nVersion: {versions[name]}\nArchitecture: {self.architecture}\n", words)
        self.assertEqual({path.name for path in (self.root / "var/lib/dpkg/status.d").iterdir()}, DEBIAN)
        self.assertIn('\nVERSION_ID="12"\n', (self.root / "etc/os-release").read_text())

    def test_the_licences_of_what_is_in_it_come_with_it(self):
        for file in ("plughost/copyright", "plughost/third-party.gz", *(f"{name}/copyright" for name in DEBIAN)):
            self.assertGreater((self.root / "usr/share/doc" / file).stat().st_size, 100, file)

    def test_it_has_the_users_that_are_asked_for_and_no_group_of_plughost_s(self):
        self.assertRegex((self.root / "etc/passwd").read_text(), r"^root:x:0:0:")
        groups = (self.root / "etc/group").read_text()
        self.assertRegex(groups, r"(?m)^root:x:0:\n")
        # The control socket is on the node, where its number is another group.
        self.assertNotIn("plughost", groups)


class OfSeveral(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="plughost-image-")))
        self.archive = one("*.oci.tar")
        self.own = field("Architecture")
        self.other = "amd64" if self.own == "arm64" else "arm64"
        # It says that it is for another one; what is in it does not matter here.
        layout = self.folder / "another"
        layout.mkdir()
        subprocess.run(["tar", "--extract", "--file", self.archive, "--directory", layout], check=True)
        subprocess.run(["umoci", "config", "--image", f"{layout}:{field('Version')}", "--architecture", self.other], check=True)
        subprocess.run(["umoci", "gc", "--layout", layout], check=True, stderr=subprocess.DEVNULL)
        self.another = self.folder / "another.oci.tar"
        subprocess.run(["tar", "--create", "--file", self.another, "--directory", layout, "."], check=True)

    def together(self, name, *archives):
        file = self.folder / name
        with tarfile.open(self.archive) as archive:
            made = archive.next().mtime
        subprocess.run([REPOSITORY / "packaging/image", "--index", file, *archives], check=True, env={"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": str(made)})
        return file

    def test_each_platform_finds_its_own(self):
        both = self.together("both", self.archive, self.another)
        platforms = [(each["platform"]["os"], each["platform"]["architecture"]) for each in raw(both)["manifests"]]
        self.assertEqual(platforms, [("linux", "amd64"), ("linux", "arm64")])
        for architecture in (self.own, self.other):
            (self.folder / architecture).mkdir()
            image = Image(both, architecture, self.folder / architecture)
            self.assertEqual(image.configuration["architecture"], architecture)
        self.assertEqual(raw(both)["annotations"], raw(self.archive)["annotations"])

    def test_whole_into_a_registry(self):
        both = self.together("both", self.archive, self.another)
        skopeo("copy", "--quiet", "--all", f"oci-archive:{both}", f"dir:{self.folder / 'pushed'}")
        self.assertEqual(json.loads((self.folder / "pushed/manifest.json").read_text()), raw(both))

    def test_for_docker(self):
        both = self.together("both", self.archive, self.another)
        skopeo("--override-arch", self.own, "copy", "--quiet", f"oci-archive:{both}", f"docker-archive:{self.folder / 'docker'}:plughost:it")
        with tarfile.open(self.folder / "docker") as archive:
            one_of_it, = json.load(archive.extractfile("manifest.json"))
        self.assertEqual(one_of_it["RepoTags"], ["docker.io/library/plughost:it"])

    def test_the_order_in_which_they_come_changes_nothing(self):
        self.assertEqual(sha256(self.together("one", self.archive, self.another)), sha256(self.together("the-other", self.another, self.archive)))


if __name__ == "__main__":
    packages = Path(sys.argv.pop(1)).resolve()
    if not packages.is_dir():
        print("not shown: ./dev package has made none")
        sys.exit(77)
    if missing_tool():
        print(f"not shown: there is no {missing_tool()} here (./dev package-test installs it)")
        sys.exit(77)
    unittest.main(verbosity=2)
