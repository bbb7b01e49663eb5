"""What plughost gives otherwise than generic-device-plugin, by the names that docs/migrate.md has for it."""

import re
import stat
from pathlib import Path
from typing import Callable, NamedTuple

PAGE = Path(__file__).resolve().parents[3] / "docs/migrate.md"
SECTION = "## What differs from generic-device-plugin"
REFUSED = ["refused"]  # in place of what a container gets
GIVEN = ["one of all"]  # where others of the resource are refused


class Difference(NamedTuple):
    name: str
    ours: Callable  # what plughost is to serve, of what generic-device-plugin serves


def resource(gives, together=None):
    """gives: what a container gets, for each device. together: what one gets that has all of them."""
    distinct = sorted({tuple(words) for words in gives})
    each = [{"times": gives.count(list(words)), "gives": list(words)} for words in distinct]
    served = {"capacity": len(gives), "healthy": len(gives), "each": each}
    if len(gives) > 1:
        served["all"] = together or sorted({word for words in gives for word in words})
    return served


def node(path, permissions="mrw"):
    return f"node {path} as {path} {permissions}"


def _gives(served):
    return [list(one["gives"]) for one in served["each"] for _ in range(one["times"])]


def _each(change):
    """What each resource's devices give becomes change(what they give)."""
    return lambda theirs: {name: resource(change(_gives(served))) for name, served in theirs.items()}


def _serves(name, *gives):
    """Whatever theirs serves, and it may refuse the configuration."""
    return lambda theirs: {name: resource([list(words) for words in gives])}


def _in_another_domain(theirs):
    return {name.replace("squat.ai/", "devic.es/"): served for name, served in theirs.items()}


def _path(word):
    return Path(word.split()[1])


def _with_the_nodes_below(gives):
    def below(word):
        path = _path(word)
        return [word.replace(str(path), str(each)) for each in path.rglob("*") if _is_node(each)]

    return [sorted(inner for word in words for inner in below(word)) for words in gives]


def _is_node(path):
    return path.exists() and (stat.S_ISCHR(path.stat().st_mode) or stat.S_ISBLK(path.stat().st_mode))


def _only_nodes(gives):
    return [words for words in gives if all(_is_node(_path(word)) for word in words)]


def _each_apart(gives):
    return [[word] for words in gives for word in words]


def _unhealthy(theirs):
    return {name: {**served, "healthy": 0, "each": []} for name, served in theirs.items()}


def _refused_together(theirs):
    """Where two devices would be at one place."""
    return {
        name: resource(_gives(served), REFUSED if len(served["each"]) > 1 else None)
        for name, served in theirs.items()
    }


def _one_pod_at_a_time(theirs):
    """Where all devices are the same hardware."""
    return {
        name: resource([GIVEN] + [REFUSED] * (served["healthy"] - 1), served["all"])
        for name, served in theirs.items()
    }


_FTDI = node("/dev/bus/usb/001/002", "rw")
_OLD_FORM = "A form of `--device` of its first versions"
_SEVERAL_USB = "Several USB devices that fit one group"
_DIRECTORY = "A directory as a device"
_ONE_PLACE = "One `mountPath` for several devices"

DIFFERENCES = {  # by configuration
    "no-domain": Difference("No domain", _in_another_domain),
    "name-with-domain": Difference(
        "A name with its own domain", _serves("other.example/kvm", [node("/dev/kvm")])
    ),
    "comma-form": Difference(
        _OLD_FORM,
        _serves("lab.example/serial", *([node(f"/dev/tty{n}")] for n in ("ACM0", "ACM1", "USB0", "USB1"))),
    ),
    "type-form": Difference(
        _OLD_FORM,
        _serves("lab.example/serial", *([node(f"/dev/ttyUSB{n}")] for n in (0, 1, 2, 10))),
    ),
    "directory": Difference(_DIRECTORY, _each(_with_the_nodes_below)),
    "deep-directory": Difference(_DIRECTORY, _each(_with_the_nodes_below)),
    "no-nodes": Difference("A pattern that matches more than device nodes", _each(_only_nodes)),
    "file-as-device": Difference("A file as a device", _unhealthy),
    "link-and-node": Difference("A node by two names", _one_pod_at_a_time),
    "mounts": Difference(_ONE_PLACE, _refused_together),
    "one-mount-path-for-many": Difference(_ONE_PLACE, _refused_together),
    "no-own-path": Difference(
        "A group of paths that are all in other groups",
        _serves("lab.example/either-or-both", [node("/dev/hidraw0")], [node("/dev/hidraw1")]),
    ),
    "optional": Difference(
        "`optional`",
        _serves(
            "lab.example/tuner",
            [node("/dev/ttyACM0"), node("/dev/video0")],
            [node("/dev/ttyACM1"), node("/dev/video1")],
            [node("/dev/video2")],
        ),
    ),
    "paths-beside-usb": Difference(
        "Paths beside USB devices", _serves("lab.example/desk", [_FTDI, node("/dev/ttyUSB0")])
    ),
    "usb-alike": Difference(_SEVERAL_USB, _each(_each_apart)),
    "usb-both": Difference(_SEVERAL_USB, _each(_each_apart)),
    "usb-numbers": Difference("USB ids without quotes", _serves("lab.example/ftdi", [_FTDI])),
    "usb-vendor-alone": Difference("A USB vendor without a product", lambda theirs: {}),
}


def names_in_the_page():
    """The first cells of the table in its section."""
    section = PAGE.read_text().partition(SECTION + "\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)[1:])
