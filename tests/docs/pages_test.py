#!/usr/bin/env python3
"""The pages hold together: what they link to is there, and no table's cell is longer than two lines."""

import re
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [*(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((REPOSITORY / "docs").glob("*.md"))]
LONGEST_CELL = 240  # characters: two lines of a wide window


# What an operator looks for with grep, and the page that answers.
QUESTIONS = {
    r"kubelet is restarted": "docs/install.md",
    r"runAsUser": "docs/containers.md",
    r"why root|as root": "docs/security.md",
    r"four containers share each card": "docs/recipes.md",
    r"Insufficient": "docs/troubleshooting.md",
    r"UnexpectedAdmissionError": "docs/troubleshooting.md",
    r"way back|back to": "docs/migrate.md",
    r"In CI": "docs/fleet.md",
    r"downgrade": "docs/upgrade.md",
    r"hang|does not end|timeout": "docs/exec.md",
    r"EACCES|Permission denied": "docs/containers.md",
    r"Do I need this": "README.md",
    r"Dynamic Resource Allocation": "README.md",
}


def prose(page):
    """The lines that are no code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S).splitlines()


def anchors(page):
    """Of its headings, as GitHub makes them."""
    headings = (line.lstrip("#").strip() for line in prose(page) if re.match("#+ ", line))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Pages(unittest.TestCase):
    def test_what_a_page_links_to_is_there(self):
        links = 0
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose(page))):
                if re.match("[a-z]+:", target):
                    continue  # not in the repository
                path, _, anchor = target.partition("#")
                file = page.parent / path if path else page
                with self.subTest(f"{page.name}: {target}"):
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file))
                links += 1
        self.assertGreater(links, 200)

    def test_grep_finds_the_page_that_answers_a_question(self):
        for words, page in QUESTIONS.items():
            with self.subTest(words):
                self.assertRegex((REPOSITORY / page).read_text(), f"(?i){words}")

    def test_no_cell_of_a_table_is_longer_than_two_lines(self):
        for page in PAGES:
            for line in prose(page):
                for cell in re.split(r"(?<!\\)\|", line) if line.startswith("|") else ():
                    self.assertLessEqual(len(cell.strip()), LONGEST_CELL, f"{page.name}: {cell}")

    def test_what_a_page_runs_of_the_real_kubelet_is_there(self):
        """The names of conformance lines, and of replays in the cluster."""
        conformance, cluster = REPOSITORY / "tests/e2e/conformance", REPOSITORY / "tests/e2e/cluster"
        lines = set(re.findall(r"(?:@line\(|Line\()\s*(\d+),", "".join(each.read_text() for each in (*conformance.glob("*.py"), conformance / "run"))))
        beyond = re.search(r"^BEYOND = \((.*?)\)", (conformance / "run").read_text(), re.M | re.S).group(1)
        lines |= set(re.findall('"([^"]+)"', beyond))
        _, _, listed = (cluster / "replays.py").read_text().partition("ALL = [")
        replays = {name.replace("_", "-") for name in re.findall(r"\w+", listed)}
        named = 0
        for page in PAGES:
            for option, name in re.findall(r"--(line|replay) ([\w-]+)", page.read_text()):
                if name.isupper():
                    continue
                with self.subTest(f"{page.name}: --{option} {name}"):
                    self.assertIn(name, lines if option == "line" else replays)
                named += 1
        self.assertGreater(named, 20)


if __name__ == "__main__":
    unittest.main()
