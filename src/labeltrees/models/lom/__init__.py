"""LOMtree (paper 2)."""

from labeltrees.models.method import Method

METHODS = (
    Method(
        name="lomtree",
        description="a LOMtree",
        models=("labeltrees.models.lom.model:LomTreeModel",),
        estimator="labeltrees.estimators.lom:LOMTreeClassifier",
        streams=True,
    ),
)
