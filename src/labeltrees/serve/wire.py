"""The requests and responses of the server as typed structures, decoded by msgspec."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Label = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Features = dict[str, float | list[float]] | list[float | list[float]]
"""Values by name, lists ``indices`` and ``values``, a dense row, or pairs of index and value."""


class InputRow(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The input of a prediction: a text, or features."""

    text: str | None = None
    features: Features | None = None


class Example(InputRow, omit_defaults=True, forbid_unknown_fields=True):
    """A row with its label, or its labels."""

    label: Label | None = None
    labels: list[Label] | None = None
    weight: Annotated[float, Meta(ge=0, le=1e9)] = 1.0


class PredictRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Rows, or one row, with the labels to return.

    These are the ``k`` most likely labels, the given ``labels``, or all ``above`` a probability.
    """

    rows: list[InputRow] | None = None
    text: str | None = None
    features: Features | None = None
    k: Annotated[int, Meta(ge=1, le=1000)] = 5
    labels: list[Label] | None = None
    above: Annotated[float, Meta(gt=0, le=1)] | None = None
    min_seq: Annotated[int, Meta(ge=0)] = 0


class RowLabels(Struct):
    """The labels of one row and their probabilities."""

    labels: list[Label | None]
    probabilities: list[float]


class PredictResponse(Struct):
    """The labels of every row, from a model that had learned at least ``seq`` examples."""

    model: str
    seq: int
    rows: list[RowLabels]


class LearnRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Examples, or one example."""

    examples: list[Example] | None = None
    text: str | None = None
    features: Features | None = None
    label: Label | None = None
    labels: list[Label] | None = None
    weight: Annotated[float, Meta(ge=0, le=1e9)] = 1.0


class ExamplePrediction(Struct):
    """The prediction for one label of an example, made just before the example was learned."""

    example: int
    label: Label
    p_label: float
    top: Label | None
    p_top: float
    new: bool


class LearnResponse(Struct):
    """The numbers of the saved and learned examples, and the predictions for them."""

    model: str
    first_seq: int
    seq: int
    new_labels: list[Label]
    predicted: list[ExamplePrediction]
    repeated: bool = False
    refused: list[int] = []


class ExplainRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A row and a label, by default its most likely label."""

    text: str | None = None
    features: Features | None = None
    label: Label | None = None
    n_features: Annotated[int, Meta(ge=0, le=1000)] = 10


class CompleteRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Python code up to the cursor."""

    source: str
    k: Annotated[int, Meta(ge=1, le=100)] = 10


class CompleteResponse(Struct):
    """The most likely next identifiers; ``beginning`` is the unfinished one before the cursor."""

    model: str
    seq: int
    beginning: str
    labels: list[Label | None]
    probabilities: list[float]


class RowsRequest(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Rows, and the labels whose best rows are returned."""

    rows: list[InputRow]
    labels: list[Label]
    k: Annotated[int, Meta(ge=1, le=1000)] = 5


class LabelRows(Struct):
    """The best rows of a label, counted from 0, and their probabilities."""

    label: Label
    rows: list[int]
    probabilities: list[float]


class RowsResponse(Struct):
    """The best rows of each label."""

    model: str
    seq: int
    labels: list[LabelRows]


class NewModel(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A model without training: the input that it takes, its settings, and its method."""

    learns: str = "text"
    settings: dict[str, Any] = {}
    method: str = "conditional"


class TrimRequest(Struct, forbid_unknown_fields=True):
    """The number of the last example to delete from the log of a model."""

    upto: Annotated[int, Meta(ge=1)]


class InferTensor(Struct):
    """A tensor of the Open Inference Protocol, with its data as JSON."""

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
