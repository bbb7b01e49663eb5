#!/usr/bin/env python3
"""examples.py PAGE HEADING OUTPUT: writes a C++ header with the examples below a heading of the page.

The n-th example is in namespace example_n; its functions become inline.
"""

import re
import sys
from pathlib import Path


def main(page, heading, output):
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", Path(page).read_text(), re.M | re.S)
    examples = re.findall(r"^```cpp\n(.*?)^```", section.group(1), re.M | re.S) if section else []
    if not examples:
        sys.exit(f"{page}: no C++ example below '## {heading}'")
    parts = ["#pragma once\n"]
    for number, example in enumerate(examples, 1):
        functions = re.sub(r"^(?=[\w:<>]+ \w+\()", "inline ", example, flags=re.M)
        parts.append(f"namespace plughost::example_{number} {{\n{functions}}}\n")
    Path(output).write_text("\n".join(parts))


main(*sys.argv[1:])
