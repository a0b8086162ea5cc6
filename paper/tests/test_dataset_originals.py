"""Original files, as they were published, become the arrays of the catalogue."""

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from spkm_paper.datasets import BrokenDatasetError, _originals, _uwave
from spkm_paper.datasets._catalog import CATALOG
from spkm_paper.datasets._dataset import dataset
from spkm_paper.datasets._store import Store


def mat(**arrays):
    file = BytesIO()
    savemat(file, arrays)
    return file.getvalue()


CONVERSIONS = {
    "breast_cancer_wisconsin": (
        [b"7,5,1,1,1,2,1,3,1,1,2\n8,5,1,1,1,2,?,3,1,1,2\n9,8,1,1,1,2,10,3,1,1,4\n"],
        {"X": [[5, 1, 1, 1, 2, 1, 3, 1, 1], [8, 1, 1, 1, 2, 10, 3, 1, 1]], "y": [0, 1]},
    ),
    "early_diabetes": (
        [b"Age,Gender,Polyuria,class\r\n40,Male,No,Positive\r\n30,Female,Yes,Negative\r\n"],
        {"X": [[40, 1, 0], [30, 0, 1]], "y": [1, 0]},
    ),
    "ionosphere": ([b"1,0,-0.5,g\n0,0,0.25,b\n"], {"X": [[1, 0, -0.5], [0, 0, 0.25]], "y": [1, 0]}),
    "qsar_biodeg": ([b"3.9;2;RB\n4.1;0;NRB\n"], {"X": [[3.9, 2], [4.1, 0]], "y": [1, 0]}),
    "parkinsons_telemonitoring": (
        [b"subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,PPE\n1,72,0,5.6,28.2,34.4,0.1\n"],
        {"X": [[72, 0, 5.6, 0.1]], "y": [[28.2, 34.4]], "groups": [1]},
    ),
    "boston_housing": (
        [b" 0.5 1 2 3 4 5 6 7 8 9 10\n 11 12 24.0\n"],
        {"X": [[0.5, *range(1, 13)]], "y": [24.0]},
    ),
    "sarcos_test": (
        [mat(sarcos_inv_test=np.arange(28.0)[None])],
        {"X": [np.arange(21)], "y": [np.arange(21, 28)]},
    ),
    "sarcos": (
        [mat(sarcos_inv=np.ones((2, 28))), mat(sarcos_inv_test=np.arange(28.0)[None])],
        {"X_train": np.ones((2, 21)), "y_train": np.ones((2, 7)), "X_test": [np.arange(21)], "y_test": [range(21, 28)]},
    ),
    "basehock": (
        [mat(X=csc_array([[0.0, 3.0], [1.0, 0.0]]), Y=[[1], [2]])],
        {"X": [[0, 3], [1, 0]], "y": [0, 1]},
    ),
    "leukemia": ([mat(X=[[-2, 2], [0, 2]], Y=[[1], [-1]])], {"X": [[-2, 2], [0, 2]], "y": [1, 0]}),
    "gisette": (
        [b"550 0 \n0 991 \n", b"1\n-1\n", b"3 4 \n", b"-1\n"],
        {"X": [[550, 0], [0, 991], [3, 4]], "y": [1, 0, 0]},
    ),
    "uci_multiple_features": (
        [b"a,label\n0.5,0\n1.5,9\n"] + [b"a,b,label\n1,2,0\n3,4,9\n"] * 5,
        {"fou": [[0.5], [1.5]], "pix": [[1, 2], [3, 4]], "y": [0, 9]},
    ),
    "dti_gpcr": (
        [b"\tD1\tD2\nh1\t0\t1\nh2\t1\t1\nh3\t0\t0\n", b"\tD1\tD2\nD1\t1\t.5\nD2\t.4\t1\n", b"\th1\nh1\t1\n"],
        {
            "y": [0, 1, 0, 1, 1, 0],
            "drug_index": [0, 0, 0, 1, 1, 1],
            "target_index": [0, 1, 2, 0, 1, 2],
            "drug_similarity": [[1, 0.5], [0.4, 1]],
            "target_similarity": [[1]],
            "drug_names": ["D1", "D2"],
            "target_names": ["h1", "h2", "h3"],
        },
    ),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_original_files_become_the_arrays_of_the_catalogue(name):
    contents, expected = CONVERSIONS[name]
    arrays = CATALOG[name].convert(contents)
    assert set(expected) <= set(arrays) and set(arrays) == set(CATALOG[name].arrays)
    for key, values in expected.items():
        np.testing.assert_array_equal(arrays[key], np.asarray(values), err_msg=key)


def test_mnist_of_openml_is_cut_at_the_official_place():
    rows = np.arange(60_003.0)[:, None] % 256
    found = _originals.mnist(rows, np.array(["7"] * 60_000 + ["1", "2", "3"], dtype=object))
    assert found["X_train"].shape == (60_000, 1) and found["y_test"].tolist() == [1, 2, 3]
    assert found["X_test"].dtype == np.uint8 and found["X_test"].ravel().tolist() == [96, 97, 98]


UWAVE = {  # two training rows and one test row, of three values
    "TRAIN": ([2, 7], np.array([[0.5, -1.0, 2.0], [1.5, 0.25, 0.0]])),
    "TEST": ([8], np.array([[3.0, 1e-3, -4.0]])),
}
FORMS = {
    "": lambda label, values: ",".join([f"{label}.0", *values]),
    ".txt": lambda label, values: "  " + "  ".join([f"{label:.7e}", *values]),
    ".tsv": lambda label, values: "\t".join([str(label), *values]),
    ".ts": lambda label, values: ",".join(values) + f":{label}",
}
UWAVE_INFO = replace(CATALOG["uwave"], arrays={**dict.fromkeys(_uwave.VIEWS, (3, 3)), "y": (3,), "fold": (3,)})


def write_uwave(folder, suffix, in_subfolders=False, labels_of_z=None):
    for part, (labels, X) in UWAVE.items():
        for shift, axis in enumerate("XYZ"):
            name = f"UWaveGestureLibrary{axis}"
            parent = folder / name if in_subfolders else folder
            parent.mkdir(exist_ok=True)
            labels = labels_of_z[: len(labels)] if labels_of_z and axis == "Z" else labels
            head = ["# made up", "@problemName " + name, "@data"] if suffix == ".ts" else []
            lines = [
                FORMS[suffix](label, map(repr, map(float, row + shift))) for label, row in zip(labels, X, strict=True)
            ]
            (parent / f"{name}_{part}{suffix}").write_text("\n".join(head + lines) + "\n")


@pytest.mark.parametrize("in_subfolders", [False, True])
@pytest.mark.parametrize("suffix", FORMS)
def test_uwave_is_read_from_files_of_the_archive(folder, cache, suffix, in_subfolders):
    write_uwave(folder, suffix, in_subfolders)
    found = dataset(UWAVE_INFO, Store(folder, cache, None).arrays(UWAVE_INFO))
    rows = np.vstack([X for _, X in UWAVE.values()])
    for shift, view in enumerate(_uwave.VIEWS):
        np.testing.assert_array_equal(found.views[view], rows + shift)
    assert found.y.tolist() == [1, 6, 7] and found.target_names[found.y[2]] == "8"
    assert found.parts["train"].tolist() == [0, 1] and found.parts["test"].tolist() == [2]


def test_uwave_with_axes_of_other_gestures_is_refused(folder, cache):
    write_uwave(folder, ".tsv", labels_of_z=[2, 3])
    with pytest.raises(BrokenDatasetError, match="must list the same gestures in the same order"):
        Store(folder, cache, None).arrays(UWAVE_INFO)


def test_uwave_with_series_of_several_lengths_is_refused():
    with pytest.raises(ValueError, match="series must have one length"):
        _uwave.series(b"1,2,3\n1,2\n")
