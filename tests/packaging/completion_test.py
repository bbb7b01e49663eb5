#!/usr/bin/env python3
"""bash and zsh complete every command, every option and its values, in a Debian with the package installed.

The completions ask the program itself, so what is asked here is whether they understand its answers.
Usage: completion_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import json
import re
import shlex
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import Machine, deb, main  # noqa: E402

BASH = """
source /usr/share/bash-completion/bash_completion
_completion_loader plughost
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
_plughost
printf '%s\\n' "${COMPREPLY[@]}"
"""

# zsh's own functions, as far as the completion calls them: what they would offer is printed.
ZSH = """
_call_program() { shift; "$@" }
_describe() { local each; for each in "${(@P)2}"; do print -r -- "${each%%:*}"; done }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
_files() { print files }
words=("$@")
CURRENT=$#
source /usr/share/zsh/vendor-completions/_plughost
"""


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = cls.enterClassContext(Machine())
        cls.machine.install(deb())
        (cls.machine.shared / "bash").write_text(BASH)
        (cls.machine.shared / "zsh").write_text(ZSH)

    def help(self, *command):
        return self.machine.run(shlex.join(["plughost", *command, "--help"]))

    def commands(self):
        found = re.findall(r"^  ([a-z]+) ", self.help().split("\nSubcommands:\n")[1], re.M)
        self.assertGreater(len(found), 6)
        return set(found)

    def options(self, command):
        return {name for names in re.findall(r"^  (-\S+)", self.help(command), re.M) for name in names.split(",")}

    def complete(self, shell, *words):
        """What the shell offers for the last of the words."""
        return set(self.machine.run(shlex.join([shell, f"/shared/{shell}", "plughost", *words])).split())

    def test_commands(self):
        for shell in ("bash", "zsh"):
            self.assertEqual(self.complete(shell, ""), self.commands(), shell)
        self.assertEqual(self.complete("bash", "chec"), {"check", "checkpoint"})

    def test_the_options_of_each_command(self):
        for command in self.commands():
            with self.subTest(command):
                options = self.options(command)
                self.assertEqual(self.complete("bash", command, "--"),
                                 {name for name in options if name.startswith("--")})
                self.assertEqual(self.complete("zsh", command, "-"), options)

    def test_an_option_s_values(self):
        for shell in ("bash", "zsh"):
            with self.subTest(shell):
                self.assertEqual(self.complete(shell, "run", "--log-level", ""), {"debug", "info", "warn", "error"})
                self.assertEqual(self.complete(shell, "discover", "-o", ""), {"table", "json", "yaml", "name", "wide"})
                self.assertEqual(self.complete(shell, "plan", "-o", ""), {"table", "json", "yaml"})

    def test_an_action_and_what_it_is_done_to(self):
        self.assertEqual(self.complete("bash", "preset", ""), {"list", "show", "enable", "disable"})
        self.assertEqual(self.complete("zsh", "preset", ""), {"list", "show", "enable", "disable"})
        self.assertEqual(self.complete("bash", "preset", "enable", "kv"), {"kvm", "kvm-vhost"})
        self.assertIn("kvm-vhost", self.complete("zsh", "preset", "enable", ""))

    def test_the_daemon_s_resources_and_their_devices(self):
        # bash breaks a word at '=' and replaces what is behind it.
        config = "{resources: [{name: example.com/one, count: 2}, {name: example.com/two, count: 1}]}"
        self.machine.run(f"echo {shlex.quote(config)} >/etc/plughost/config.yaml; systemctl restart plughost")
        both = {"example.com/one", "example.com/two"}
        for shell in ("bash", "zsh"):
            for words in (("status",), ("drain",), ("undrain",), ("simulate",), ("events", "--resource")):
                with self.subTest(shell, words=words):
                    self.assertEqual(self.complete(shell, *words, ""), both)
        devices = set(self.machine.run("plughost status example.com/one -o name").split())
        self.assertEqual(len(devices), 2)
        self.assertEqual(self.complete("zsh", "drain", "example.com/one="), devices)
        self.assertEqual(self.complete("bash", "drain", "example.com/one="), {each.split("=")[1] for each in devices})
        self.assertEqual(self.complete("bash", "drain", "example.com/t"), {"example.com/two"})

    def test_an_id_that_a_stranger_chose_is_offered_and_not_run(self):
        listed = json.dumps({"devices": [{"id": "a$(touch>/tmp/ran)"}, {"id": "b`touch>/tmp/ran`"}]})
        config = "{resources: [{name: example.com/odd, exec: {discover: [/bin/echo, %s]}}]}" % json.dumps(listed)
        self.machine.run(f"echo {shlex.quote(config)} >/etc/plughost/config.yaml; systemctl restart plughost")
        for shell in ("bash", "zsh"):
            with self.subTest(shell):
                offered = self.complete(shell, "drain", "example.com/odd=")
                self.assertEqual(len(offered), 2, offered)
                self.assertEqual(self.machine.run("ls /tmp/ran 2>/dev/null || true"), "")

    def test_the_commands_that_have_help(self):
        for shell in ("bash", "zsh"):
            self.assertEqual(self.complete(shell, "help", ""), self.commands(), shell)

    def test_files(self):
        self.machine.run("touch /tmp/mine.yaml")
        self.assertEqual(self.complete("bash", "run", "--config", "/tmp/mi"), {"/tmp/mine.yaml"})
        self.assertEqual(self.complete("zsh", "run", "--config", ""), {"files"})
        self.assertEqual(self.complete("bash", "check", "/tmp/mi"), {"/tmp/mine.yaml"})


if __name__ == "__main__":
    main()
