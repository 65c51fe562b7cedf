"""Evaluation of models, with the same scores for Python, the command line and model cards."""

from __future__ import annotations

from labeltrees.evaluation.measuring import Evaluator, HasModel, Predictor, evaluate
from labeltrees.evaluation.result import Evaluation
from labeltrees.evaluation.saved import evaluate_predictions
from labeltrees.evaluation.truth import Task, labels_of_rows, task_of, task_of_profile

__all__ = [
    "Evaluation",
    "Evaluator",
    "HasModel",
    "Predictor",
    "Task",
    "evaluate",
    "evaluate_predictions",
    "labels_of_rows",
    "task_of",
    "task_of_profile",
]
