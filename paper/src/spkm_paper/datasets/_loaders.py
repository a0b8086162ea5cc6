"""The functions that load data sets, by name or one each."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from spkm._checks import check_choice
from spkm_paper.datasets._catalog import CATALOG
from spkm_paper.datasets._dataset import Dataset, dataset
from spkm_paper.datasets._errors import DatasetNotFoundError
from spkm_paper.datasets._files import checked, read_npz
from spkm_paper.datasets._info import Arrays, DatasetInfo
from spkm_paper.datasets._store import Store, cache_folder, data_folder
from spkm_paper.datasets._web import Web

Folder = str | os.PathLike[str]


def names() -> tuple[str, ...]:
    """Return the names of all data sets.

    Returns
    -------
    tuple of str
        What :func:`load` takes.

    Examples
    --------
    >>> from spkm_paper.datasets import names
    >>> "ionosphere" in names()
    True
    """
    return tuple(CATALOG)


def describe(name: str) -> str:
    """Return what is known of a data set: arrays, terms, origin, remarks. Nothing is read or fetched.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str
        A few lines to print.

    Examples
    --------
    >>> from spkm_paper.datasets import describe
    >>> print(describe("ionosphere"))
    Ionosphere, radar returns
      file      ionosphere.npz: X 351 x 34, y 351
      terms     CC BY 4.0 (UCI)
      source    UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/52
      download  https://archive.ics.uci.edu/ml/machine-learning-databases/ionosphere/ionosphere.data
      remark    The second column is constant 0.
    """
    info = _info(name)
    rows = [
        ("file", f"{info.file}: {info.shapes()}"),
        ("terms", info.terms),
        ("source", info.source),
        ("download", info.where_from()),
        *(("remark", remark) for remark in info.remarks),
    ]
    return "\n".join([info.title, *(f"  {what:<10}{text}" for what, text in rows)])


def load(name: str, folder: Folder | None = None, *, download: bool = True) -> Dataset:
    """Load a data set: from a folder of yours, else from the cache, else from the web.

    What is read is compared with a checksum, where one is known; only sets with a checksum are downloaded. A broken
    file in the cache is removed and fetched again; your own files are never changed.

    Parameters
    ----------
    name : str
        One of :func:`names`. ``sarcos`` stands for ``sarcos_test`` where the full set is not at hand; the name of the
        result says which it is.
    folder : path or None, default=None
        Folder with files as :func:`describe` names them, or with the original files; None: that of the environment
        variable SPKM_DATA, if it is set.
    download : bool, default=True
        Whether to fetch a set that is neither there nor in the cache. Fetched sets are kept in the cache: the folder of
        the environment variable SPKM_CACHE, else spkm in the user's cache.

    Returns
    -------
    Dataset
        Samples, targets, and what to know about them.

    Raises
    ------
    DatasetNotFoundError
        If it is not to be had; the text says which file to put where.
    BrokenDatasetError
        If a file of yours, or what came from the web, does not hold the set.

    Examples
    --------
    >>> from spkm_paper.datasets import load
    >>> data = load("ionosphere")  # doctest: +SKIP
    >>> data.X.shape, data.terms  # doctest: +SKIP
    ((351, 34), 'CC BY 4.0 (UCI)')
    """
    info = _info(name)
    store = Store(data_folder(folder), cache_folder(), Web() if download else None)
    try:
        return dataset(info, store.arrays(info))
    except DatasetNotFoundError:
        if info.instead is None:
            raise
        return dataset(CATALOG[info.instead], store.arrays(CATALOG[info.instead]))


def load_arrays(path: Folder) -> Arrays:
    """Return the arrays of the .npz file of a data set as they lie in it, checked.

    Parameters
    ----------
    path : path
        A file whose name, without .npz, is one of :func:`names`.

    Returns
    -------
    dict of str to ndarray
        The arrays by their names.

    Examples
    --------
    >>> from spkm_paper.datasets import load_arrays
    >>> load_arrays("data/ionosphere.npz")["X"].shape  # doctest: +SKIP
    (351, 34)
    """
    path = Path(path)
    return checked(_info(path.stem), read_npz(path), str(path))


def _info(name: str) -> DatasetInfo:
    return CATALOG[check_choice("name", name, names())]


def _loader(name: str) -> Callable[..., Dataset]:
    """Return the function that loads one set; its docstring is made of the catalogue."""

    def loader(folder: Folder | None = None, *, download: bool = True) -> Dataset:
        return load(name, folder, download=download)

    info = CATALOG[name]
    loader.__name__ = loader.__qualname__ = f"load_{name}"
    notes = "".join(f"\n    {remark}\n" for remark in info.remarks)
    loader.__doc__ = f"""Load {info.title}: {info.shapes()}.

    Terms of use: {info.terms}.

    Source: {info.source}.
    {notes}
    Parameters
    ----------
    folder, download
        As in :func:`load`.

    Returns
    -------
    Dataset
        Samples, targets, and what to know about them.
    """
    return loader


load_basehock = _loader("basehock")
load_boston_housing = _loader("boston_housing")
load_breast_cancer_wisconsin = _loader("breast_cancer_wisconsin")
load_davis_dti = _loader("davis_dti")
load_dti_gpcr = _loader("dti_gpcr")
load_dti_nuclear_receptor = _loader("dti_nuclear_receptor")
load_early_diabetes = _loader("early_diabetes")
load_gisette = _loader("gisette")
load_ionosphere = _loader("ionosphere")
load_leukemia = _loader("leukemia")
load_mnist = _loader("mnist")
load_parkinsons_telemonitoring = _loader("parkinsons_telemonitoring")
load_pseudomonas = _loader("pseudomonas")
load_qsar_biodeg = _loader("qsar_biodeg")
load_sarcos = _loader("sarcos")
load_uci_multiple_features = _loader("uci_multiple_features")
load_uwave = _loader("uwave")
