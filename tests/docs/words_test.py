#!/usr/bin/env python3
"""The words by which docs/troubleshooting.md, hardware.md and messages.md tell a trouble are those that the program says."""

import re
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# Said by others: systemd, gRPC, the C library, and in prose.
OTHERS = {
    "status=216/GROUP", "status=226/NAMESPACE", "Watchdog timeout",
    "rpc error: code =", "rpc error: code = Unavailable desc =", "desc = resource example.com/fuse", "desc = device",
    "Permission denied", "Operation not permitted", "config.yaml:3:5: resources[0]",
    "CrashLoopBackOff", "OOMKilled",
}


def sources():
    """The text of src, with literals that stand side by side made one, and of the stand-in, which says what the kubelet says."""
    folders = (REPOSITORY / "src", REPOSITORY / "tests/kubelet")
    text = "\n".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.[ch]pp")))
    return re.sub(r'"\s*\n?\s*"', "", text)


def told(page):
    """What the first cells of the page's tables quote, in pieces: an ellipsis stands for anything, and so does an example."""
    rows = re.findall(r"^\| (`.*?) \|", (REPOSITORY / "docs" / page).read_text(), re.M)
    for quoted in (span for row in rows for span in re.findall(r"`([^`]*)`", row)):
        for piece in re.split(r"…|example\.com/\w+|\b\d+\b", quoted):
            if piece.strip(' "{},;.'):
                yield quoted, piece.strip(' "{},;.')


class Words(unittest.TestCase):
    def test_what_the_pages_quote_is_said(self):
        said = sources()
        for page in "troubleshooting.md", "hardware.md", "messages.md":
            pieces = list(told(page))
            self.assertGreater(len(pieces), 25)
            for quoted, piece in pieces:
                if quoted.split("…")[0].strip() in OTHERS or piece in OTHERS:
                    continue
                with self.subTest(page, quoted=quoted):
                    self.assertIn(piece, said)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
