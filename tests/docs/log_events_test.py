#!/usr/bin/env python3
"""docs/log-events.md has every event of the log, with its level, and no other."""

import re
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs/log-events.md"
CALL = re.compile(r"\b(?:log_?|target)(?:\.|->)(debug|info|warn|error)\(\s*")
# "fixed " "words" PLUGHOST_VERSION
WORDS = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|(PLUGHOST_VERSION))\s*')


def words_at(text, position):
    """The literal that stands there, as it is logged; empty: it is no literal."""
    words = ""
    while match := WORDS.match(text, position):
        words += "VERSION" if match[2] else re.sub(r"\\(.)", r"\1", match[1])
        position = match.end()
    return words


def logged():
    """(level, words) of each call in the sources, and (level, file) of those whose words are not fixed."""
    fixed, varying = set(), set()
    for source in sorted((REPOSITORY / "src").rglob("*.cpp")):
        text = source.read_text()
        for call in CALL.finditer(text):
            words = words_at(text, call.end())
            if words:
                fixed.add((call[1], words))
            else:
                varying.add((call[1], str(source.relative_to(REPOSITORY))))
    return fixed, varying


def rows(heading):
    """The first two cells of each row of the tables below the heading."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [(row[1], row[3]) for row in re.finditer(r"^\| `([^`]*)` \| (`+)(.*?)\2 \|", section, re.M)]
    if len(found) != len(set(found)):
        raise AssertionError(f"{heading}: a row stands there twice")
    return set(found)


class LogEvents(unittest.TestCase):
    maxDiff = None

    def test_every_event_with_fixed_words_is_in_the_table_and_no_other(self):
        fixed, _ = logged()
        self.assertGreater(len(fixed), 25, "the calls of the log are not found any more")
        self.assertEqual(fixed, rows("Fixed words"))

    def test_every_place_that_logs_other_words_is_named(self):
        _, varying = logged()
        self.assertEqual(varying, rows("Other words"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for part in logged():
            print(*(f"| `{level}` | `{words}` |" for level, words in sorted(part)), sep="\n")
    else:
        unittest.main()
