"""generic-device-plugin and plughost with the same configurations: names, counts, and what containers get.

A configuration is a file of `configurations`, a command line (`.args`), or both. What generic-device-plugin
serves is recorded in `recorded.json`, for where its program cannot be had.
"""

import difflib
import json
import re
import shlex
import subprocess
from pathlib import Path

from process import Process, TimedOut

from .differences import DIFFERENCES, GIVEN, PAGE, REFUSED, names_in_the_page
from .kubelet import PATIENCE, Refused
from .lines import Failed, expect
from .made_machine import MadeMachine

HERE = Path(__file__).resolve().parent / "configurations"
RECORDED = HERE / "recorded.json"
NOTHING_KEPT, NOT_WHOLE = 1, 3  # of convert


class Configuration:
    def __init__(self, name):
        self.name = name
        file, arguments = HERE / f"{name}.yaml", HERE / f"{name}.args"
        self.file = file if file.exists() else None
        self.arguments = arguments.read_text() if arguments.exists() else ""

    def resources(self):
        """How many it has, in whichever form."""
        text = self.arguments + (self.file.read_text() if self.file else "")
        return len(re.findall(r"""\bname\b"?:|{"type"|--device '\w+,""", text, re.IGNORECASE))


class Theirs:
    def __init__(self, program):
        self._program = program

    def resources(self, configuration):
        return configuration.resources()

    def version(self, node):
        return node.output(self._program, "--version").strip()

    def start(self, node, configuration):
        command = [self._program, *shlex.split(configuration.arguments)]
        if configuration.file:
            command += ["--config", configuration.file]
        return Process([*command, "--plugin-directory", f"{node.plugins}/", "--listen", "127.0.0.1:0"])


class Ours:
    """plughost, with what `plughost convert` makes of the configuration."""

    def resources(self, _):
        return self._resources

    def start(self, node, configuration):
        convert = [node.programs.plughost, "convert"]
        if configuration.file:
            convert.append(configuration.file)
        if configuration.arguments:
            convert += ["--args", configuration.arguments]
        converted = subprocess.run(convert, capture_output=True, text=True)
        if converted.returncode not in (0, NOTHING_KEPT, NOT_WHOLE) or not converted.stdout:
            raise Failed(f"{convert}: {converted.stderr}")
        self._resources = len(re.findall(r"^- name:", converted.stdout, re.MULTILINE))
        here = f"kubelet: {{podResources: {node.pod_resources}}}\ninclude: []\n"
        node.configuration.write_text(converted.stdout + here)
        command = [node.programs.plughost, "run", "--config", node.configuration, "--control", node.control]
        return Process([*command, "--plugin-directory", node.plugins])


def configurations():
    return [Configuration(name) for name in sorted({path.stem for path in HERE.iterdir()} - {RECORDED.stem})]


def served(node, program, configuration):
    """By resource, or why there is none."""
    _forget(node)
    try:
        with program.start(node, configuration) as process:
            return _served_by(node, process, program.resources(configuration))
    except (Failed, TimedOut) as error:
        return {"refused": str(error)}


def _forget(node):
    """The kubelet starts anew, and knows nothing of what there was."""
    node.kubelet.ask("stop")
    (node.plugins / "kubelet_internal_checkpoint").unlink(missing_ok=True)
    node.kubelet.start()


def _served_by(node, process, count):
    resources = node.kubelet.resources

    def is_there():
        return not process.running() or sum(each.fed for each in resources.values()) >= count

    node.kubelet.until(is_there, PATIENCE, f"{count} lists of {process.arguments[0]}")
    if not process.running():
        return {"refused": process.lines()[-1]}
    return {name: _resource(node, name) for name in sorted(resources)}


def _resource(node, name):
    counts = node.kubelet.ask("capacity")
    healthy = counts["allocatable"][name]
    gives = [_gives(node, name, 1, f"pod-{number}") for number in range(healthy)]
    for number, words in enumerate(gives):
        if words != REFUSED:
            node.kubelet.ask(f"free pod-{number}")
    if REFUSED in gives:  # which of them are given is the kubelet's choice
        gives = [words if words == REFUSED else GIVEN for words in gives]
    distinct = sorted(map(list, {tuple(words) for words in gives}))
    each = [{"times": gives.count(words), "gives": words} for words in distinct]
    found = {"capacity": counts["capacity"][name], "healthy": healthy, "each": each}
    if healthy > 1:
        all_free = f"{healthy} of {name}, of which no pod holds any"
        node.kubelet.until(lambda: node.kubelet.allocatable()[name] == healthy, PATIENCE, all_free)
        found["all"] = _gives(node, name, healthy, "pod")
    return found


def _gives(node, name, count, pod):
    """What a container gets, in words and in order. What it would get twice it gets once."""
    try:
        allocation = node.kubelet.ask(f"allocate {name} {count} {pod}")["allocations"][name]
    except Refused:
        return REFUSED
    words = set()
    for key, value in allocation["response"].items():
        if key == "devices":
            words |= {f"node {_places(each)} {''.join(sorted(each['permissions']))}" for each in value}
        elif key == "mounts":
            words |= {f"mount {_places(each)}{' read-only' * each.get('read_only', False)}" for each in value}
        else:
            words.add(f"{key} {json.dumps(value, sort_keys=True)}")
    return sorted(words)


def _places(node_or_mount):
    return f"{node_or_mount['host_path']} as {node_or_mount['container_path']}"


def _pretty(value):
    return json.dumps(value, indent=1, sort_keys=True).splitlines()


def _compared(name, wanted, found, what):
    """Nothing, or how they differ."""
    if wanted == found:
        return []
    lines = difflib.unified_diff(_pretty(wanted), _pretty(found), "wanted", "found", n=99, lineterm="")
    return [f"{name}: {what}", *lines]


def _page_has_them():
    used, said = {difference.name for difference in DIFFERENCES.values()}, names_in_the_page()
    expect(
        used == said, f"{PAGE.name} lacks {sorted(used - said)}, and has without need {sorted(said - used)}"
    )


def differential(node, program, record=False):
    """program: generic-device-plugin's; nothing: what is recorded stands for it. record: it is written anew."""
    node.wire = False  # nobody looks at it
    node.start_kubelet()
    machine = MadeMachine(node.root)
    node.at_close(machine.close)
    every = configurations()
    said = json.loads(RECORDED.read_text()) if not record else {}
    by = f"answers recorded from generic-device-plugin {said.get('version')}, not shown with the program itself"
    theirs = said.get("served")
    if program:
        version = Theirs(program).version(node)
        by = f"generic-device-plugin itself, {version}"
        theirs = {each.name: served(node, Theirs(program), each) for each in every}
        if record:
            said = {"version": version, "served": theirs}
            RECORDED.write_text(json.dumps(said, indent=1) + "\n")
        _compare_with_recorded(node, version, theirs, said)
    expect(set(theirs) == {each.name for each in every}, "other configurations are recorded than there are")
    _page_has_them()
    for name, difference in DIFFERENCES.items():
        expect(
            difference.ours(said["served"][name]) != said["served"][name], f"{name}: there is no difference"
        )
    wrong = []
    for each in every:
        ours = served(node, Ours(), each)
        difference = DIFFERENCES.get(each.name)
        wanted = difference.ours(theirs[each.name]) if difference else theirs[each.name]
        wrong += _compared(
            each.name, wanted, ours, difference.name if difference else "theirs and ours differ"
        )
    expect(not wrong, "\n".join(wrong))
    node.notes.append(f"{len(every)} configurations, {len(DIFFERENCES)} of them with a difference, with {by}")


def _compare_with_recorded(node, version, theirs, said):
    """The recorded program must serve what is recorded. Of another version it is a note."""
    wrong = []
    for name, found in theirs.items():
        wrong += _compared(name, said["served"].get(name), found, "not what is recorded")
    if version == said["version"]:
        expect(not wrong, "\n".join(wrong))
    elif wrong:
        node.notes.append(
            f"{version} does not serve what is recorded of {said['version']}:\n" + "\n".join(wrong)
        )
