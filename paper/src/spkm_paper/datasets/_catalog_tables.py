"""Sets of the catalogue that are one table: small ones, then those with many features."""

from __future__ import annotations

from spkm_paper.datasets import _originals as originals
from spkm_paper.datasets._info import (
    GITHUB,
    NO_CHECKSUM,
    UCI_FILES,
    UCI_PAGE,
    UCI_TERMS,
    DatasetInfo,
    Original,
    split_names,
)

TABLES = (
    DatasetInfo(
        name="breast_cancer_wisconsin",
        title="Breast Cancer Wisconsin (Original)",
        arrays={"X": (683, 9), "y": (683,)},
        checksum="d94be57a5a385eebfc4fcffdd0d3fa44122792be8c6dd22d974715b586c0e592",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/15",
        remarks=("16 of 699 rows, with a missing bare_nuclei, are left out, and so is the column of ids.",),
        feature_names=split_names(
            "clump_thickness, cell_size_uniformity, cell_shape_uniformity, marginal_adhesion, "
            "epithelial_cell_size, bare_nuclei, bland_chromatin, normal_nucleoli, mitoses"
        ),
        target_names=("benign", "malignant"),
        originals=(
            Original(
                "breast-cancer-wisconsin.data", f"{UCI_FILES}/breast-cancer-wisconsin/breast-cancer-wisconsin.data"
            ),
        ),
        convert=originals.breast_cancer_wisconsin,
    ),
    DatasetInfo(
        name="early_diabetes",
        title="Early stage diabetes risk prediction",
        arrays={"X": (520, 16), "y": (520,)},
        checksum="32c492c07433b3acb90cf926d4a46307973867cf0e65c8bbac896dfe2fe31feb",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/529",
        remarks=(
            "Male and Yes are 1, Female and No are 0.",
            "Only 251 of the 520 samples are distinct: a random split puts copies of training ones into the test part.",
        ),
        feature_names=split_names(
            "Age, Gender_male, Polyuria, Polydipsia, sudden weight loss, weakness, Polyphagia, Genital "
            "thrush, visual blurring, Itching, Irritability, delayed healing, partial paresis, muscle "
            "stiffness, Alopecia, Obesity"
        ),
        target_names=("Negative", "Positive"),
        originals=(Original("diabetes_data_upload.csv", f"{UCI_FILES}/00529/diabetes_data_upload.csv"),),
        convert=originals.early_diabetes,
    ),
    DatasetInfo(
        name="ionosphere",
        title="Ionosphere, radar returns",
        arrays={"X": (351, 34), "y": (351,)},
        checksum="c763ecbd5812e925b149509e2d35293e62e9aaf74e80ca70f8205663a6c17b6c",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/52",
        remarks=("The second column is constant 0.",),
        feature_names=tuple(f"pulse{pulse}_{part}" for pulse in range(1, 18) for part in ("re", "im")),
        target_names=("bad", "good"),
        originals=(Original("ionosphere.data", f"{UCI_FILES}/ionosphere/ionosphere.data"),),
        convert=originals.ionosphere,
    ),
    DatasetInfo(
        name="qsar_biodeg",
        title="QSAR biodegradation of chemicals",
        arrays={"X": (1055, 41), "y": (1055,)},
        checksum="f68dfbad17bb90f5262459d8fbcdbd3faa6118e4fd659be474548ed538f4c33c",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/254",
        feature_names=split_names(
            "SpMax_L, J_Dz(e), nHM, F01[N-N], F04[C-N], NssssC, nCb-, C%, nCp, nO, F03[C-N], SdssC, "
            "HyWi_B(m), LOC, SM6_L, F03[C-O], Me, Mi, nN-N, nArNO2, nCRX3, SpPosA_B(p), nCIR, "
            "B01[C-Br], B03[C-Cl], N-073, SpMax_A, Psi_i_1d, B04[C-Br], SdO, TI2_L, nCrt, C-026, "
            "F02[C-N], nHDon, SpMax_B(m), Psi_i_A, nN, SM6_B(m), nArCOOR, nX"
        ),
        target_names=("NRB", "RB"),
        originals=(Original("biodeg.csv", f"{UCI_FILES}/00254/biodeg.csv"),),
        convert=originals.qsar_biodeg,
    ),
    DatasetInfo(
        name="parkinsons_telemonitoring",
        title="Parkinson's telemonitoring, two scores from voice measures",
        arrays={"X": (5875, 19), "y": (5875, 2), "groups": (5875,)},
        checksum="cfd15adc75ff65d6459ce57b95090cf424f790a364b43fa143cb867674b066e3",
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/189",
        remarks=(
            "42 subjects with about 140 samples each; the subject is in groups, not in X. A random split puts samples "
            "of a subject on both sides and is easier than a split by subject.",
        ),
        feature_names=split_names(
            "age, sex, test_time, Jitter(%), Jitter(Abs), Jitter:RAP, Jitter:PPQ5, Jitter:DDP, Shimmer, "
            "Shimmer(dB), Shimmer:APQ3, Shimmer:APQ5, Shimmer:APQ11, Shimmer:DDA, NHR, HNR, RPDE, DFA, "
            "PPE"
        ),
        target_names=("motor_UPDRS", "total_UPDRS"),
        originals=(Original("parkinsons_updrs.data", f"{UCI_FILES}/parkinsons/telemonitoring/parkinsons_updrs.data"),),
        convert=originals.parkinsons_telemonitoring,
    ),
    DatasetInfo(
        name="boston_housing",
        title="Boston housing, median values of homes",
        arrays={"X": (506, 13), "y": (506,)},
        checksum="cd33279be84aba48a8696f84b6cd1b5955adbe0117a0c4f9d808e66902589a74",
        terms="none stated; freely circulated since StatLib",
        source="https://github.com/jbrownlee/Datasets, housing.data; equal to BostonHousing in the R package mlbench",
        remarks=("Column B is built on the racial make-up of the towns, which is why scikit-learn withdrew the set.",),
        feature_names=split_names("CRIM, ZN, INDUS, CHAS, NOX, RM, AGE, DIS, RAD, TAX, PTRATIO, B, LSTAT"),
        target_names=("MEDV",),
        originals=(Original("housing.data", f"{GITHUB}/jbrownlee/Datasets/master/housing.data"),),
        convert=originals.boston_housing,
    ),
    DatasetInfo(
        name="basehock",
        title="BASEHOCK, word counts of 20 Newsgroups, baseball against hockey",
        arrays={"X": (1993, 4862), "y": (1993,)},
        checksum="35853d5cb55dfef511dc8fa93ebe1f38a5072e7a68d2a55c8684013d00e348fc",
        terms="none stated",
        source="https://github.com/jundongl/scikit-feature, skfeature/data/BASEHOCK.mat",
        remarks=("Which label is baseball is inferred from the counts.",),
        target_names=("rec.sport.baseball", "rec.sport.hockey"),
        originals=(Original("BASEHOCK.mat", f"{GITHUB}/jundongl/scikit-feature/master/skfeature/data/BASEHOCK.mat"),),
        convert=originals.basehock,
    ),
    DatasetInfo(
        name="leukemia",
        title="Leukemia (Golub et al. 1999), ALL against AML, expression in three levels",
        arrays={"X": (72, 7070), "y": (72,)},
        checksum="eec9fe72f170286c99c6c55bbeeadadada8b7078afa19d9f14516d1915150dfe",
        terms="none stated",
        source="https://github.com/jundongl/scikit-feature, skfeature/data/leukemia.mat",
        remarks=("The levels are -2, 0 and 2. Sets of this name on OpenML hold the measured values instead.",),
        target_names=("ALL", "AML"),
        originals=(Original("leukemia.mat", f"{GITHUB}/jundongl/scikit-feature/master/skfeature/data/leukemia.mat"),),
        convert=originals.leukemia,
    ),
    DatasetInfo(
        name="gisette",
        title="Gisette, digits 4 against 9 with artificial columns",
        arrays={"X": (7000, 5000), "y": (7000,)},
        terms=UCI_TERMS,
        source=f"{UCI_PAGE}/170",
        remarks=(
            "The 6,000 samples of the training part, then the 1,000 of the validation part.",
            "Checked by shape only: no copy has been at hand.",
        ),
        target_names=("-1", "1"),
        originals=tuple(
            Original(f"gisette_{file}", subfolder="GISETTE")
            for file in ("train.data", "train.labels", "valid.data", "valid.labels")
        ),
        convert=originals.gisette,
        why_no_download=NO_CHECKSUM,
    ),
    DatasetInfo(
        name="pseudomonas",
        title="Antimicrobial resistance of Pseudomonas aeruginosa (Khaledi et al. 2020)",
        arrays={"X": (None, None), "y": (None,)},
        terms="see the record on Zenodo; cite Khaledi et al. 2020",
        source="https://zenodo.org/record/3464542",
        remarks=("Not checked: no copy has been at hand, and X and y are what you chose from the record.",),
        why_no_download="the record holds several tables, and no copy has been at hand to say which make X and y",
    ),
)
