"""Self-terminating trees (paper 3)."""

from labeltrees.models.method import Method

METHODS = (
    Method(
        name="self-terminating",
        description="a self-terminating tree",
        models=("labeltrees.models.self_terminating.model:SelfTerminatingTreeModel",),
        estimator="labeltrees.estimators.self_terminating:SelfTerminatingTreeClassifier",
        base_name="self-terminating",
    ),
)
