"""What a container gets: lines 35 to 41."""

import json
import time

from hung_files import HungFiles, own_mounts
from .kubelet import PATIENCE, Refused
from .lines import NotShown, expect, line
from .node import counted, listed, matched

A, B = "example.com/a", "example.com/b"
PORT = "example.com/port"


def _containers(response):
    return response.get("container_responses", [])


def _refusal(kubelet, command):
    """The error that a command must give."""
    try:
        result = kubelet.ask(command)
    except Refused as refused:
        return str(refused)
    expect(False, f"{command}: no error, but {result}")


@line(35, "One response per request, within 2 s.", "the kubelet, for pods and alone")
def one_response(node):
    node.run(counted(A, 20, 'env: {IDS: "{id}"}'), counted(B, 5000, 'env: {B: "{count}"}'))
    for number in range(20):
        start = time.monotonic()
        response = node.kubelet.ask(f"call {A} allocate {A}-{number}")
        node.measure("Allocate, as the test sees it", time.monotonic() - start, limit=2)
        expect(len(_containers(response)) == 1, f"{response}")
        expect(_containers(response)[0]["envs"] == {"IDS": f"{A}-{number}"}, f"{response}")
        start = time.monotonic()
        pod = node.kubelet.ask(f"allocate {A} 1 {B} 100 pod-{number}")
        node.measure("a pod with 101 devices is admitted", time.monotonic() - start, limit=2)
        given = pod["allocations"]
        expect(given[A]["response"]["envs"] == {"IDS": given[A]["ids"][0]}, f"{given[A]}")
        expect(given[B]["response"]["envs"] == {"B": "100"} and len(given[B]["ids"]) == 100, f"{given[B]}")


@line(36, "Unknown id: a clear error, never zero responses.", "the kubelet, with ids of the test's choice")
def unknown_id(node):
    gophers = node.root / "gophers"
    gophers.mkdir()
    (gophers / "one").touch()
    node.run(counted(A, 2), listed(B, gophers, "forgetAfter: 1s"))
    for ids in ("ghost", f"{A}-0 ghost", f"ghost {A}-0"):
        error = _refusal(node.kubelet, f"call {A} allocate {ids}")
        expect("ghost" in error and A in error, f"unclear: {error}")
    (gophers / "one").unlink()
    node.lists(B, {"one": "Unhealthy"})
    expect("one" in _refusal(node.kubelet, f"call {B} allocate one"), "an unhealthy device is not named")
    node.kubelet.until(lambda: not node.of(B).devices, PATIENCE, "the device is forgotten")
    expect("one" in _refusal(node.kubelet, f"call {B} allocate one"), "a forgotten device is not named")
    node.kubelet.ask(f"allocate {A} 2 pod")


@line(
    37,
    "Two resources in one container share no env, mount or annotation key with different values.",
    "`check` and the log; a pod of both",
)
def no_conflicts(node):
    shared = (
        'env: {SHARED: "{id}"}, annotations: {example.com/shared: "{id}"}, '
        "mounts: [{hostPath: /tmp/%s, containerPath: /shared}]"
    )
    node.configure(counted(A, 3, shared % "a"), counted(B, 3, shared % "b"))
    finished = node.plughost("check", node.configuration)
    strict = node.plughost("check", "--strict", node.configuration)
    for word in ("SHARED", "example.com/shared", "/shared"):
        expect(word in finished.stdout, f"no warning of {word}: {finished.stdout}")
    expect((finished.returncode, strict.returncode) == (0, 1), f"{finished.returncode}, {strict.returncode}")
    node.start_daemon()
    node.daemon.wait_for_line(lambda text: "warn" in text and "SHARED" in text, PATIENCE)
    node.end_daemon()

    apart = 'env: {"IDS/{resource}": "{id}", SAME: "1"}'
    node.configure(counted(A, 3, apart), counted(B, 3, apart))
    expect(
        node.plughost("check", "--strict", node.configuration).returncode == 0, "same values are no conflict"
    )
    node.start_kubelet()
    node.start_daemon()
    node.attached()
    for number in range(3):
        pod = node.kubelet.ask(f"allocate {A} 1 {B} 1 pod-{number}")
        variables = {each.get("name", each.get("Name")): each for each in _lower(pod["options"])["envs"]}
        expect({f"IDS/{A}", f"IDS/{B}", "SAME"} == variables.keys(), f"{pod['options']}")


def _lower(options):
    return {key.lower(): value for key, value in options.items()}


@line(38, "The same request gets the same response.", "the kubelet, before and after new starts")
def same_response(node):
    gifts = (
        'env: {IDS: "{id}", "ONE_{n}": "{id}"}, annotations: {example.com/ids: "{id}"}, '
        'mounts: [{hostPath: /etc, containerPath: "/e"}]'
    )
    links = node.root / "dev"
    links.mkdir()
    for number, target in enumerate(("null", "zero", "full")):
        (links / f"tty{number}").symlink_to(f"/dev/{target}")
    node.run(counted(A, 8, gifts), matched(PORT, f"{links}/tty*"))
    requests = [f"call {A} allocate {A}-3 {A}-1 {A}-2"]
    requests += [f"call {PORT} allocate {' '.join(reversed(node.of(PORT).devices))}"]
    before = [json.dumps(node.kubelet.ask(each)) for each in requests]
    expect(all('"host' in each or '"envs' in each for each in before), f"{before}")
    for again in (lambda: None, node.start_daemon, node.replace_kubelet, node.reload):
        again()
        node.attached()
        after = [json.dumps(node.kubelet.ask(each)) for each in requests]
        expect(after == before, f"{before} became {after}")


@line(39, "PreStart within 30 s, idempotent.", "the kubelet's call; plughost says that it needs none")
def pre_start(node):
    node.run(counted(A, 2))
    for _ in range(3):
        start = time.monotonic()
        node.kubelet.ask(f"call {A} prestart {A}-0 {A}-1")
        node.measure("PreStartContainer", time.monotonic() - start, limit=30)
    started = node.kubelet.ask(f"allocate {A} 1 pod")
    for _ in range(3):  # the container starts again
        again = node.kubelet.ask("options pod")
        expect(again == started, f"{started} became {again}")


@line(
    40,
    "Preferred: subset of available, all of must_include, exact size; never an error.",
    "the kubelet, for pods and with ids of the test's choice",
)
def preferred(node):
    policies = {f"example.com/{policy}": policy for policy in ("packed", "distributed", "none")}
    node.run(*(counted(name, 8, f"replicas: 2, allocationPolicy: {policies[name]}") for name in policies))
    for name in policies:
        available = list(node.of(name).devices)
        must = [available[5], available[2]]
        for size in (2, 3, 7, 16):
            ask = f"call {name} prefer {size} {','.join(available)} {','.join(must)}"
            (container,) = _containers(node.kubelet.ask(ask))
            chosen = container["deviceIDs"]
            expect(len(chosen) == len(set(chosen)) == size, f"{ask}: {chosen}")
            expect(set(must) <= set(chosen) <= set(available), f"{ask}: {chosen}")
        for odd in (
            f"1 ghost,{available[0]} ghost",
            "3 - -",
            f"-1 {','.join(available)} -",
            f"99 {available[0]} -",
        ):
            node.kubelet.ask(f"call {name} prefer {odd}")
        pod = node.kubelet.ask(f"allocate {name} 4 pod-{policies[name]}")
        cores = {each.partition("::")[0] for each in pod["allocations"][name]["ids"]}
        if policies[name] != "none":
            wanted = {"packed": 2, "distributed": 4}[policies[name]]
            expect(len(cores) == wanted, f"{policies[name]}: 4 replicas of {len(cores)} devices")


@line(
    41,
    "A wedged device: Allocate answers with an error within 2 s; other resources unaffected.",
    "the kubelet, while every look at the device's file system hangs",
)
def wedged(node):
    if reason := own_mounts():
        raise NotShown(reason)
    devices = node.root / "wedged"
    devices.mkdir()
    files = HungFiles(devices, ["one", "two"])
    node.at_close(files.close)
    node.run(listed(A, devices), counted(B, 2))
    node.kubelet.ask(f"call {A} allocate one")
    files.hang()
    node.reload(listed(A, devices, 'env: {IDS: "{id}"}'), counted(B, 3))  # makes it look
    node.daemon.wait_for_line(lambda text: "takes too long" in text and A in text, PATIENCE)
    start = time.monotonic()
    node.kubelet.ask(f"allocate {B} 1 other")
    node.lists(B, 3)
    node.measure("beside a wedged device: another resource's pod", time.monotonic() - start, limit=2)
    start = time.monotonic()
    error = _refusal(node.kubelet, f"call {A} allocate one")
    node.measure("Allocate of a wedged device", time.monotonic() - start, limit=2)
    expect(A in error, f"unclear: {error}")
