#!/usr/bin/env python3
"""What somebody searches for who has a trouble is on the page that helps."""

import unittest
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
# In the words of the kubelet, a container runtime, systemd, a driver or kubectl.
TROUBLES = {
    "troubleshooting": (
        "Insufficient", "UnexpectedAdmissionError", "TopologyAffinityError", "no healthy devices present",
        "cannot allocate unregistered device", "previously allocated devices are no longer healthy",
        "PreStartContainer rpc failed", "CreateContainerError", "not a device node", "no such file or directory",
        "unresolvable CDI devices", "CrashLoopBackOff", "OOMKilled", "226/NAMESPACE", "216/GROUP", "Watchdog timeout",
        "kubelet.sock", "403", "Operation not permitted",
    ),
    "containers": ("Permission denied", "Operation not permitted", "SELinux"),
    "sizing": ("max_user_watches", "max_user_instances"),
    "gpu-memory": ("Insufficient aliyun.com/gpu-count",),
}


class Troubles(unittest.TestCase):
    def test_each_page_has_the_words_of_the_troubles_that_it_is_about(self):
        for page, words in TROUBLES.items():
            text = (DOCS / f"{page}.md").read_text()
            for each in words:
                self.assertIn(each, text, page)


if __name__ == "__main__":
    unittest.main()
