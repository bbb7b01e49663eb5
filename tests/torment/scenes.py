"""The list of scenes: each is a function that takes a fresh Trial, and raises when something did not go on."""

import dataclasses
from typing import Callable

SCENES = {}


@dataclasses.dataclass(frozen=True)
class Scene:
    name: str
    words: str  # what is done to the daemon
    share: int  # of the time; most have 1
    show: Callable


def scene(words, share=1):
    """Registers a function of a Trial; its name, with dashes, is the scene's."""

    def register(show):
        name = show.__name__.replace("_", "-")
        SCENES[name] = Scene(name, words, share, show)
        return show

    return register
