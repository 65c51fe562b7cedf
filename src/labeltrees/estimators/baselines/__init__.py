"""The baselines as scikit-learn estimators."""
