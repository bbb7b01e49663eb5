"""What kubelets do wrong, and plughost must live with: lines 47 to 49 and 51. docs/kubelet-faults.md has them all."""

import json
import os
import signal

from process import Process

from .kubelet import PATIENCE, Refused
from .lines import NotShown, expect, line
from .node import counted

A, B = "example.com/a", "example.com/b"
THEIRS = "example.com/theirs"


@line(47, "A socket's name that was told is never told again.", "the requests, here and in every other scenario")
def names_told_once(node):
    node.run(counted(A, 2), counted(B, 2))

    def refused():
        before = node.registrations(A)
        node.kubelet.ask(f"refuse {A}")
        node.kubelet.ask(f"cancel {A}")
        node.until(lambda: node.registrations(A) > before + 2, PATIENCE, "refused")
        node.kubelet.ask(f"accept {A}")

    def started_again(number):
        node.end_daemon(number)
        node.detached()
        node.start_daemon()

    provocations = [
        refused,
        lambda: node.kubelet.ask(f"cancel {A}"),
        lambda: [os.unlink(node.plugins / each) for each in node.sockets()],
        lambda: node.reload(counted(A, 3), counted(B, 2, "replicas: 2, allocationPolicy: packed")),
        node.kubelet.restart,
        node.replace_kubelet,
        lambda: started_again(signal.SIGKILL),
        lambda: started_again(signal.SIGTERM),
    ]
    for provoke in provocations:
        provoke()
        node.attached()
    told = [call["CLIENT_MESSAGE"]["request"]["endpoint"] for kubelet in node.kubelets() for call in kubelet.wire("Register")]
    expect(len(told) >= 2 + 3 + 4 * 2, f"only {len(told)} requests")
    expect(len(set(told)) == len(told), f"told twice: {[each for each in told if told.count(each) > 1]}")


@line(48, "An id whose Allocate has no answer yet is refused to another pod.", "the kubelet, which asks for it twice")
def asked_twice(node):
    asked, go_on = node.root / "asked", node.root / "go-on"
    os.mkfifo(go_on)
    program = node.root / "allocate"
    program.write_text(f"#!/bin/sh\necho asked >>{asked}\nread -r line <{go_on}\necho '{{}}'\n")
    program.chmod(0o755)
    node.run(counted(A, 2, f"allocate: {{exec: [{program}], timeout: 2s}}"), counted(B, 1))

    first = node.kubelet.tell(f"call {A} allocate {A}-0")
    node.until(asked.exists, PATIENCE, "the program is asked")
    try:
        answer = node.kubelet.ask(f"call {A} allocate {A}-0")
        expect(False, f"the id was given twice: {answer}")
    except Refused as refused:
        expect("no answer yet" in str(refused) and f"{A}-0" in str(refused), f"unclear: {refused}")
    node.kubelet.ask(f"call {B} allocate {B}-0")
    with open(go_on, "w") as pipe:
        pipe.write("go on\n")
    node.kubelet.answer(first)
    expect(asked.read_text() == "asked\n", "the program was asked for the refused call, too")
    again = node.kubelet.tell(f"call {A} allocate {A}-0")  # as after its pod has gone
    with open(go_on, "w") as pipe:
        pipe.write("go on\n")
    node.kubelet.answer(again)


@line(
    49,
    "Devices of another plugin that the kubelet counts and nobody serves are named by `doctor`.",
    "`doctor`, beside a plugin that tells its socket's name twice",
)
def orphaned(node):
    if node.version < (1, 37):
        raise NotShown("To 1.36 the kubelet takes the second registration, and its devices go with the stream.")
    node.configure(counted(THEIRS, 2))
    node.start_kubelet()
    theirs = Process([node.programs.plughost, "run", "--config", node.configuration, "--control", node.root / "theirs.sock"])
    node.at_close(theirs.close)
    node.kubelet.until(lambda: node.of(THEIRS).fed, PATIENCE, "the other plugin's list")
    try:
        node.kubelet.ask(f"again {THEIRS}")
        expect(False, "the kubelet takes a name twice")
    except Refused as refused:
        expect("already connected" in str(refused), f"another refusal: {refused}")
    theirs.close()
    node.configure(counted(A, 2))
    node.start_daemon()
    node.attached()
    expect(node.kubelet.allocatable()[THEIRS] == 2, f"{node.kubelet.allocatable()}")

    def found():
        examined = node.plughost("doctor", "--config", node.configuration, "-o", "json").stdout
        return [each for each in json.loads(examined) if each["check"] == "served"]

    def named():
        return [each for each in found() if each["where"] == THEIRS and "no plugin serves them" in each["what"]]

    node.until(named, PATIENCE, f"doctor names {THEIRS}: {found()}", every=0.5)
    node.replace_kubelet()
    node.attached()
    expect(node.kubelet.allocatable().get(THEIRS, 0) == 0, "after the advised restart it is counted still")
    expect([each["level"] for each in found()] == ["ok"], f"{found()}")


@line(
    51,
    "A resource that is left to DRA under its name: containers start, to 1.37 with `preStart` only once the kubelet has forgotten it.",
    "the kubelet, which admits pods to which DRA gives it",
)
def left_to_dra(node):
    if node.version < (1, 36):
        raise NotShown("To 1.35 DRA serves no extended resource, unless a gate is opened.")
    prepared = counted(B, 2, "preStart: {exec: [/bin/true]}")
    node.run(counted(A, 2), prepared, counted(THEIRS, 1))
    for resource in (A, B):
        node.kubelet.ask(f"allocate {resource} 2 {resource[-1]}")
        node.kubelet.ask(f"free {resource[-1]}")
    node.reload(counted(THEIRS, 1))
    node.detached([A, B])
    node.kubelet.ask(f"dra {A} 1 without-pre-start")
    try:
        node.kubelet.ask(f"dra {B} 1 with-pre-start")
        expect(node.version >= (1, 38), f"{node.version} starts it")
    except Refused as refused:
        expect(node.version < (1, 38) and "no devices found allocated in local cache" in str(refused), str(refused))
        node.kubelet.ask(f"forget {B}")
        node.kubelet.ask("options with-pre-start")
