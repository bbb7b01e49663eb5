"""A tenant of a shared node, who may write into his own pods whatever an API server takes."""

import json
import time

from conformance.lines import NotShown, expect
from conformance.node import Entry

from .api_server import NODE, ApiServer
from .clients import PEAK
from .scenes import scene
from .trial import PATIENCE

MEMORY = "aliyun.com/gpu-mem"
UNITS = 48_000  # of 1 MiB, of one pod
CARDS = f"card GPU-a minor=0 memory={UNITS}\ncard GPU-b minor=1 memory=1024\n"
MOST = 128 * 1024  # kB: the chart's limit
MIB = 1 << 20


def _pod(name, phase, units=0, card="1", text=""):
    """The object's text. The tenant's own text stands in it as kubectl's encoder writes it."""
    container = {"name": "main", "resources": {"limits": {MEMORY: str(units)} if units else {}}, "args": ["%"]}
    annotations = {"ALIYUN_COM_GPU_MEM_ASSUME_TIME": "100", "ALIYUN_COM_GPU_MEM_ASSIGNED": "false",
                   "ALIYUN_COM_GPU_MEM_IDX": card} if units else {}
    made = {"metadata": {"namespace": "default", "name": name, "uid": name, "annotations": annotations,
                         "creationTimestamp": "2026-11-23T12:00:00Z", "resourceVersion": "1"},
            "spec": {"nodeName": NODE, "containers": [container]}, "status": {"phase": phase}}
    return json.dumps(made).replace("%", text)


def _large_node(server):
    """10,000 pods, of which 9,000 have ended, one of 4 MiB and one of 64 MiB."""
    for number in range(10_000):
        size = {100: 4 * MIB, 200: 64 * MIB}.get(number, 2048)
        server.put(f"p{number}", phase := "Running" if number < 1000 else "Succeeded", _pod(f"p{number}", phase, text="x" * size))


def _hostile(server, number):
    """Events of 6 MiB (1 MiB of '<'), cards that do not exist, and 40 pods that fail."""
    for pod in range(3):
        server.put(f"huge-{pod}", "Pending", _pod(f"huge-{pod}", "Pending", 3, f"{number}\\u001b[2J", "\\u003c" * MIB))
    for pod in range(40):
        name = f"failing-{number}-{pod}"
        server.put(name, "Pending", _pod(name, "Pending", 2, f"none-{pod}"))
        server.put(name, "Pending", _pod(name, "Pending", 2, "../0" * 100))
        server.put(name, "Failed", _pod(name, "Failed", 2, "0"))


def _allocate(trial, server, name, units, card):
    """A pod whose card the scheduler has chosen gets it, and its mark."""
    server.put(name, "Pending", _pod(name, "Pending", units, card))
    begun = time.monotonic()
    trial.node.kubelet.ask(f"allocate {MEMORY} {units} {name}", PATIENCE)
    trial.took("a pod of another tenant", begun)
    trial.node.until(lambda: name in server.patched, PATIENCE, f"the mark of {name}")
    server.put(name, "Running", _pod(name, "Running", units, card))


@scene("A hostile tenant: events of 6 MiB, edited annotations, a thousand failed pods a minute, on a node of 10,000 pods")
def hostile_tenant(trial):
    node = trial.node
    library = node.programs.plughost.parent / "nvml"
    if not library.is_dir():
        raise NotShown("there is no pretended NVML library beside the program's build: build its tests, too")
    server = ApiServer()
    node.at_close(server.close)
    _large_node(server)
    cards = node.root / "cards"
    cards.write_text(CARDS)
    node.top += f"apiServer: {{kubeconfig: {server.kubeconfig(node.root / 'kubeconfig')}, node: {NODE}}}\n"
    trial.most_kilobytes = PEAK
    trial.refused.add(MEMORY)  # of which a pod gets a unit only if the API server has the pod
    entry = f'- {{name: {MEMORY}, gpu: {{vendor: nvidia, unit: {{memory: 1MiB}}}}, id: "{{index}}", assume: {{dialect: gpushare}}}}'
    trial.start(Entry(MEMORY, entry), expected={MEMORY: UNITS + 1024},
                environment={"LD_LIBRARY_PATH": str(library), "PLUGHOST_FAKE_NVML": str(cards)})
    _allocate(trial, server, "giant", UNITS, "0")
    for number in trial.rounds():
        _hostile(server, number)
        trial.did("failed pods", 40)
        trial.did("MiB of events", 18)
        _allocate(trial, server, f"other-{number}", 2, "1")
        trial.go_on()
        node.kubelet.ask(f"free other-{number}")
        server.remove(f"other-{number}")
    with open(f"/proc/{trial.pid}/status") as file:
        peak = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
    trial.notes.append(f"at most {peak} kB resident, of {MOST}")
    expect(peak <= MOST, f"{peak} kB resident, and the chart's limit is {MOST}")
