"""All at once, in an order that chance gives."""

import random

from conformance.node import Entry

from .files import churn
from .scenes import scene
from .trial import WELL

GARBAGE = (
    "resources: [",
    "resources:\n- {name: 7, count: x}\n",
    "\0",
    "domain: {}\n",
    "resources: [{name: example.com/a}]\n",
)


@scene("All together: kubelets are killed, SIGHUPs with a tenth of garbage, pods, 500 file events a second", share=12)
def everything(trial):
    node = trial.node
    directory = node.root / "churn"
    directory.mkdir()
    (directory / "stays").touch()
    extra = {f"example.com/extra-{number}": 2 + number for number in range(8)}
    version = dict.fromkeys(extra, 0)  # in the ids: one that comes and goes too often would be held Unhealthy

    def entries():
        counted = [
            Entry(
                name,
                f'- {{name: "{name}", count: {count}, id: "{name[12:]}-{version[name]}-{{n}}", forgetAfter: 1s}}',
            )
            for name, count in extra.items()
        ]
        churned = Entry(
            "example.com/churn", f'- {{name: "example.com/churn", directory: {{path: {directory}}}, forgetAfter: 1s}}'
        )
        return [churned, *counted], {"example.com/churn": 1, **extra}

    def changed():
        name = random.choice(list(extra))
        extra[name] = random.randint(1, 20)
        version[name] += 1
        made, expected = entries()
        trial.configure(*made, expected=expected)
        trial.hang_up()

    def garbage():
        kept = node.configuration.read_text()
        node.configuration.write_text(random.choice(GARBAGE))
        trial.hang_up()
        trial.did("of them garbage")
        trial.status()
        node.configuration.write_text(kept)
        trial.hang_up()

    def pods():
        for _ in range(20):
            trial.ask(random.choice([WELL, *trial.expected]))

    def kubelets():
        """The next one comes before the resources have found the former."""
        for _ in range(random.randint(0, 3)):
            node.replace_kubelet()
            trial.did("kubelets killed")
        trial.new_kubelet()

    made, expected = entries()
    trial.start(*made, expected=expected)
    acts = [changed] * 9 + [garbage] + [pods] * 6 + [kubelets] * 4 + [trial.go_on] * 4
    with churn(trial, directory, 500):
        for _ in trial.rounds(warm_share=0.25):
            for _ in range(30):
                random.choice(acts)()
            trial.settle()
