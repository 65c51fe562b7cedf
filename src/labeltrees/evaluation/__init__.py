"""Evaluation of models, with the same scores for Python, the command line and model cards."""

from __future__ import annotations

from labeltrees.evaluation._measuring import Evaluator, evaluate
from labeltrees.evaluation._saved import evaluate_predictions
from labeltrees.evaluation._scores import Evaluation

__all__ = ["Evaluation", "Evaluator", "evaluate", "evaluate_predictions"]
