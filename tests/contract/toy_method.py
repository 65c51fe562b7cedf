"""A user's own method, a table of frequencies. A test registers its record."""

from __future__ import annotations

from dataclasses import dataclass

from labeltrees.checks import Integer, setting
from labeltrees.estimators import FrequencyTableClassifier
from labeltrees.models.baselines.classifiers import FrequencyTableModel, FrequencyTableSettings
from labeltrees.models.method import Method


@dataclass(frozen=True, kw_only=True)
class ToySettings(FrequencyTableSettings):
    """The settings of a frequency table, and a toy of its own."""

    toy_size: int = setting(3, Integer(1, 9))


class ToyModel(FrequencyTableModel):
    """A frequency table under another name."""

    settings_class = ToySettings

    @classmethod
    def from_tensors(cls, tensors, facts, vocabulary=None):
        settings = ToySettings.from_dict(facts["settings"])
        plain = FrequencyTableSettings(back_off=settings.back_off)
        about = facts | {"settings": plain.to_dict()}
        table = FrequencyTableModel.from_tensors(tensors, about, vocabulary)
        return cls(
            settings, table.n_features, table.vocabulary, table.totals, table.tables, table.frozen
        )


class ToyClassifier(FrequencyTableClassifier):
    """The estimator of a toy.

    Parameters
    ----------
    toy_size : int in [1, 9], default 3
        How large the toy is. It changes nothing.
    """

    _model_class = ToyModel

    def __init__(self, *, back_off=1.0, class_weight=None, toy_size=3):
        super().__init__(back_off=back_off, class_weight=class_weight)
        self.toy_size = toy_size


TOY = Method(
    name="toy",
    description="a toy table",
    models=("tests.contract.toy_method:ToyModel",),
    estimator="tests.contract.toy_method:ToyClassifier",
    streams=True,
    effort_settings={"fast": {"toy_size": 1}},
)
