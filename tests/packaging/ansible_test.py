#!/usr/bin/env python3
"""The playbook, run by Ansible in a Debian that is booted for it.

Usage: ansible_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import shutil
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import Machine, deb, main  # noqa: E402

CONFIG = """\
resources:
- name: example.com/token
  count: 4
"""


class Playbook(unittest.TestCase):
    def setUp(self):
        self.machine = self.enterContext(Machine())
        shutil.copy(deb(), self.machine.shared)
        (self.machine.shared / "inventory").write_text("[nodes]\nlocalhost ansible_connection=local\n")

    def play(self, config, *more):
        (self.machine.shared / "config.yaml").write_text(config)
        return self.machine.outcome(
            "cd /shared && ansible-playbook -i inventory /repository/packaging/ansible/plughost.yaml "
            f"-e package=/shared/{deb().name} -e config=/shared/config.yaml {' '.join(more)}", seconds=180)

    def test_it_installs_configures_and_starts_and_then_changes_nothing(self):
        code, words = self.play(CONFIG, "-e", """'{"drop_ins": ["gpu.conf"]}'""")
        self.assertEqual(code, 0, words)
        self.assertIn("1 entry", self.machine.run("systemctl is-active plughost && plughost check"))
        self.assertIn("gpu.conf", self.machine.run("systemctl show --property DropInPaths plughost"))
        code, words = self.play(CONFIG, "-e", """'{"drop_ins": ["gpu.conf"]}'""")
        self.assertEqual(code, 0, words)
        self.assertIn("changed=0", words)

    def test_what_the_configuration_needs_of_systemd_is_set_up(self):
        code, words = self.play(CONFIG + "listen: 0.0.0.0:9464\n")
        self.assertEqual(code, 0, words)
        self.assertIn("10-setup.conf", self.machine.run("systemctl show --property DropInPaths plughost"))
        self.assertIn("0.0.0.0/0", self.machine.run("systemctl show --property IPAddressAllow plughost"))
        self.machine.run("systemctl is-active plughost")
        code, words = self.play(CONFIG + "listen: 0.0.0.0:9464\n")
        self.assertEqual(code, 0, words)
        self.assertIn("changed=0", words)

    def test_a_configuration_with_an_error_never_gets_there(self):
        code, words = self.play(CONFIG)
        self.assertEqual(code, 0, words)
        code, words = self.play(CONFIG.replace("count", "cuont"))
        self.assertNotEqual(code, 0, words)
        self.assertIn("cuont", words)
        self.assertEqual(self.machine.run("cat /etc/plughost/config.yaml"), CONFIG)
        self.machine.run("systemctl is-active plughost")


if __name__ == "__main__":
    main()
