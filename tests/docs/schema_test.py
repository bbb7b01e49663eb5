#!/usr/bin/python3
"""The schema of the configuration says what the program that reads it says.

Usage: schema_test.py PLUGHOST
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"not shown: {missing}; python3-jsonschema and python3-yaml have it")
    sys.exit(77)

REPOSITORY = Path(__file__).resolve().parents[2]
STORED = REPOSITORY / "docs/plughost.schema.json"
LINE = "# yaml-language-server: $schema=/usr/share/plughost/plughost.schema.json"


class Loader(yaml.SafeLoader):
    """YAML 1.2's core schema, which editors read: yes is a text, and so is 2026-11-30."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (("bool", r"true|false", "tf"), ("null", r"~|null|", "~n\0"), ("int", r"[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?[0-9]*\.[0-9]+", "-+.0123456789")):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), [c if c != "\0" else "" for c in first])
Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))


def run(*words):
    return subprocess.run([PLUGHOST, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def texts():
    """The configurations of the tree: files, and what the pages show."""
    folders = [REPOSITORY / "tests/unit/config/bad", REPOSITORY / "plugins.d", REPOSITORY / "tests/convert"]
    files = [file for folder in folders for file in sorted(folder.rglob("*.yaml"))]
    for file in [REPOSITORY / "config.example.yaml", REPOSITORY / "packaging/config.yaml", *files]:
        try:
            yield str(file.relative_to(REPOSITORY)), file.read_text()
        except UnicodeDecodeError:
            continue
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]:
        for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)):
            yield f"{page.name}, block {number}", block if "resources:" in block else "resources:\n" + block


def documents(text):
    try:
        loaded = list(yaml.load_all(text, Loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return loaded if len(loaded) == 1 and isinstance(loaded[0], dict) else None


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Once: it takes the program 15 seconds under ASan.
        cls.printed = run("schema").stdout
        cls.schema = json.loads(cls.printed)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def test_it_is_a_schema_and_the_stored_one(self):
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.assertEqual(STORED.read_text(), self.printed, "write it anew: plughost schema > docs/plughost.schema.json")

    def test_it_takes_what_the_program_takes_and_refuses_unknown_keys(self):
        taken = refused = 0
        for name, text in texts():
            document = documents(text)
            if document is None:
                continue
            with tempfile.TemporaryDirectory() as folder, self.subTest(name):
                file = Path(folder) / "config.yaml"
                file.write_text(text)
                said = run("check", str(file))
                errors = [error.message for error in self.validator.iter_errors(document[0])]
                if said.returncode == 0:
                    taken += 1
                    self.assertEqual(errors, [])
                elif "unknown key" in said.stderr and "include" not in said.stderr:
                    refused += 1
                    self.assertNotEqual(errors, [], said.stderr)
        self.assertGreater(taken, 150)
        self.assertGreater(refused, 5)

    def test_every_key_of_the_pages_is_described(self):
        described = []

        def walk(value, path):
            for key, below in value.get("properties", {}).items():
                described.append((path + "." + key, "description" in below))
                walk(below, path + "." + key)
            for below in [*value.get("anyOf", []), *([value["items"]] if "items" in value else [])]:
                walk(below, path)

        walk(self.schema, "")
        attributes = re.compile(r"\.(only|except|when|replicas)\b")
        missing = sorted({path for path, has in described if not has and not attributes.search(path)})
        self.assertLess(len(missing), 5, missing)

    def test_the_presets_and_the_example_name_the_installed_schema(self):
        for file in [REPOSITORY / "config.example.yaml", REPOSITORY / "packaging/config.yaml", *(REPOSITORY / "plugins.d").glob("*.yaml")]:
            self.assertIn(LINE, file.read_text().splitlines(), file.name)

    def test_explain_prints_a_key_with_the_keys_in_it(self):
        unit = run("explain", "resources.gpu.unit")
        self.assertEqual(unit.returncode, 0)
        for part in ["resources.gpu.unit: map", "  memory ", "  cores "]:
            self.assertIn(part, unit.stdout)
        self.assertIn("  resources ", run("explain").stdout)
        unknown = run("explain", "resources.gpus")
        self.assertEqual((unknown.returncode, unknown.stdout), (1, ""))
        self.assertIn("there is no key resources.gpus", unknown.stderr)


if __name__ == "__main__":
    PLUGHOST = sys.argv.pop(1)
    unittest.main(verbosity=2)
