#!/usr/bin/env python3
"""Each recipe of docs/recipes.md is valid, lists what it promises on a machine that has the hardware, and its pod asks for it.

Usage: recipes_test.py PLUGHOST MACHINES, the folder of the made machines.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/recipes.md"

# The machine that has a recipe's hardware, and how many devices the scheduler sees there. The page says 64 of the RDMA cards.
ON_MACHINES = {
    "A Zigbee stick": {"home": {"zigbee": 1}},
    "Two cameras with fixed names": {"workstation": {"camera-door": 1, "camera-yard": 0},
                                     "edge": {"camera-door": 0, "camera-yard": 1}},
    "kvm for everybody": {"server": {"kvm": 1000}},
    "A GPU for four pods": {"gpu-mixed": {"gpu-share": 12}},
    "RDMA cards for 64 pods": {"gpu-nvlink": {"rdma": 64}},
    "A UPS": {"home": {"ups": 1}, "workstation": {"ups": 0}},
    "A CAN interface": {"industrial": {"can": 2}},
    "A TPU": {"edge": {"tpu": 1}},
    "A card for a virtual machine": {"virtualization": {"passthrough": 2}},
    "A modem": {"multiport-serial": {"modem": 1}},
}


def recipes():
    """The heading, the entry and the pod of each recipe."""
    found = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        blocks = dict(re.findall(r"^```yaml (recipe|pod)\n(.*?)^```$", section, re.M | re.S))
        found[section.splitlines()[0]] = (blocks["recipe"], blocks["pod"])
    return found


def run(*words, text=None):
    done = subprocess.run([PLUGHOST, *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


class Recipes(unittest.TestCase):
    maxDiff = None

    def test_there_are_twelve_each_of_few_lines(self):
        self.assertEqual(len(recipes()), 12)
        for heading, (entry, _) in recipes().items():
            self.assertLessEqual(len(entry.splitlines()), 8, heading)

    def test_each_is_valid_without_a_warning(self):
        for heading, (entry, _) in recipes().items():
            with self.subTest(heading):
                code, _, errors = run("check", "--strict", "-", text=entry)
                self.assertEqual((code, re.findall("^warning.*", errors, re.M)), (0, []), errors)

    def test_each_pod_asks_for_the_recipe_s_resources_and_no_others(self):
        for heading, (entry, pod) in recipes().items():
            with self.subTest(heading):
                limits = re.search(r"limits: \{(.*?)\}", pod).group(1)
                self.assertEqual(sorted(re.findall(r"(\S+): 1\b", limits)), sorted(re.findall(r"name: (example\S+)", entry)))

    def test_each_lists_the_devices_of_a_machine_that_has_the_hardware(self):
        for heading, machines in ON_MACHINES.items():
            for machine, wanted in machines.items():
                with self.subTest(heading, machine=machine):
                    code, output, errors = run("plan", "-", "--facts", f"{MACHINES}/{machine}.json", "-o", "json",
                                               text=recipes()[heading][0])
                    self.assertEqual(code, 0, errors)
                    node = json.loads(output)["nodes"][0]
                    listed = {each["resource"].removeprefix("example.com/"): each["healthy"] for each in node["after"]["resources"]}
                    self.assertEqual(listed, wanted)

    def test_a_licence_is_mounted_with_its_own_name_and_two_do_not_collide(self):
        entry = recipes()["A directory of licence files"][0]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("alice.lic", "bob.lic", "readme.txt"):
                Path(folder, name).touch()
            Path(folder, "config.yaml").write_text(entry.replace("/etc/licences", folder))
            code, output, errors = run("simulate", "licence=2", "--config", f"{folder}/config.yaml")
            self.assertEqual(code, 0, errors)
            for name in ("alice.lic", "bob.lic"):
                self.assertIn(f"{folder}/{name} as /licences/{name} (read-only)", output)

    def test_a_program_s_devices_have_its_variable(self):
        entry = recipes()["A program of your own"][0]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "list-slots")
            program.write_text('#!/bin/sh\n[ "$1" = --json ] && echo \'{"devices": [{"id": "slot-1"}]}\'\n')
            os.chmod(program, 0o755)
            Path(folder, "config.yaml").write_text(entry.replace("/usr/local/bin/list-slots", str(program)))
            code, output, errors = run("simulate", "slot", "--config", f"{folder}/config.yaml")
            self.assertEqual(code, 0, errors)
            self.assertRegex(output, r"SLOT\s*=?\s*slot-1")

    def test_every_recipe_is_shown_to_list_its_devices(self):
        of_their_own = {"A directory of licence files", "A program of your own"}
        self.assertEqual(set(ON_MACHINES) | of_their_own, set(recipes()))


if __name__ == "__main__":
    PLUGHOST, MACHINES = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main(verbosity=2)
