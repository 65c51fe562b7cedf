"""`labeltrees which`: what is in a file, and which model suits it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from labeltrees.autotrain.gathering import gather
from labeltrees.autotrain.kinds import kind_of, method_for, online_method_for
from labeltrees.cli.inputs import (
    FormatOption,
    Input,
    InputArgument,
    LineOption,
    with_columns,
)
from labeltrees.cli.report import JsonOption, say, say_json
from labeltrees.cli.training.training_words import found_in, joined_in_words
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.same_rows import join_same_rows
from labeltrees.models.registry import methods

_LOOKED_AT = 2**24
"""Bytes of rows that are read to tell."""


@with_columns
def which(
    data: InputArgument,
    format: FormatOption = None,  # noqa: A002
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Say what is in a data file, which model `train` would choose for it, and why."""
    source = Input.choose(
        data,
        format=format,
        columns=columns,
        max_line_bytes=max_line_bytes,
    )
    gathered = gather(source.texts_or_rows(), _LOOKED_AT, name=source.path)
    kind = kind_of(gathered.data)
    sentences = found_in(source.path, kind, gathered.n_unlabelled)
    ratings = kind.ratings
    if ratings:
        kind = kind_of(join_same_rows([gathered.data]))
        sentences.append(joined_in_words(kind))
    name, why = method_for(kind)
    whole = gathered.rest is None
    found: dict[str, Any] = {
        "data": data,
        "format": source.format,
        "whole_file": whole,
        **asdict(kind),
        "ratings": ratings,
        "rows_without_label": gathered.n_unlabelled,
        "assumed": list(source.assumed),
        "model": name,
        "why": why,
    }
    if json:
        say_json(found)
        return
    say(f"  Format: {source.format}." + ("" if whole else " Of the first rows:"))
    for sentence in (*sentences, *source.assumed):
        say(f"  {sentence}")
    say(f"  Model: {methods()[name].description} (--model {name}), because {why}.")
    say(f"  Train it: labeltrees train {data}")
    online = methods()[online_method_for(source.look)[0]]
    if not ratings and (not kind.several or online.several_labels):
        say(f"  If rows keep coming: labeltrees stream {data} learns each one as it comes.")
