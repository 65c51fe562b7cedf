"""What the papers compare themselves with."""

from labeltrees.models.method import Method

_MODELS, _ESTIMATORS = "labeltrees.models.baselines", "labeltrees.estimators.baselines"

METHODS = (
    Method(
        name="one-against-all",
        description="one-against-all",
        models=(f"{_MODELS}.classifiers:OneAgainstAllModel",),
        estimator=f"{_ESTIMATORS}.classifiers:OneAgainstAllClassifier",
        streams=True,
        is_baseline=True,
        base_name="one-against-all",
    ),
    Method(
        name="frequency-table",
        description="a frequency table",
        models=(f"{_MODELS}.classifiers:FrequencyTableModel",),
        estimator=f"{_ESTIMATORS}.classifiers:FrequencyTableClassifier",
        streams=True,
        is_baseline=True,
        base_name="frequency-table",
    ),
    Method(
        name="least-squares",
        description="least squares",
        models=(f"{_MODELS}.regressors:LeastSquaresModel",),
        estimator=f"{_ESTIMATORS}.regressors:LeastSquaresRegressor",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="leml",
        description="LEML",
        models=(f"{_MODELS}.regressors:LemlModel",),
        estimator=f"{_ESTIMATORS}.regressors:LemlRegressor",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="pfastrexml",
        description="PfastreXML",
        models=(f"{_MODELS}.rankers:PfastreXmlModel",),
        estimator=f"{_ESTIMATORS}.rankers:PfastreXmlRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="bm25",
        description="BM25",
        models=(f"{_MODELS}.rankers:Bm25Model",),
        estimator=f"{_ESTIMATORS}.rankers:Bm25Ranker",
        several_labels=True,
        is_baseline=True,
        text_features="counts",
    ),
    Method(
        name="dismec",
        description="DiSMEC",
        models=(f"{_MODELS}.linear_rankers:DismecModel",),
        estimator=f"{_ESTIMATORS}.rankers:DismecRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="proxml",
        description="ProXML",
        models=(f"{_MODELS}.linear_rankers:ProxmlModel",),
        estimator=f"{_ESTIMATORS}.rankers:ProxmlRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="rank-svm",
        description="RankSVM",
        models=(f"{_MODELS}.linear_rankers:RankSvmModel",),
        estimator=f"{_ESTIMATORS}.rankers:RankSvmRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="xlr",
        description="XLR",
        models=(f"{_MODELS}.linear_rankers:XlrModel",),
        estimator=f"{_ESTIMATORS}.rankers:XlrRanker",
        several_labels=True,
        is_baseline=True,
    ),
)
