"""What travels over HTTP: requests and answers as typed structures, decoded by msgspec."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

__all__ = [
    "Answer",
    "BestOf",
    "CompleteAnswer",
    "CompleteRequest",
    "Example",
    "ExplainRequest",
    "Foresight",
    "InferRequest",
    "InferTensor",
    "LearnAnswer",
    "LearnRequest",
    "NewModel",
    "PredictAnswer",
    "PredictRequest",
    "Row",
    "RowsAnswer",
    "RowsRequest",
    "TrimRequest",
]

Label = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Features = dict[str, float | list[float]] | list[float | list[float]]
"""By name; lists ``indices`` and ``values``; a dense row; or pairs of index and value."""


class Row(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What is asked about: a text, or features."""

    text: str | None = None
    features: Features | None = None


class Example(Row, omit_defaults=True, forbid_unknown_fields=True):
    """A row with its label, or its labels."""

    label: Label | None = None
    labels: list[Label] | None = None
    weight: Annotated[float, Meta(ge=0, le=1e9)] = 1.0


class PredictRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Rows, or one row; the ``k`` likeliest labels, those of ``labels``, or all ``above``."""

    rows: list[Row] | None = None
    text: str | None = None
    features: Features | None = None
    k: Annotated[int, Meta(ge=1, le=1000)] = 5
    labels: list[Label] | None = None
    above: Annotated[float, Meta(gt=0, le=1)] | None = None
    min_seq: Annotated[int, Meta(ge=0)] = 0


class Answer(Struct):
    """The labels of one row and their probabilities."""

    labels: list[Label | None]
    probabilities: list[float]


class PredictAnswer(Struct):
    """The answers, by a model that had learned at least the first ``seq`` examples."""

    model: str
    seq: int
    rows: list[Answer]


class LearnRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Examples, or one example."""

    examples: list[Example] | None = None
    text: str | None = None
    features: Features | None = None
    label: Label | None = None
    labels: list[Label] | None = None
    weight: Annotated[float, Meta(ge=0, le=1e9)] = 1.0


class Foresight(Struct):
    """What the model said of an example just before it learned it."""

    example: int
    label: Label
    p_label: float
    top: Label | None
    p_top: float
    new: bool


class LearnAnswer(Struct):
    """The numbers of the examples that are safe and learned, and what was foreseen of each."""

    model: str
    first_seq: int
    seq: int
    new_labels: list[Label]
    foreseen: list[Foresight]
    repeated: bool = False
    refused: list[int] = []


class ExplainRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A row and a label; by default its likeliest."""

    text: str | None = None
    features: Features | None = None
    label: Label | None = None
    n_features: Annotated[int, Meta(ge=0, le=1000)] = 10


class CompleteRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Python code up to the cursor."""

    source: str
    k: Annotated[int, Meta(ge=1, le=100)] = 10


class CompleteAnswer(Struct):
    """The identifiers that are likely to come next; ``beginning`` is what is there of them."""

    model: str
    seq: int
    beginning: str
    labels: list[Label | None]
    probabilities: list[float]


class RowsRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Which of the rows suit these labels best."""

    rows: list[Row]
    labels: list[Label]
    k: Annotated[int, Meta(ge=1, le=1000)] = 5


class BestOf(Struct):
    """A label's best rows, counted from 0, and their probabilities."""

    label: Label
    rows: list[int]
    probabilities: list[float]


class RowsAnswer(Struct):
    """The best rows of each label."""

    model: str
    seq: int
    labels: list[BestOf]


class NewModel(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A model that has learned nothing yet: what its rows are, and its settings."""

    learns: str = "text"
    settings: dict[str, Any] = {}


class TrimRequest(Struct, forbid_unknown_fields=True):
    """Up to which number the log of a model is to be forgotten."""

    upto: Annotated[int, Meta(ge=1)]


class InferTensor(Struct):
    """A tensor of the Open Inference Protocol, its data as JSON."""

    name: str
    shape: list[int]
    datatype: str
    data: list[str | int | float | bool | list[str | int | float | bool]]
    parameters: dict[str, Any] = {}


class InferRequest(Struct):
    """A request of the Open Inference Protocol; ``parameters`` may have ``k``."""

    inputs: list[InferTensor]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[dict[str, Any]] = []
