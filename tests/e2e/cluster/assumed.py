"""Replays of GPU memory whose card a scheduler's extender writes into the pod: `assume`, in each dialect's words."""

import concurrent.futures
import contextlib
import json
import random
import re
import signal
import time
import urllib.request

import pods
from api import ApiError
from extender import Extender, dialects, filled, orders, words_of
from facts import ENVIRONMENT, GOPHER, NotShown, advertised, advertised_none, expect, gopher_entry, gophers
from fake_cards import FakeCards
from process import until
from webhook import Webhook
from with_api import AGENT, by_relay, configuration, refused

VARIABLES = re.compile(r"^(NVIDIA|DOSLAB_IO|ALIYUN_COM|VOLCANO|CGPU)_")
LATE, GUESS = "late", "guess"
METRICS = "192.0.2.1:19465"
MIB_OF = {"1MiB": 1, "1GiB": 1024}


class Assumed:
    """plughost on a node with cards, and the extender that knows them."""

    def __init__(self, cluster, name, identify, memory=None, kubeconfig="auto", node=None, **entry):
        """node: None: node-a."""
        self.cluster, self.node, self.words = cluster, node or cluster.node_a, words_of(name)
        self._kubeconfig = kubeconfig
        self.memory = memory or self.words["cards"]
        self.resource = self.words["resource"]
        unit = MIB_OF[self.words["memory"]]
        self.cards = [{"uuid": f"GPU-{n}", "index": n, "units": size // unit} for n, size in enumerate(self.memory)]
        self.total = sum(card["units"] for card in self.cards)
        self._cards = FakeCards(self.node.fresh_folder(), self.lines())
        self.extender = Extender(cluster.api, self.node, self.words, self.cards)
        gpu = {"vendor": "nvidia", "unit": {"memory": self.words["memory"]}}
        wanted = {"name": self.resource, "gpu": gpu, "assume": {"dialect": self.words["dialect"], "identify": identify},
                  "nodeResources": self.words["nodeResources"], **entry}
        if identify == LATE:
            wanted["cdi"] = True
        self._gophers = gophers(self.node, "zoe")
        self._entries = f"\n- {json.dumps(wanted)}{gopher_entry(self._gophers)}"

    def lines(self, **lost):
        """The text of the cards; lost: GPU_1=1 has the second one lost."""
        return [f"card GPU-{n} minor={n} memory={size} lost={lost.get(f'GPU_{n}', 0)}"
                for n, size in enumerate(self.memory)]

    def lose(self, card):
        self._cards.show(self.lines(**{f"GPU_{card}": 1}))

    @contextlib.contextmanager
    def running(self):
        """Its devices are advertised, and its cards on the node, when it begins."""
        text = configuration(self.node, self._entries, self._kubeconfig, listen=METRICS)
        with self.node.plughost(text, self._cards.environment) as plughost:
            advertised(self.cluster, self.node, self.resource, self.total)
            for key, value in self.words["node"].items():
                advertised(self.cluster, self.node, key, int(value) * len(self.memory) // 2)
            yield plughost

    def annotations(self, name):
        return self.cluster.api.pod(name)["metadata"].get("annotations", {})

    def marked(self, name):
        """Waits until the pod says that it is served."""
        mark = json.loads(self.words["mark"])
        [(key, value)] = [(key, value) for key, value in mark.items() if value == "true"]
        until(lambda: self.annotations(name).get(key) == value, 30, f"{key} of pod {name} is {value}", every=0.05)

    def marks(self, uid):
        """The bodies of plughost's patches of the pod with that uid, as they were sent."""
        name = next(pod["metadata"]["name"] for pod in self.cluster.api.pods() if pod["metadata"]["uid"] == uid)
        return [one["requestObject"] for one in self.cluster.requests(AGENT)
                if one["verb"] == "patch" and one["objectRef"]["resource"] == "pods" and one["objectRef"]["name"] == name
                and one["responseStatus"]["code"] == 200]


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def both(replay):
    """The replay for each way to find the pod."""
    return "; ".join(f"{identify}: {replay(identify)}" for identify in (LATE, GUESS))


def env_and_patches(cluster):
    """Each dialect: a pod's environment, the mark on it and what the node offers, byte for byte as the original has them"""
    for name in dialects():
        for identify in (LATE, GUESS):
            assumed = Assumed(cluster, name, identify)
            with assumed.running():
                pod = f"replayed-{name}-{identify}"
                uid = assumed.extender.place(pod, 1, units=(assumed.words["asks"],))
                seen = sorted(line for line in assumed.extender.environment(pod) if VARIABLES.match(line))
                wanted = sorted(filled(line, **assumed.cards[1]) for line in assumed.words["env"])
                expect(seen == wanted, f"{name}, {identify}: the container has {seen}, the original gives {wanted}")
                assumed.marked(pod)
                [body] = assumed.marks(uid)
                expect(set(body) == {"metadata"} and set(body["metadata"]) <= {"uid", "annotations"}, f"{name}: it patched {body}")
                expect(body["metadata"].get("uid", uid) == uid, f"{name}: it patched {body}, and the pod is {uid}")
                sent = compact(body["metadata"]["annotations"])
                times = re.findall(r"\d{19}", sent)
                wanted = filled(assumed.words["mark"], time=times[0] if times else "")
                expect(sent == wanted, f"{name}, {identify}: it patched {sent}, the original {wanted}")
                pods.delete(cluster.api, pod)
            for key in assumed.words["node"]:
                advertised(cluster, assumed.node, key, 0)
            advertised_none(cluster, assumed.node, assumed.resource)
    expect(not (words := refused(cluster)), f"refused: {words}")
    return f"{', '.join(dialects())}, by {LATE} and by {GUESS}; nothing was refused to system:node"


def demo(cluster):
    """The first users' pod, in both sets of names: memory, and 15 of a card's 100 cores, which the scheduler alone counts"""
    api = cluster.api
    for name in ("doslab", "doslab-later"):
        assumed = Assumed(cluster, name, LATE)
        with assumed.running():
            pod = f"demo-{name}"
            assumed.extender.place(pod, 1, units=(1024,), beside={"doslab.io/gpu-core": 15})
            assumed.extender.sees(pod, 1)
            assumed.marked(pod)
            offered = {key: value for key, value in api.node(assumed.node.name)["status"]["allocatable"].items() if "doslab" in key}
            expect(offered == {assumed.resource: "8192", **assumed.words["node"]}, f"the node offers {offered}")
            pods.delete(api, pod)
    return ", ".join(f"{key}: {value}" for key, value in sorted(offered.items()))


def equal_pods(cluster, count=10):
    """Two equal pods on two cards, created, assumed and bound in any order: each has its own card"""
    assumed = Assumed(cluster, "gpushare", LATE)
    every = orders("a", "b")
    chosen = [every[n % len(every)] for n in random.Random(16).sample(range(max(count, len(every))), count)]
    batch = assumed.total // 2
    with assumed.running():
        for start in range(0, len(chosen), batch):
            these = list(enumerate(chosen[start:start + batch], start))
            for n, order in these:
                for step, name in order:
                    pod = f"{name}-{n}"
                    if step == "assume":
                        assumed.extender.assume(pod, "ab".index(name))
                    else:
                        getattr(assumed.extender, step)(pod)
            for n, _ in these:
                for card, name in enumerate("ab"):
                    assumed.extender.sees(f"{name}-{n}", card)
            pods.delete(cluster.api, *cluster.api.pod_names())
    return f"{count} orders of {len(orders('a', 'b'))}: {2 * count} of {2 * count} pods have their own card"


def told_by_kubelet(cluster, count=10):
    """From 1.37 on the kubelet tells its pods: with guess, too, equal pods have their own cards, and the API server hears of marks alone"""
    # Before 1.37 it does where the gate is on.
    other = contextlib.nullcontext(cluster.node_a) if cluster.node_a.tells_pods() else cluster.node(gates="PodsAPI=true")
    with other as node:
        return told_by(node, cluster, count)


def told_by(node, cluster, count):
    if not node.tells_pods():
        raise NotShown("this kubelet cannot tell its pods")
    assumed = Assumed(cluster, "doslab", GUESS, node=node)
    # A pod whose card is not written before it is bound is refused.
    bound_last = [order for order in orders("a", "b")
                  if all(order.index(("assume", name)) < order.index(("bind", name)) for name in "ab")]
    chosen = random.Random(37).sample(bound_last, min(count, len(bound_last)))
    before = len(cluster.requests(AGENT))
    with assumed.running():
        for n, order in enumerate(chosen):
            for step, name in order:
                if step == "assume":
                    assumed.extender.assume(f"{name}-{n}", "ab".index(name))
                else:
                    getattr(assumed.extender, step)(f"{name}-{n}")
            for card, name in enumerate("ab"):
                assumed.extender.sees(f"{name}-{n}", card)
                assumed.marked(f"{name}-{n}")
            pods.delete(cluster.api, *cluster.api.pod_names())
        asked = {(one["verb"], one["objectRef"].get("resource")) for one in cluster.requests(AGENT)[before:]}
    expect(("patch", "pods") in asked and not {("list", "pods"), ("watch", "pods"), ("get", "pods")} & asked, f"it asked for {sorted(asked)}")
    return f"{2 * len(chosen)} of {2 * len(chosen)} pods have their own card; of pods the API server was asked for marks alone"


def equal_pods_all(cluster):
    """The same in every order, 200 pods"""
    return equal_pods(cluster, 100)


def several_containers(cluster):
    """Containers of 1, 2 and 2 units and an init container: one card, and each knows how much of it is its own"""

    def replay(identify):
        assumed = Assumed(cluster, "gpushare", identify)
        with assumed.running():
            pod = f"several-{identify}"
            assumed.extender.place(pod, 1, units=(1, 2, 2), first=(1,))
            assumed.extender.sees(pod, 1, "first-0")
            assumed.extender.finish(pod, "first-0")
            for n, units in enumerate((1, 2, 2)):
                assumed.extender.sees(pod, 1, f"main-{n}")
                seen = assumed.extender.environment(pod, f"main-{n}")
                expect(f"ALIYUN_COM_GPU_MEM_CONTAINER={units}" in seen and "ALIYUN_COM_GPU_MEM_POD=5" in seen, f"main-{n} has {seen}")
            assumed.marked(pod)
            pods.delete(cluster.api, pod)
        return "4 containers"

    return both(replay)


def late_annotation(cluster):
    """The card is written when a start has failed for it: late, the container starts then; guess says why it does not"""
    assumed = Assumed(cluster, "gpushare", LATE)
    with assumed.running():
        assumed.extender.create("late-words")
        assumed.extender.bind("late-words")
        until(lambda: any("has no annotation" in one["message"] for one in cluster.api.events("late-words")), 30,
              "an event says that the pod has no card yet", every=0.1)
        expect(cluster.api.pod("late-words")["status"]["phase"] == "Pending", "it runs without a card")
        assumed.extender.assume("late-words", 1)
        assumed.extender.sees("late-words", 1)
        pods.delete(cluster.api, "late-words")
    assumed = Assumed(cluster, "gpushare", GUESS)
    with assumed.running():
        assumed.extender.create("guessed-words")
        assumed.extender.bind("guessed-words")
        words = assumed.extender.refusal("guessed-words")
        expect("ALIYUN_COM_GPU_MEM_ASSUME_TIME" in words or "guessed-words" in words, f"the kubelet's words: {words}")
    return f"guess: “{words}”"


def never_taken(cluster):
    """Pods of the size that are assigned, deleted or Failed are never taken for one that waits"""
    assumed = Assumed(cluster, "gpushare", GUESS)
    api, node = cluster.api, assumed.node
    stuck = [{"name": "never", "configMap": {"name": "there-is-none"}}]
    with assumed.running():
        # They have an older time and another card. The kubelet waits for ever to start two of them; the third one's container is killed.
        assumed.extender.place("assigned", 0, volumes=stuck, units=(2,))
        assumed.extender.place("deleted", 0, volumes=stuck, units=(2,))
        assumed.extender.place("failed", 0, units=(2,), restart="Never")
        assumed.extender.sees("failed", 0)
        for name in ("assigned", "deleted", "failed"):
            assumed.marked(name)
        node.kill_container(pods.container(api, "failed"))
        api.patch("/api/v1/namespaces/default/pods/deleted", {"metadata": {"finalizers": ["plughost.test/stay"]}})
        api.delete("deleted")
        for name in ("deleted", "failed"):
            # One that is not over would be marked again: it has units.
            until(lambda: api.pod(name)["status"]["phase"] == "Failed", 30, f"the kubelet says that pod {name} is Failed", every=0.05)
            api.patch(f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"annotations": {"ALIYUN_COM_GPU_MEM_ASSIGNED": "false"}}})
        assumed.extender.place("waits", 1, units=(2,))
        assumed.extender.sees("waits", 1)
        assumed.marked("waits")
        # What they were is what they are.
        now = {name: api.pod(name) for name in ("assigned", "deleted", "failed")}
        api.patch("/api/v1/namespaces/default/pods/deleted", {"metadata": {"finalizers": None}})
        phases = {name: pod["status"]["phase"] for name, pod in now.items()}
        expect(phases == {"assigned": "Pending", "deleted": "Failed", "failed": "Failed"}, f"they are {phases}")
        expect("deletionTimestamp" in now["deleted"]["metadata"], "pod deleted is not being deleted")
        marks = {name: now[name]["metadata"]["annotations"]["ALIYUN_COM_GPU_MEM_ASSIGNED"] for name in now}
        expect(marks == {"assigned": "true", "deleted": "false", "failed": "false"}, f"their marks are {marks}")
    return "three such pods with an older time and another card"


def assumed_api_away(cluster):
    """plughost cannot reach the API server: late admits, and the start waits; guess refuses within 2 s; other resources are given as ever"""
    figures = []
    api, node = cluster.api, cluster.node_a
    with cluster.relay() as relay:
        kubeconfig = by_relay(node, cluster, relay)
        assumed = Assumed(cluster, "gpushare", LATE, kubeconfig=kubeconfig)
        with assumed.running():
            with relay.cut():
                uid = assumed.extender.place("across", 1)
                until(lambda: node.given(uid), 30, "the kubelet admits pod across", every=0.02)
                started = time.monotonic()
                api.create(pods.pod("beside", {GOPHER: 1}, ENVIRONMENT))
                pods.output(api, "beside")
                figures.append(f"a pod with {GOPHER} ran after {time.monotonic() - started:.1f} s meanwhile")
                if node.tells_pods():
                    assumed.extender.sees("across", 1)
                    figures.append("late: it runs, for the kubelet tells its pods")
                else:
                    [status] = api.pod("across")["status"]["containerStatuses"]
                    expect("waiting" in status["state"], f"pod across is {status['state']}")
            assumed.extender.sees("across", 1)
            assumed.marked("across")
            pods.delete(api, *api.pod_names())
        assumed = Assumed(cluster, "gpushare", GUESS, kubeconfig=kubeconfig)
        with assumed.running(), relay.cut():
            started = time.monotonic()
            uid = assumed.extender.place("unheard", 1)
            if node.tells_pods():
                until(lambda: node.given(uid), 30, "the kubelet admits pod unheard", every=0.02)
                figures.append("guess: admitted, for the kubelet tells its pods")
            else:
                words = assumed.extender.refusal("unheard")
                took = time.monotonic() - started
                expect(took < 4, f"it was refused only after {took:.1f} s: {words}")  # 2 s and the kubelet's
                figures.append(f"guess, after {took:.1f} s: “{words}”")
    return "; ".join(figures)


@contextlib.contextmanager
def marks_refused(cluster, reason):
    """The API server takes no patch of a pod's annotations from the node: it is forbidden, in conflict, or its own check fails."""
    refusals = contextlib.ExitStack()
    if reason == "Forbidden":
        group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
        cluster.api.post(group, json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "no-marks"},
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods/status", "pods"]}]},
                "validations": [{
                    "expression": "!request.userInfo.username.startsWith('system:node:') ||"
                                  " object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({})",
                    "message": "no marks today", "reason": "Forbidden"}],
            },
        }))
        cluster.api.post(bindings, json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "no-marks"}, "spec": {"policyName": "no-marks", "validationActions": ["Deny"]}}))
        paths = [f"{bindings}/no-marks", f"{group}/no-marks"]
    else:
        group = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        asked = refusals.enter_context(Webhook(cluster, 409)).client if reason == "Conflict" else {"url": "https://192.0.2.1:1/nobody"}
        cluster.api.post(group, json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "no-marks"},
            "webhooks": [{
                "name": "no-marks.plughost.test", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
                "admissionReviewVersions": ["v1"], "clientConfig": asked,
                "matchConditions": [{
                    "name": "marks",
                    "expression": "object.metadata.?annotations.orValue({}) != oldObject.metadata.?annotations.orValue({})"
                                  " && request.userInfo.username.startsWith('system:node:')"}],
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                           "resources": ["pods/status", "pods"], "scope": "*"}],
            }],
        }))
        paths = [f"{group}/no-marks"]
    try:
        yield
    finally:
        for path in paths:
            cluster.api.remove(path)
        refusals.close()


def refuses_marks(cluster, code):
    """An API server hears of its rules by watches of its own."""
    try:
        cluster.api_as(cluster.node_a.certificate).patch(
            "/api/v1/namespaces/default/pods/unmarked/status?dryRun=All", {"metadata": {"annotations": {"plughost.test/mark": "made"}}})
    except ApiError as error:
        return error.status == code
    return False


def failed_marks(cluster):
    """The mark is refused (403, 409, 500) for a while: it is tried again, and the pod runs"""
    figures = []
    cluster.api.create(pods.pod("unmarked", {}, "true"))
    pods.output(cluster.api, "unmarked")
    for reason, code in (("Forbidden", 403), ("Conflict", 409), ("Broken", 500)):
        assumed = Assumed(cluster, "gpushare", LATE)
        with assumed.running():
            pod = f"mark-{code}"
            with marks_refused(cluster, reason):
                until(lambda: refuses_marks(cluster, code), 30, f"the node's marks are refused with {code}", every=0.1)

                def codes():
                    return [one["responseStatus"]["code"] for one in cluster.requests(AGENT)
                            if one["verb"] == "patch" and one["objectRef"].get("name") == pod]

                assumed.extender.place(pod, 1)
                until(lambda: code in codes(), 30, f"a mark of {pod} is answered with {code}", every=0.1)
                assumed.extender.sees(pod, 1)
            assumed.marked(pod)
            figures.append(f"{code}, {codes().count(code)} of {len(codes())} tries")
            pods.delete(cluster.api, pod)
    pods.delete(cluster.api, "unmarked")
    return "; ".join(figures)


def assumed_restarts(cluster):
    """Container, plughost and kubelet restart: the same card. plughost is killed between the Allocate and the mark: it is marked"""
    assumed = Assumed(cluster, "gpushare", LATE)
    node, api = assumed.node, cluster.api
    with assumed.running() as plughost:
        assumed.extender.place("steady", 1)
        assumed.extender.sees("steady", 1)

        def started(count):
            [status] = api.pod("steady")["status"]["containerStatuses"]
            return status["restartCount"] == count and "running" in status["state"]

        node.kill_container(pods.container(api, "steady"))
        until(lambda: started(1), 60, "the container is started again", every=0.1)
        assumed.extender.sees("steady", 1)

        plughost.kill()
        plughost.start()
        node.restart_kubelet(signal.SIGTERM)
        advertised(cluster, node, assumed.resource, assumed.total)
        until(lambda: "steady" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
        node.kill_container(pods.container(api, "steady"))
        until(lambda: started(2), 90, "the container is started again", every=0.1)
        assumed.extender.sees("steady", 1)

        # Allocated, and not marked: there is no card in it yet.
        uid = assumed.extender.create("cut")
        assumed.extender.bind("cut")
        until(lambda: node.given(uid), 30, "the kubelet gave pod cut its devices", every=0.02)
        plughost.kill()
        assumed.extender.assume("cut", 0)
        plughost.start()
        assumed.extender.sees("cut", 0)
        assumed.marked("cut")
    return "after each"


def start_again(assumed, plughost):
    """After SIGKILL. The kubelet has its list when this returns."""
    since = time.time()
    plughost.start()
    until(lambda: assumed.node.registered(assumed.resource, assumed.total, since), 30, f"{assumed.resource} is back in the checkpoint")


def guess_killed(cluster):
    """plughost is killed in a guess: between its answer and the mark, then the pod is marked; in the answer, then the pod is refused and nobody's"""
    assumed = Assumed(cluster, "gpushare", GUESS)
    node, api = assumed.node, cluster.api
    api.create(pods.pod("unmarked", {}, "true"))
    pods.output(api, "unmarked")
    with assumed.running() as plughost:
        with marks_refused(cluster, "Forbidden"):
            until(lambda: refuses_marks(cluster, 403), 30, "the node's marks are refused", every=0.1)
            uid = assumed.extender.place("answered", 1)
            until(lambda: node.given(uid), 30, "the kubelet gave pod answered its devices", every=0.02)
            plughost.kill()
        mine = assumed.annotations("answered")["ALIYUN_COM_GPU_MEM_ASSIGNED"]
        expect(mine == "false", f"the pod is marked already: {mine}")
        until(lambda: not refuses_marks(cluster, 403), 30, "the node's marks are taken again", every=0.1)
        start_again(assumed, plughost)
        assumed.marked("answered")
        assumed.extender.sees("answered", 1)

        # Nobody has assumed it: it is waited for, and that is when plughost goes.
        assumed.extender.create("asking")
        assumed.extender.bind("asking")
        until(lambda: "asking" in node.pods(), 30, "the kubelet knows pod asking", every=0.02)
        plughost.kill()
        words = assumed.extender.refusal("asking")
        start_again(assumed, plughost)
        assumed.extender.place("next", 0)
        assumed.extender.sees("next", 0)
        assumed.marked("next")
        pods.delete(api, *api.pod_names())
    return f"marked when it was back; the other: “{words}”"


def without_isolation(cluster):
    """The node's label cgpu.disable.isolation: containers have CGPU_DISABLE, by either way, and without the label they have not"""
    node, api = cluster.node_a, cluster.api

    def label(value):
        api.patch(f"/api/v1/nodes/{node.name}", {"metadata": {"labels": {"cgpu.disable.isolation": value}}})

    def replay(identify):
        assumed = Assumed(cluster, "gpushare", identify)
        seen = {}
        for value in ("true", "false", None):
            label(value)
            with assumed.running():
                pod = f"isolated-{identify}-{value}".lower()
                assumed.extender.place(pod, 1)
                seen[value] = [line for line in assumed.extender.environment(pod) if line.startswith("CGPU_")]
                pods.delete(api, pod)
            advertised_none(cluster, node, assumed.resource)
        expect(seen == {"true": ["CGPU_DISABLE=true"], "false": [], None: []}, f"{identify}: {seen}")
        return seen["true"][0]

    try:
        return both(replay)
    finally:
        label(None)


def unequal_cards(cluster):
    """Cards of 16 and 80 GiB are 96 units; 70 of them are on the second card only"""
    assumed = Assumed(cluster, "gpushare", LATE, memory=[16384, 81920])
    with assumed.running():
        assumed.extender.place("large", 1, units=(70,))
        assumed.extender.sees("large", 1)
        seen = assumed.extender.environment("large")
        expect("ALIYUN_COM_GPU_MEM_DEV=80" in seen, f"it has {seen}")
    return f"{assumed.total} units; a pod with 70 sees the second card"


def sick_card(cluster):
    """A card that is lost, or one that there is not: the pod's events say which, and the node counts the healthy ones"""
    assumed = Assumed(cluster, "gpushare", GUESS)
    api, node = cluster.api, assumed.node
    [key] = assumed.words["node"]
    with assumed.running():
        assumed.cards.append({"uuid": "GPU-7", "index": 7, "units": 16})
        assumed.extender.place("unknown-card", 2)
        unknown = assumed.extender.refusal("unknown-card")
        expect('"7"' in unknown, f"the kubelet's words: {unknown}")
        assumed.lose(1)
        advertised(cluster, node, key, 1)
        assumed.extender.place("sick-card", 1)
        sick = assumed.extender.refusal("sick-card")
        expect('"1"' in sick and "Unhealthy" in sick, f"the kubelet's words: {sick}")
    return f"“{unknown}”; “{sick}”"


def only_card(cluster):
    """One card and no extender: gpushare's plugin gives that card, and marks nothing"""
    assumed = Assumed(cluster, "gpushare", GUESS, memory=[16384], assume={"dialect": "gpushare", "identify": GUESS, "onlyCard": True})
    with assumed.running():
        uid = assumed.extender.create("alone")
        assumed.extender.bind("alone")
        seen = assumed.extender.environment("alone")
        expect("NVIDIA_VISIBLE_DEVICES=GPU-0" in seen, f"it has {seen}")
        expect(assumed.marks(uid) == [], "it was marked")
    return next(line for line in seen if line.startswith("NVIDIA_VISIBLE"))


def crowd(assumed, count=1000, pending=200):
    """So many pods on the node, without their being run: some have ended, the others wait for what never comes."""
    api, node = assumed.cluster.api, assumed.node
    ended = count - pending
    stuck = [{"name": "never", "configMap": {"name": "there-is-none"}}]

    def end(n):
        name = f"ended-{n}"
        assumed.extender.create(name, units=(1,))
        assumed.extender.assume(name, 0)
        api.patch(f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"annotations": {"ALIYUN_COM_GPU_MEM_ASSIGNED": "true"}}})
        api.patch(f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"phase": "Succeeded"}})
        assumed.extender.bind(name)

    def wait(n):
        assumed.extender.place(f"pending-{n}", 0, units=(1,), volumes=stuck)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(end, range(ended)))
        list(threads.map(wait, range(pending)))


def crowded(cluster):
    """1,000 pods on the node, 200 of them Pending: an Allocate that has to find its pod takes no more than 50 ms"""
    assumed = Assumed(cluster, "gpushare", GUESS, memory=[262144, 262144])
    with assumed.running():
        crowd(assumed)
        until(lambda: len(assumed.node.checkpoint()[0].get("PodDeviceEntries") or []) >= 200, 60, "200 pods that wait were admitted")
        pending = sum(pod["status"]["phase"] == "Pending" for pod in cluster.api.pods())
        expect(pending >= 200, f"{pending} pods wait")

        def buckets():
            with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=10) as answer:
                text = answer.read().decode()
            return {name: float(value) for name, value in re.findall(r"^(plughost_allocation_duration_seconds\S*) (\S+)$", text, re.MULTILINE)}

        before = buckets()
        for n in range(10):
            assumed.extender.place(f"new-{n}", 1)
            assumed.extender.sees(f"new-{n}", 1)
        after = buckets()
        gained = {name: after[name] - before.get(name, 0) for name in after}
        total = gained["plughost_allocation_duration_seconds_count"]
        quick = gained['plughost_allocation_duration_seconds_bucket{le="0.05"}']
        mean = gained["plughost_allocation_duration_seconds_sum"] / total
        # A kubelet that tells its pods tells all of them each time, beside its own work for those that wait.
        within = mean < 0.05 if assumed.node.tells_pods() else quick == total
        expect(total >= 10 and within, f"{quick:.0f} of {total:.0f} answers within 50 ms, {mean * 1000:.1f} ms on average")
        pods.delete(cluster.api, *cluster.api.pod_names())
    return f"{quick:.0f} of {total:.0f} answers within 50 ms, {mean * 1000:.1f} ms on average"
