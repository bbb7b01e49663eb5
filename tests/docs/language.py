#!/usr/bin/env python3
"""Checks the language of C++ comments and of commit messages; `./dev lint` runs it.

CONTRIBUTING.md has the rules. This script finds only what a pattern can find.
"""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Words that leave open what is meant, and what to write instead.
WORDS = {
    "whoever": "which program or user it is",
    "somebody": "which program or user it is",
    "anybody": "which program or user it is",
    "everybody": "all users, all pods",
    "nobody": "what does not happen, in the passive",
    "anew": "again",
    "of ours": "our, or plughost's",
    "of theirs": "the other plugin's",
    "is another": "has changed, or differs",
    "by and by": "later",
}
OPENINGS = "Of|Whose|Those|Who|What|Which|Is|Are"
TOKEN = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)'|//([^\n]*)""", re.S)
SINCE = 1_795_989_600  # 2026-11-29T22:00:00Z, in seconds: commits before the rule are as they are
SUBJECT = re.compile(r"[a-z0-9][\w./-]*(, [\w./-]+)*: [a-z].*[^.]")


def comments(text):
    """The text and line of each run of comment lines."""
    last, run = None, []
    for match in TOKEN.finditer(text):
        if match.group(2) is None:
            continue
        line = text.count("\n", 0, match.start()) + 1
        alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if run and alone and last == line - 1:
            run[1] += " " + match.group(2).strip()
        else:
            if run:
                yield tuple(run)
            run = [line, match.group(2).strip()]
        last = line if alone else None
    if run:
        yield tuple(run)


def comment_problems(text):
    """What is wrong with the comments of a C++ source: line and sentence."""
    for line, comment in comments(text):
        if comment.startswith("NOLINT"):
            continue
        plain = re.sub(r"`[^`]*`|\"[^\"]*\"", "x", comment)
        for word, better in WORDS.items():
            if re.search(rf"\b{word}\b", plain, re.I):
                yield line, f"'{word}' hides what is meant: write {better}"
        if re.match(rf"({OPENINGS})\b", plain):
            yield line, f"a comment begins with a subject or with 'Returns', 'Starts' …, not with '{plain.split()[0]}'"
        if plain.endswith("?"):
            yield line, "a comment states what is so, and asks nothing"


def message_problems(message):
    """What is wrong with a commit message."""
    subject, _, body = message.partition("\n")
    if len(subject) > 72:
        yield f"the subject has {len(subject)} characters; 72 fit"
    if not SUBJECT.fullmatch(subject):
        yield "the subject is 'area: imperative …', without a full stop"
    if not body.strip():
        yield "a body says why"


def main():
    problems = []
    sources = [path for top in ("src", "tests") for end in ("cpp", "hpp") for path in (REPOSITORY / top).rglob(f"*.{end}")]
    for path in sorted(sources):
        for line, problem in comment_problems(path.read_text()):
            problems.append(f"{path.relative_to(REPOSITORY)}:{line}: {problem}")
    # The author's date: a rebase of older commits does not make them new.
    log = ["git", "-C", str(REPOSITORY), "log", "--no-merges", "--format=%h %at%n%B%x00"]
    for entry in subprocess.run(log, check=True, capture_output=True, text=True).stdout.split("\0"):
        head, _, message = entry.strip().partition("\n")
        commit, _, written = head.partition(" ")
        if commit and int(written) >= SINCE:
            problems += [f"commit {commit}: {problem}: {message.splitlines()[0]}" for problem in message_problems(message)]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
