"""Marks that several files of tests share."""

import pytest

#: Searches with few candidates and few iterations, on purpose: warnings that tell of it are no news.
QUICK_SEARCHES = [
    pytest.mark.usefixtures("hasty"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning"),
]
