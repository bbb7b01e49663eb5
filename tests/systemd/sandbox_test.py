#!/usr/bin/env python3
"""plughost.service in a systemd that has been booted for it: what the sandbox allows, and that the daemon needs no more.

Usage: sandbox_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import re
import shlex
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packaging"))

from machine import Machine, deb, main, standin_deb, until  # noqa: E402

MOST_EXPOSED = 2.0
DROP_INS = "/etc/systemd/system/plughost.service.d"
# A character device that is not among the standard ones; /dev/net/tun's number. Whether the kernel has it does not
# matter: the sandbox is asked first.
PROBE = "mknod -m 0600 /dev/probe c 10 200"

# Whatever the daemon does without hardware: files, programs of all sorts, pods.
CONFIG = """\
domain: example.com
resources:
- name: token
  count: 2
  preStart: {exec: [/usr/bin/touch, "/tmp/started-{id}"]}
  allocate: {exec: [/usr/bin/printf, "{{}}"]}
  onRemove: {exec: [/usr/bin/touch, "/run/plughost/removed"]}
- name: file
  directory: {path: /etc/files}
  health: {exec: [/usr/bin/test, -s, "{path}"], interval: 1s}
- name: random
  groups: [{paths: [{path: "/dev/*random"}]}]
  cdi: true
- name: disk
  udev: {subsystem: [block, net, tty]}
- name: listed
  exec: {discover: [/usr/bin/printf, '{"devices": [{"id": "one"}]}'], interval: 1s}
"""


class InTheUnit(unittest.TestCase):
    """Each test has a machine of its own, with the package installed and a stand-in kubelet."""

    def setUp(self):
        self.machine = self.enterContext(Machine())
        self.machine.install(deb())
        self.machine.install(standin_deb())
        self.machine.run("mkdir -p /etc/files && echo well >/etc/files/well")
        self.kubelet = self.enterContext(self.machine.process("plughost-kubelet", "--stay"))
        self.kubelet.wait_for_line("listening on", 10)

    def write(self, path, text):
        (self.machine.shared / "text").write_text(text)
        self.machine.run(f"mkdir -p $(dirname {path}) && cp /shared/text {path}")

    def restart(self, config=CONFIG):
        self.write("/etc/plughost/config.yaml", config)
        start = self.kubelet.mark()
        self.machine.run("systemctl daemon-reload && systemctl restart plughost")
        return start

    def property(self, name):
        return self.machine.run(f"systemctl show --property {name} --value plughost").strip()

    def process_status(self):
        return self.machine.run(f"cat /proc/{self.property('MainPID')}/status")

    def wait_for_all(self, start):
        for line in ("token: 2 devices, 2 healthy", "file: 1 device, 1 healthy", "random: 2 devices, 2 healthy",
                     "listed: 1 device, 1 healthy", "disk: "):
            self.kubelet.wait_for_line(f"example.com/{line}", 20, start)

    def test_the_daemon_does_all_of_its_work_and_no_system_call_is_missing(self):
        # What the filter refuses ends the process here, in place of an error that might be swallowed.
        self.write(f"{DROP_INS}/strict.conf", "[Service]\nSystemCallErrorNumber=kill\n")
        start = self.restart()
        daemon = self.property("MainPID")
        self.wait_for_all(start)
        self.machine.run("grep -q /dev/urandom /var/run/cdi/*.json")

        self.machine.run("touch /etc/files/empty")
        self.kubelet.wait_for_line("example.com/file: 2 devices, 1 healthy", 10, start)
        self.kubelet.write("allocate example.com/token 1 pod-a")
        self.kubelet.wait_for_line("pod-a holds", 10, start)
        self.kubelet.write("start pod-a")
        self.kubelet.wait_for_line(lambda line: "started" in line or "pod-a" in line and "start" in line, 10, start)
        again = self.kubelet.mark()
        self.kubelet.write("restart")
        self.kubelet.wait_for_line("example.com/token: 2 devices", 10, again)
        self.write("/etc/plughost/config.yaml", CONFIG.replace("count: 2", "count: 3"))
        self.machine.run("systemctl reload plughost")
        self.kubelet.wait_for_line("example.com/token: 3 devices", 10, again)
        self.assertEqual(self.property("MainPID"), daemon, "it did not live through its work")
        self.machine.run("systemctl stop plughost")
        self.assertEqual(self.property("Result"), "success")

    def test_the_daemon_has_no_capability_and_cannot_get_any(self):
        self.restart()
        status = self.process_status()
        for line in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertRegex(status, rf"{line}:\s+0+\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1\n")
        self.assertRegex(status, r"Seccomp:\s+2\n")

    def look(self, script):
        """What a program in the daemon's sandbox finds: 'Healthy', or the first line that it writes."""
        self.write("/usr/local/bin/look", f"#!/bin/bash\n{script}\n")
        self.machine.run("chmod 755 /usr/local/bin/look")
        start = self.restart(
            "resources:\n- name: example.com/look\n  count: 1\n  health: {exec: [/usr/local/bin/look], interval: 1s}\n")
        line = self.kubelet.wait_for_line("example.com/look: 1 device", 20, start)
        if "1 healthy" in line:
            return "Healthy"
        found = self.machine.run("journalctl --unit plughost --output cat --no-pager | grep 'turned Unhealthy' | tail -1")
        return re.search(r"why=(.*)", found)[1]

    def test_what_the_sandbox_closes_is_closed(self):
        self.machine.run(PROBE)
        self.machine.add_address("192.0.2.1")
        for what, script, words in (
                ("a device", "exec 3</dev/probe", "not permitted"),
                ("the configuration", "exec 3>>/etc/plughost/config.yaml", "Read-only file system"),
                ("programs", "exec 3>/usr/bin/x", "Read-only file system"),
                ("homes", "ls -A /root/.bashrc 2>&1", "cannot access"),
                ("kernel settings", "exec 3>/proc/sys/vm/swappiness", "Read-only file system"),
                ("control groups", "mkdir /sys/fs/cgroup/x 2>&1", "Read-only file system"),
                ("namespaces", "unshare --mount true 2>&1", "not permitted"),
                # Where it were open, nobody would listen: "Connection refused".
                ("another network address",
                 "timeout 2 bash -c 'exec 3<>/dev/tcp/192.0.2.1/9' 2>&1; [ $? != 124 ] || echo dropped; exit 1",
                 "not permitted|dropped"),
        ):
            with self.subTest(what):
                self.assertRegex(self.look(script), words)

    def test_what_the_sandbox_leaves_open_is_open(self):
        for what, script in (
                ("the kubelet's directory", "exec 3>/var/lib/kubelet/device-plugins/x && rm /var/lib/kubelet/device-plugins/x"),
                ("CDI specifications", "exec 3>/var/run/cdi/x && rm /var/run/cdi/x"),
                ("the control socket's directory", "exec 3>/run/plughost/x && rm /run/plughost/x"),
                ("what outlives the daemon", "exec 3>/var/lib/plughost/x && rm /var/lib/plughost/x"),
                ("standard devices", "head -c 1 /dev/urandom >/dev/null"),
        ):
            with self.subTest(what):
                self.assertEqual(self.look(script), "Healthy")

    def test_the_drop_ins_open_what_they_are_for(self):
        self.machine.run(PROBE)
        for name in ("gpu", "programs"):
            with self.subTest(name):
                self.machine.run(f"mkdir -p {DROP_INS}; rm -f {DROP_INS}/*; "
                                 f"ln -s /usr/share/plughost/systemd/{name}.conf {DROP_INS}/")
                self.assertRegex(self.look("exec 3</dev/probe"), "Healthy|No such device")

    def test_a_program_of_another_user_needs_the_drop_in_for_users(self):
        config = CONFIG.replace("}]}'], interval: 1s}", "}]}'], interval: 1s, user: nobody}")
        self.assertIn("nobody", config)
        start = self.restart(config)
        self.kubelet.wait_for_line("example.com/token: 2 devices", 20, start)
        until(lambda: "device scan failed" in self.machine.run("journalctl --unit plughost --no-pager"), 20,
              "the log's line about the program")
        self.machine.run(f"mkdir -p {DROP_INS} && ln -s /usr/share/plughost/systemd/users.conf {DROP_INS}/")
        self.kubelet.wait_for_line("example.com/listed: 1 device, 1 healthy", 20, self.restart(config))

    def test_setup_opens_what_the_configuration_needs_and_undo_closes_it(self):
        self.machine.add_address("192.0.2.1")
        self.machine.run("printf '[Service]\nExecStart=/bin/sleep infinity\n' >/etc/systemd/system/k3s.service && "
                         "systemctl daemon-reload && systemctl start k3s")
        ask = "timeout 3 bash -c 'exec 3<>/dev/tcp/192.0.2.1/9464'"
        config = "listen: 0.0.0.0:9464\n" + CONFIG.replace("}]}'], interval: 1s}", "}]}'], interval: 1s, user: nobody}")
        self.restart(config)
        self.assertNotEqual(self.machine.exit_code(ask), 0)
        self.assertIn("k3s: process", self.machine.run("plughost setup"))
        self.kubelet.wait_for_line("example.com/listed: 1 device, 1 healthy", 20, self.restart(config))
        self.machine.run(ask)
        self.assertIn("k3s.service", self.property("Before").split())
        self.assertIn("nothing to do", self.machine.run("plughost setup"))
        self.assertIn("removed", self.machine.run("plughost setup --undo"))
        self.machine.run("systemctl daemon-reload && systemctl restart plughost")
        self.assertNotEqual(self.machine.exit_code(ask), 0)

    def test_root_and_the_group_plughost_reach_the_control_socket_and_nobody_else_does(self):
        self.restart()
        self.assertEqual(self.machine.run("stat --format '%a %U %G' /run/plughost/control.sock").strip(), "660 root plughost")
        status = "setpriv --reuid nobody --regid nogroup --groups {} plughost status"
        self.machine.run("plughost status")
        self.machine.run(status.format("plughost"))
        self.assertNotEqual(self.machine.exit_code(status.format("nogroup")), 0)

    def test_metrics_are_for_this_machine_alone(self):
        self.restart("listen: 0.0.0.0:9464\n" + CONFIG)
        self.machine.add_address("192.0.2.1")
        ask = "exec 3<>/dev/tcp/{}/9464 && printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3 && timeout 3 cat <&3"
        self.assertIn("plughost_build_info", self.machine.run(ask.format("127.0.0.1")))
        self.assertNotEqual(self.machine.exit_code("timeout 3 bash -c " + shlex.quote(ask.format("192.0.2.1"))), 0)

    def test_a_reload_that_is_refused_fails(self):
        self.restart()
        self.write("/etc/plughost/config.yaml", "resources: 1\n")
        self.assertNotEqual(self.machine.exit_code("systemctl reload plughost"), 0)
        self.assertEqual(self.property("ActiveState"), "active")
        self.write("/etc/plughost/config.yaml", CONFIG)
        self.machine.run("systemctl reload plughost")

    def test_a_daemon_that_was_killed_or_hangs_is_started_again(self):
        self.write(f"{DROP_INS}/soon.conf", "[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
        start = self.restart()
        self.wait_for_all(start)
        for signal in ("KILL", "STOP"):
            with self.subTest(signal):
                start, before = self.kubelet.mark(), self.property("MainPID")
                self.machine.run(f"kill -{signal} {before}")
                self.wait_for_all(start)
                self.assertNotEqual(self.property("MainPID"), before)

    def test_a_node_without_a_kubelet_s_directory_gets_one(self):
        self.machine.run("systemctl stop plughost && rm -rf /var/lib/kubelet /run/cdi && systemctl start plughost")
        self.assertEqual(self.machine.run("stat --format %a /var/lib/kubelet/device-plugins").strip(), "750")

    def test_the_unit_starts_before_the_kubelet(self):
        self.assertIn("kubelet.service", self.property("Before").split())

    def test_a_bad_file_at_the_start_is_tried_again_until_it_is_mended(self):
        self.write("/etc/plughost/config.yaml", "resources: 1\n")
        self.machine.run("systemctl restart --no-block plughost")
        # More often than systemd's limit of starts allows by itself.
        until(lambda: int(self.property("NRestarts")) > 6, 30, "seven starts", every=0.2)
        self.write("/etc/plughost/config.yaml", CONFIG)
        until(lambda: self.property("ActiveState") == "active", 10, "the start with the mended file", every=0.1)


if __name__ == "__main__":
    main()
