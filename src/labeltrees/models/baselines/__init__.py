"""What the papers compare themselves with."""

from labeltrees.models.method import Method

_MODELS, _ESTIMATORS = "labeltrees.models.baselines", "labeltrees.estimators.baselines"

METHODS = (
    Method(
        name="one-against-all",
        description="one-against-all",
        models=(f"{_MODELS}.one_against_all:OneAgainstAllModel",),
        estimator=f"{_ESTIMATORS}.one_against_all:OneAgainstAllClassifier",
        streams=True,
        is_baseline=True,
        base_name="one-against-all",
    ),
    Method(
        name="frequency-table",
        description="a frequency table",
        models=(f"{_MODELS}.frequency_table:FrequencyTableModel",),
        estimator=f"{_ESTIMATORS}.frequency_table:FrequencyTableClassifier",
        streams=True,
        is_baseline=True,
        base_name="frequency-table",
    ),
    Method(
        name="least-squares",
        description="least squares",
        models=(f"{_MODELS}.least_squares:LeastSquaresModel",),
        estimator=f"{_ESTIMATORS}.least_squares:LeastSquaresRegressor",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="leml",
        description="LEML",
        models=(f"{_MODELS}.leml:LemlModel",),
        estimator=f"{_ESTIMATORS}.leml:LemlRegressor",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="pfastrexml",
        description="PfastreXML",
        models=(f"{_MODELS}.pfastrexml:PfastreXmlModel",),
        estimator=f"{_ESTIMATORS}.pfastrexml:PfastreXmlRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="bm25",
        description="BM25",
        models=(f"{_MODELS}.bm25:Bm25Model",),
        estimator=f"{_ESTIMATORS}.bm25:Bm25Ranker",
        several_labels=True,
        is_baseline=True,
        text_features="counts",
    ),
    Method(
        name="dismec",
        description="DiSMEC",
        models=(f"{_MODELS}.one_vs_rest:DismecModel",),
        estimator=f"{_ESTIMATORS}.one_vs_rest:DismecRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="proxml",
        description="ProXML",
        models=(f"{_MODELS}.one_vs_rest:ProxmlModel",),
        estimator=f"{_ESTIMATORS}.one_vs_rest:ProxmlRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="rank-svm",
        description="RankSVM",
        models=(f"{_MODELS}.pairwise:RankSvmModel",),
        estimator=f"{_ESTIMATORS}.pairwise:RankSvmRanker",
        several_labels=True,
        is_baseline=True,
    ),
    Method(
        name="xlr",
        description="XLR",
        models=(f"{_MODELS}.pairwise:XlrModel",),
        estimator=f"{_ESTIMATORS}.pairwise:XlrRanker",
        several_labels=True,
        is_baseline=True,
    ),
)
