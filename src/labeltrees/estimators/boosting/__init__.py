"""Adacond as a scikit-learn estimator."""
