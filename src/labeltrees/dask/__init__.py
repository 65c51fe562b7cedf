"""Training and predicting on a cluster of Dask: ``pip install 'labeltrees[dask]'``.

>>> from labeltrees import ExtremeRegressor
>>> from labeltrees.dask import fit
>>> fit(ExtremeRegressor(warm_start=True), [], [])
Traceback (most recent call last):
...
labeltrees.errors.ArgumentError: warm_start must be False on a cluster, got True.
"""

from importlib.util import find_spec

if missing := [name for name in ("dask", "distributed") if find_spec(name) is None]:
    raise ImportError(
        f"labeltrees.dask needs {', '.join(missing)}. Run pip install 'labeltrees[dask]' first."
    )

from labeltrees.dask._fitting import fit, fit_pool
from labeltrees.dask._predictions import predict_above, predict_top_k, top_rows

__all__ = ["fit", "fit_pool", "predict_above", "predict_top_k", "top_rows"]
