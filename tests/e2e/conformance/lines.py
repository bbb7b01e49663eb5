"""The list of lines: each is a function that takes a fresh node, and raises when the line does not hold."""

import dataclasses
from typing import Callable

LINES = {}


class Failed(Exception):
    """The line does not hold; the text says what was seen."""


class NotShown(Exception):
    """The line cannot be shown here; the text says why."""


def expect(truth, text):
    if not truth:
        raise Failed(text)


@dataclasses.dataclass(frozen=True)
class Line:
    number: int
    words: str
    shown_by: str  # what the verdict rests on
    show: Callable


def line(number, words, shown_by):
    """Registers a function of a Node as the line of that number in the kubelet contract's list."""

    def register(show):
        if number in LINES:
            raise ValueError(f"two functions show line {number}")
        LINES[number] = Line(number, words, shown_by, show)
        return show

    return register
