"""Evaluation of models, with the same scores for Python, the command line and model cards."""

from __future__ import annotations

from labeltrees.evaluation.measuring import Evaluator, evaluate
from labeltrees.evaluation.result import Evaluation
from labeltrees.evaluation.saved import evaluate_predictions

__all__ = ["Evaluation", "Evaluator", "evaluate", "evaluate_predictions"]
