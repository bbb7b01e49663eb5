"""How plughost registers: lines 1 to 7 and 28."""

import errno
import os
import socket

from .kubelet import PATIENCE, Refused
from .lines import expect, line
from .node import counted

A, B = "example.com/a", "example.com/b"
PACKED = counted("example.com/packed", 4, "replicas: 2, allocationPolicy: packed")


def _register_calls(node, count):
    """Completed calls of Register, as steps."""
    kubelet = node.kubelet
    return kubelet.until(
        lambda: len(calls := [c for c in kubelet.wire("Register") if "SERVER_TRAILER" in c]) >= count
        and calls,
        PATIENCE,
        f"{count} answered calls of Register",
    )


@line(1, "Every socket accepts before its Register is sent.", "the kubelet connects when Register arrives")
def sockets_accept_first(node):
    node.run(*(counted(f"example.com/r{i}", 2) for i in range(8)))
    for _ in range(3):
        for call in _register_calls(node, 8):
            request = call["CLIENT_MESSAGE"]["request"]
            expect(request["accepts"], f"{request['endpoint']} did not accept when its Register arrived")
        node.replace_kubelet()
        node.attached()


@line(2, "Options are answered while Register is pending.", "the kubelet's calls")
def options_while_pending(node):
    node.run(counted(A, 2))
    (register,) = _register_calls(node, 1)
    (options,) = node.kubelet.wire("GetDevicePluginOptions")
    asked, answered = options["CLIENT_HEADER"]["at"], options["SERVER_MESSAGE"]["at"]
    expect(
        register["CLIENT_MESSAGE"]["at"] <= asked <= answered <= register["SERVER_TRAILER"]["at"],
        "the options were not answered within Register",
    )


@line(3, "Register's deadline is above 10 s.", "the call's deadline")
def deadline(node):
    node.run(counted(A, 2), counted(B, 2))
    for call in _register_calls(node, 2):
        seconds = call["CLIENT_HEADER"].get("deadline", 0)
        expect(10 < seconds < 60, f"the deadline was {seconds} s")


@line(4, "version is `v1beta1`; the endpoint is relative.", "the request")
def version_and_endpoint(node):
    node.run(counted(A, 2))
    (call,) = _register_calls(node, 1)
    request = call["CLIENT_MESSAGE"]["request"]
    expect(request["version"] == "v1beta1", f"version {request['version']}")
    expect("/" not in request["endpoint"], f"endpoint {request['endpoint']}")
    expect(
        node.sockets() == [request["endpoint"]], f"{request['endpoint']} is not in the kubelet's directory"
    )


@line(5, "Options in Register equal GetDevicePluginOptions.", "the request, and what the kubelet kept")
def same_options(node):
    node.run(counted(A, 2), PACKED)
    for call in _register_calls(node, 2):
        request = call["CLIENT_MESSAGE"]["request"]
        registered = request["preStart"], request["getPreferredAllocation"]
        asked = node.of(request["resource"]).options
        expect(registered == asked, f"{request['resource']}: {registered} registered, {asked} when asked")
    expect(node.of(PACKED.name).options == (False, True), "a policy needs GetPreferredAllocation")


FORBIDDEN = (
    "gpu",
    "kubernetes.io/gpu",
    "x.kubernetes.io/gpu",
    "requests.example.com/gpu",
    "example.com/a/b",
    "Example.com/gpu",
    "example_.com/gpu",
    "-example.com/gpu",
    "example.com/-gpu",
    "example.com/gpu.",
    "example.com/grüß",
    "example.com/" + "x" * 64,
    "/gpu",
    "example.com/",
    "a" * 245 + "/x",
)
ALLOWED = (
    "a/b",
    "1.example/9_x.Y-z",
    "a" * 63 + "." + "b" * 63 + "/" + "X" * 63,
    "Xkubernetes.io.example/a".lower(),
)


@line(
    6,
    "Names that §2 forbids are refused when the config is loaded, before any RPC.",
    "exit codes; the kubelet is asked for its verdict on the same names",
)
def forbidden_names(node):
    kubelet = node.start_kubelet()
    node.write_configuration("".join(f'- {{name: "{name}", count: 1}}\n' for name in FORBIDDEN))
    for command in (["check", node.configuration], ["run", "--config", node.configuration]):
        finished = node.plughost(*command)
        expect(finished.returncode == 1, f"{command[0]}: exit code {finished.returncode}")
        for number, name in enumerate(FORBIDDEN, start=4):
            expect(
                f"{node.configuration}:{number}:" in finished.stdout, f"{command[0]} does not refuse {name}"
            )
    expect(not kubelet.wire("Register"), "something was registered")
    for name in FORBIDDEN:
        try:
            kubelet.ask(f"validate {name}")
        except Refused:
            continue
        expect(False, f"the kubelet takes {name}")
    node.configure(*(counted(name, 1, 'id: "{resource}"') for name in ALLOWED))
    node.start_daemon()
    node.attached()


@line(7, "A path over 107 bytes is never attempted.", "exit codes, and the sockets that the kubelet dials")
def long_paths(node):
    node.configure(counted(A, 1))
    longest = 46  # of a directory, so that every socket's name fits behind it
    base = f"{node.root}/"
    expect(len(base) < longest, f"the temporary directory's name is too long: {base}")
    too_long = base + "d" * (longest + 1 - len(base))
    os.mkdir(too_long)
    finished = node.plughost("run", "--config", node.configuration, "--plugin-directory", too_long)
    expect(finished.returncode == 1 and "107" in finished.stdout, f"not refused: {finished.stdout}")
    expect(not os.listdir(too_long), f"something was made in {too_long}")

    node.plugins = node.root / too_long[len(base) : -1]
    names = [ALLOWED[2], "example.com/" + "y" * 63, A]
    node.run(*(counted(name, 1, 'id: "{n}-{resource}"') for name in names))
    for name in names:
        path = node.of(name).socket
        expect(len(os.fsencode(path)) <= 107, f"{path} has {len(path)} bytes")
    with socket.socket(socket.AF_UNIX) as probe:  # the limit is the kernel's
        try:
            probe.bind(base + "x" * (108 - len(base)))
            expect(False, "this kernel takes 108 bytes")
        except OSError as error:
            expect("too long" in str(error) or error.errno == errno.EINVAL, str(error))


@line(
    28,
    "Register refused: back-off from 0.1 to 10 s; other resources unaffected.",
    "the kubelet refuses one resource, as one whose options it cannot get",
)
def refused(node):
    kubelet = node.start_kubelet()
    kubelet.ask(f"refuse {A}")
    node.configure(counted(A, 2), counted(B, 2))
    node.start_daemon()
    node.attached([B])
    attempts = node.of(A).registrations
    kubelet.until(lambda: len(attempts) >= 9, 40, "nine attempts")
    gaps = [after - before for before, after in zip(attempts, attempts[1:])]
    for number, gap in enumerate(gaps):
        least = min(0.1 * 2**number, 10)
        expect(
            least - 0.01 <= gap <= least + 1, f"{gap:.3f} s between attempts {number + 1} and {number + 2}"
        )
    expect(max(gaps) > 9, f"the longest gap is {max(gaps):.3f} s")
    expect(len(node.of(B).registrations) == 1, f"{B} was registered again")
    kubelet.ask(f"allocate {B} 1 pod")
    kubelet.ask(f"accept {A}")
    node.attached([A], seconds=11)
