"""Write word_characters.inc of the core: which characters make up words, from this Python's tables.

Run it with the Python version whose `tokenize` the tokeniser follows (CPython 3.11, Unicode 14).
"""

import re
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parent.parent / "cpp" / "src" / "python_source" / "word_characters.inc"


def word_class(character: str) -> int:
    """Return 0: not in a word, 1: in a word only, 2: within an identifier, 3: starts one."""
    if not re.match(r"\w", character):
        return 0
    if character.isidentifier():
        return 3
    return 2 if ("a" + character).isidentifier() else 1


def class_changes() -> list[int]:
    """Return code point * 4 + class, wherever the class differs from the one before."""
    classes = [word_class(chr(code)) for code in range(0x110000)]
    return [
        code * 4 + classes[code]
        for code in range(len(classes))
        if code == 0 or classes[code] != classes[code - 1]
    ]


def main() -> None:
    """Write the table, twelve numbers a line."""
    changes = [f"{change:#x}" for change in class_changes()]
    lines = [", ".join(changes[at : at + 12]) + "," for at in range(0, len(changes), 12)]
    header = f"// Written by tools/make_word_characters.py: Unicode {unicodedata.unidata_version}."
    TARGET.write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main()
