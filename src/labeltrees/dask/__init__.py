"""Training and answering on a cluster of Dask: ``pip install 'labeltrees[dask]'``.

>>> from labeltrees.dask import DaskExtremeRegressor
>>> DaskExtremeRegressor(n_trees=1).n_trees
1
"""

from importlib.util import find_spec

if missing := [name for name in ("dask", "distributed") if find_spec(name) is None]:
    raise ImportError(
        f"labeltrees.dask needs {', '.join(missing)}: run pip install 'labeltrees[dask]' first."
    )

from labeltrees.dask.conditional import DaskConditionalTree
from labeltrees.dask.extreme import DaskExtremeRegressor

__all__ = ["DaskConditionalTree", "DaskExtremeRegressor"]
