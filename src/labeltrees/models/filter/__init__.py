"""Filter trees (paper 2 compares itself with them)."""

from labeltrees.models.method import Method

METHODS = (
    Method(
        name="filtertree",
        description="a filter tree",
        models=("labeltrees.models.filter.model:FilterTreeModel",),
        estimator="labeltrees.estimators.filter:FilterTreeClassifier",
        streams=True,
    ),
)
