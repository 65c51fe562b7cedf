"""`labeltrees which`, which profiles a file and prints the model that suits it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees.autotrain._memory import gather
from labeltrees.autotrain._options import method_for, online_method_for
from labeltrees.autotrain._report import found_in, joined_text
from labeltrees.cli.reading_options import (
    FormatOption,
    InputArgument,
    LineOption,
    with_columns,
)
from labeltrees.cli.report import JsonOption, say, say_json
from labeltrees.data.readers import DataProfile
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.same_rows import join_same_rows
from labeltrees.input import Input
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk

_PROFILED_BYTES = 2**24
"""Maximum number of bytes of rows that are read."""


@with_columns
def which(
    data: InputArgument,
    format: FormatOption = None,  # noqa: A002
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Profile a data file, and print the model that `train` would choose for it, and why.

    Example:
        labeltrees which intents.tsv
    """
    source = Input.choose(
        data,
        format=format,
        columns=columns,
        max_line_bytes=max_line_bytes,
    )
    gathered = gather(source.texts_or_rows(), _PROFILED_BYTES, name=source.path)
    whole = gathered.rest is None

    def profiled(rows: Chunk) -> DataProfile:
        return DataProfile.of(
            [rows],
            is_whole=whole,
            n_unlabelled=gathered.n_unlabelled,
            layout=source.layout,
        )

    profile = profiled(gathered.data)
    sentences = found_in(source.path, profile)
    ratings = profile.ratings
    if ratings:
        profile = replace(profiled(join_same_rows([gathered.data])), ratings=True)
        sentences.append(joined_text(profile))
    name, why = method_for(profile)
    found: dict[str, Any] = {
        "data": data,
        **profile.to_dict(),
        "format": source.format,
        "assumed": list(source.assumed),
        "model": name,
        "why": why,
    }
    if json:
        say_json(found)
        return
    say(f"  The format is {source.format}.")
    if not whole:
        say("  The file is large, so this profile is of its first rows.")
    for sentence in (*sentences, *source.assumed):
        say(f"  {sentence}")
    say(f"  Chosen: {methods()[name].description} (--model {name}), because {why}.")
    say(f"  To train it: labeltrees train {data}")
    online = methods()[online_method_for(source.profile)[0]]
    if not ratings and (not profile.several_labels or online.several_labels):
        say(f"  To update a model with each row as it arrives: labeltrees stream {data}")
