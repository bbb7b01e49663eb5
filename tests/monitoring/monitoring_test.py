#!/usr/bin/env python3
"""The alert rules and the dashboard, read by Prometheus' own promtool, and held against docs/metrics.md.

Ends with 77 where there is no promtool.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MONITORING = REPOSITORY / "packaging/monitoring"
ALERTS = MONITORING / "alerts.yaml"
ALERTS_TEST = Path(__file__).with_name("alerts_test.yaml")

OWN_LABELS = {"instance", "job", "le"}  # Prometheus' own


def metrics():
    """Of docs/metrics.md: name → labels."""
    found = {}
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", (REPOSITORY / "docs/metrics.md").read_text(),
                                         re.M):
        names = [name + part for part in ("_bucket", "_sum", "_count")] if kind == "histogram" else [name]
        found.update(dict.fromkeys(names, set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", labels)))))
    return found


def queries(dashboard):
    """Each panel's, with what Grafana puts in place of its variables."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$resource", ".*")
            yield panel["title"], expression


def promtool(*arguments):
    done = subprocess.run([PROMTOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def anchors(page):
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Monitoring(unittest.TestCase):
    def assert_known(self, where, expression):
        known = metrics()
        expression = re.sub(r"\$\w+", "", expression)
        for name in re.findall(r"\b(?:plughost|process)_\w+", expression):
            self.assertIn(name, known, where)
        for name, selectors in re.findall(r"\b(plughost_\w+)\{([^}]*)\}", expression):
            for label in re.findall(r"(\w+)\s*(?:=|!)", selectors):
                self.assertIn(label, known[name] | OWN_LABELS, f"{where}: {name} has no such label")

    def test_prometheus_takes_the_alert_rules(self):
        code, words = promtool("check", "rules", str(ALERTS))
        self.assertEqual(code, 0, words)

    def test_each_alert_fires_for_the_sick_node_and_not_for_the_well_one(self):
        code, words = promtool("test", "rules", str(ALERTS_TEST))
        self.assertEqual(code, 0, words)
        names = re.findall(r"- alert: (\w+)", ALERTS.read_text())
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn(f'alertname="{name}"', ALERTS_TEST.read_text())

    def test_the_alerts_use_documented_names(self):
        for expression in re.findall(r"expr: (.*?)\n    (?:for|labels)", ALERTS.read_text(), re.S):
            self.assert_known(expression, expression)

    def test_each_alert_s_runbook_is_there(self):
        text = ALERTS.read_text()
        runbooks = re.findall(r"runbook: (\S+)", text)
        self.assertEqual(len(runbooks), text.count("- alert:"))
        for runbook in runbooks:
            page, _, anchor = runbook.partition("#")
            self.assertTrue((REPOSITORY / page).is_file(), runbook)
            if anchor:
                self.assertIn(anchor, anchors(REPOSITORY / page))

    def test_prometheus_parses_each_query_of_the_dashboard(self):
        dashboard = json.loads((MONITORING / "dashboard.json").read_text())
        rules = [{"record": f"panel:{number}", "expr": expression}
                 for number, (_, expression) in enumerate(queries(dashboard))]
        self.assertGreater(len(rules), 15)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)  # JSON is YAML
            file.flush()
            code, words = promtool("check", "rules", file.name)
        self.assertEqual(code, 0, words)

    def test_the_dashboard_uses_documented_names_and_shows_each_of_them(self):
        dashboard = json.loads((MONITORING / "dashboard.json").read_text())
        everything = ""
        for title, expression in queries(dashboard):
            self.assert_known(title, expression)
            everything += expression + "\n"
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
        families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics() if name.startswith("plughost_")}
        shown_elsewhere = {"plughost_config_last_reload_success_timestamp_seconds", "plughost_config_reloads_total"}
        for family in families - shown_elsewhere:
            self.assertIn(family, everything)

    def test_the_panels_do_not_overlap(self):
        taken = set()
        for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], 24)
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells


if __name__ == "__main__":
    path = subprocess.run([Path(__file__).with_name("promtool")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if path.returncode != 0:
        print(path.stderr.strip())
        sys.exit(path.returncode)
    PROMTOOL = path.stdout.strip()
    unittest.main(verbosity=2)
