#!/usr/bin/env python3
"""What a scheduler sees in slices, and the page of DRA's lines, without a cluster."""

import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent)]

import dra_page  # noqa: E402
import published  # noqa: E402
import replays  # noqa: E402

DOCS = {replay.__name__.replace("_", "-"): replay.__doc__ for replay in [*replays.DRA, *replays.SLOW_DRA]}


def one(pool, generation, count, *devices):
    return {"spec": {"pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
                     "devices": [{"name": device} for device in devices]}}


class Pools(unittest.TestCase):
    def test_slices_of_one_generation_are_a_pool(self):
        found = published.pools([one("a", 2, 2, "ann"), one("a", 2, 2, "bob"), one("b", 1, 1)])
        self.assertEqual({name: set(devices) for name, devices in found.items()}, {"a": {"ann", "bob"}, "b": set()})

    def test_an_older_generation_is_not_looked_at(self):
        self.assertEqual(set(published.pools([one("a", 1, 2, "ann"), one("a", 2, 1, "bob")])["a"]), {"bob"})

    def test_a_pool_without_one_of_its_slices_is_torn(self):
        with self.assertRaises(published.Torn):
            published.pools([one("a", 1, 2, "ann")])

    def test_a_pool_whose_slices_count_otherwise_is_torn(self):
        with self.assertRaises(published.Torn):
            published.pools([one("a", 1, 2, "ann"), one("a", 1, 1, "bob")])

    def test_a_pool_with_a_device_in_two_slices_is_torn(self):
        with self.assertRaises(published.Torn):
            published.pools([one("a", 1, 2, "ann"), one("a", 1, 2, "ann")])

    def test_a_device_with_our_taint_alone_is_tainted(self):
        self.assertTrue(published.tainted({"name": "ann", "taints": [{"key": published.UNHEALTHY}]}))
        self.assertFalse(published.tainted({"name": "ann", "taints": [{"key": "other.example/unhealthy"}]}))
        self.assertFalse(published.tainted({"name": "ann"}))


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name, "conformance.md")
        self.page.write_text("# Conformance\n\nwhat the other suite has written\n")

    def write(self, version, **outcomes):
        dra_page.write_page(self.page, version, DOCS, {name.replace("_", "-"): result for name, result in outcomes.items()})
        return self.page.read_text()

    def row(self, number):
        return next(line for line in self.page.read_text().splitlines() if line.startswith(f"| {number} |"))

    def test_each_line_has_its_number_and_replays_that_there_are(self):
        self.assertEqual([line.number for line in dra_page.LINES], list(range(1, 36)))
        for line in dra_page.LINES:
            self.assertLessEqual(set(line.replays), DOCS.keys(), line)
            self.assertTrue(line.replays or line.tests, f"nothing shows line {line.number}")

    def test_a_line_holds_if_all_of_its_replays_passed(self):
        self.write("1.36.2", dra_kubelet_restart=("passed", "1 ms"))
        self.assertTrue(self.row(3).endswith("| ✓ |"))
        self.assertTrue(self.row(18).endswith("| – |"))
        self.write("1.36.2", dra_sandbox=("passed", "2 s"))
        self.assertTrue(self.row(18).endswith("| ✓ |"))
        self.write("1.36.2", dra_kubelet_restart=("FAILED", "late"))
        self.assertTrue(self.row(18).endswith("| ✗ |"))

    def test_what_was_not_run_now_stays(self):
        self.write("1.36.2", dra_claim=("passed", "a | b"))
        text = self.write("1.34.10", dra_claim=("not shown", "why"))
        self.assertTrue(text.startswith("# Conformance\n\nwhat the other suite has written\n\n"))
        self.assertIn("| a \\| b |", text)
        self.assertTrue(self.row(23).endswith("| – | – |"))
        self.assertEqual(self.write("1.34.10"), text)


if __name__ == "__main__":
    unittest.main()
