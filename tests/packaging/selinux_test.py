#!/usr/bin/env python3
"""The SELinux module: Debian's policy takes it, alone and with the types that container-selinux declares; what it then allows.

Usage: selinux_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.

Not shown: an enforcing kernel; Fedora's policy and container-selinux themselves, whose types are declared here as they are there.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import clean_root, deb, main  # noqa: E402

MODULE = "usr/share/plughost/selinux/plughost.cil"
# Of container-selinux.
TYPES = """\
(type container_device_plugin_t)
(roletype system_r container_device_plugin_t)
(typeattribute container_runtime_domain)
(type kubelet_t)
(roletype system_r kubelet_t)
(typeattributeset container_runtime_domain (kubelet_t))
(type container_var_lib_t)
(roletype object_r container_var_lib_t)
(type container_file_t)
(roletype object_r container_file_t)
"""
# udev_var_run_t of Fedora's policy is another name of this one here.
RULES = """\
allow container_device_plugin_t container_file_t:dir watch;
allow container_device_plugin_t container_runtime_domain:unix_stream_socket connectto;
allow container_device_plugin_t container_var_lib_t:dir { getattr open read search watch };
allow container_device_plugin_t container_var_lib_t:file { getattr open read };
allow container_device_plugin_t container_var_lib_t:sock_file { getattr write };
allow container_device_plugin_t device_node:blk_file getattr;
allow container_device_plugin_t device_t:dir { getattr open read search watch };
allow container_device_plugin_t device_t:lnk_file { getattr read };
allow container_device_plugin_t udev_runtime_t:dir { getattr open read search watch };
allow container_device_plugin_t udev_runtime_t:file { getattr open read };
allow container_device_plugin_t udev_runtime_t:sock_file getattr;
"""


class InDebiansPolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lower = clean_root("bookworm", "policycoreutils semodule-utils selinux-policy-default setools".split())
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="plughost-selinux-")))
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "--lazy", folder], check=True)
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        cls.root = folder / "root"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={folder}/upper,workdir={folder}/work",
                        cls.root], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "--lazy", cls.root], check=True)
        subprocess.run(["dpkg-deb", "--extract", deb(), cls.root], check=True)
        (cls.root / "types.cil").write_text(TYPES)

    def load(self, *modules):
        """Makes the policy of Debian's modules and these, as `semodule -i` does on a node."""
        options = [word for module in modules for word in ("-i", module)]
        done = subprocess.run(["chroot", self.root, "semodule", "--noreload", "-s", "default", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def policy(self):
        file, = (self.root / "etc/selinux/default/policy").iterdir()
        return file.relative_to(self.root)

    def types(self):
        return subprocess.run(["chroot", self.root, "seinfo", "-t", self.policy()], check=True, stdout=subprocess.PIPE, text=True).stdout

    def rules(self):
        return subprocess.run(["chroot", self.root, "sesearch", "--allow", "-s", "container_device_plugin_t", "-ds", self.policy()],
                              check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def contexts(self):
        text = (self.root / "etc/selinux/default/contexts/files/file_contexts").read_text()
        return [line.split() for line in text.splitlines() if "plughost" in line]

    def test_it_is_taken_without_container_selinux_and_allows_with_it_what_a_pod_needs(self):
        self.load(MODULE)
        self.assertNotIn("container_device_plugin_t", self.types())
        self.assertEqual(self.contexts(), [])
        self.load("types.cil")
        self.assertEqual(sorted(self.rules()), RULES.splitlines())
        self.assertEqual(self.contexts(), [["/var/lib/plughost(/.*)?", "system_u:object_r:container_file_t:s0"]])


if __name__ == "__main__":
    main()
