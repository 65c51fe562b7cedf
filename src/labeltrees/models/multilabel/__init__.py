"""Online label trees for rows with any number of labels."""

from labeltrees.models.method import Method

METHODS = (
    Method(
        name="multilabel",
        description="an online tree for rows with many labels",
        models=("labeltrees.models.multilabel.model:MultiLabelTreeModel",),
        estimator="labeltrees.estimators.multilabel:MultiLabelTreeClassifier",
        several_labels=True,
        streams=True,
    ),
)
