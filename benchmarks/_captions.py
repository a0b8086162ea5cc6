"""One sentence for every table, in the reader's direction, and the titles of its columns of figures.

They stand here and not in the modules that measure, so that a better word leaves no result behind. Titles are those of
the column "measured" and of the module's own ``COLUMNS``, in that order; without titles a page shows the names of the
file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Caption:
    """The sentence above a table, and the titles of its columns from "measured" on; no titles: those of the file."""

    sentence: str
    titles: tuple[str, ...] = ()


BESIDE = (
    "spkm minus LogisticRegression",
    "spkm minus HistGB",
    "spkm minus LightGBM",
    "spkm minus xRFM",
)
CAPTIONS = {
    "binary": Caption(
        "Accuracy in percent on new samples, higher is better; differences are spkm minus the tuned SVM in points, so "
        "that above 0 spkm is better.",
        ("spkm (rows of means: spkm minus SVM)", "tuned SVM", "spkm minus SVM", "vectors of the SVM"),
    ),
    "cca": Caption(
        "F1 of the features found (1 is perfect) and correlation on new samples: higher is better; rows of features "
        "count those that a method uses, and fewer are easier to read.",
        ("SPKMCCA", "ElasticNetCCA", "PMDCCA", "KCCA", "seconds of SPKMCCA", "seconds of the others"),
    ),
    "compare": Caption(
        "Accuracy on held-out folds: higher is better; log loss and CPU times of a fit and of the reason for one "
        "prediction: lower is better.",
        (
            "accuracy, %",
            "log loss",
            "features",
            "what the model is",
            "a fit, CPU s",
            "a reason, CPU ms",
            "the reason is",
            "folds",
        ),
    ),
    "conditional_coverage": Caption(
        "Share of targets inside 90 % intervals near the basis vector for which it is farthest from 0.9: nearer to 0.9 "
        "is better, and so is a smaller width at equal coverage.",
        (
            "conditional, worst vector",
            "conditional, all samples",
            "conditional, width",
            "conditional and randomized, worst vector",
            "split, worst vector",
            "split, width",
            "a prediction, CPU ms",
        ),
    ),
    "coverage": Caption(
        "Share of targets inside 90 % intervals: nearer to 0.9 is better, and so is a smaller width (over the "
        "deviation of the targets) at equal coverage.",
        ("inside, mean of the sets", "width", "inside, least set", "inside, most"),
    ),
    "crossover": Caption(
        "Seconds to the end and final objective of each solver: lower is better; the first figure names the fastest of "
        "those within 1 % of the lowest objective.",
        (
            "best solver",
            "lbfgs: s, objective",
            "lbfgs, growing: s, objective",
            "adam: s, objective",
            "varpro: s, objective",
            "varpro, tenth: s, objective",
        ),
    ),
    "dask_plan": Caption(
        "Seconds of one pass over all samples on a cluster: lower is better; rows of a plan are computed from the "
        "others, which are measured beside a model of them (100 % is a perfect model).",
        (
            "seconds (measured rows: CPU s of the scheduler)",
            "model over measured, %",
            "workers, CPU s",
            "model over measured, workers, %",
            "clock, s",
        ),
    ),
    "dask_workers": Caption(
        "Time of a pass by one worker over that by two: 2 would be perfect, higher is better; the cost of a killed "
        "worker in passes: lower is better.",
        ("figure", "one worker, s", "two workers, s"),
    ),
    "defaults": Caption(
        "Errors and times relative to the simpler choice that the row names: lower is better; coverage nearer to 90 % "
        "and a higher R² are better.",
        ("mean", "least", "most"),
    ),
    "deviations": Caption(
        "Log density of test targets: higher is better; the share inside 90 % intervals: nearer to 0.9 is better; then "
        "deviations over that of all targets, near the samples and away from them.",
    ),
    "digits": Caption(
        "Accuracy in percent on new digits: higher is better; fewer vectors are a smaller model.",
        ("accuracy, %", "standard error over splits", "vectors", "splits"),
    ),
    "drug_target": Caption(
        "MSE: lower is better; CI (concordance) and AUC: higher is better; kernel ridge keeps all training pairs, spkm "
        "the vectors of the row.",
        ("spkm", "kernel ridge", "spkm, second figure", "kernel ridge, second figure", "folds"),
    ),
    "error_bars": Caption(
        "Deviation over fresh samples, over the error bar: nearer to 1 is better, above 1 bars are too narrow; "
        "the share of 90 % bars that hold the true number: nearer to 0.9 is better.",
        (
            "Shapley values, deviation over bar",
            "Shapley values, held",
            "effects, deviation over bar",
            "effects, held",
            "CPU s",
        ),
    ),
    "exactness": Caption(
        "Largest change of the decision function by columns that are not selected: 0 is exact, lower is better.",
        ("change", "relative change", "columns selected", "of"),
    ),
    "explain": Caption(
        "Time of an explanation and its error relative to the largest value: lower is better for both; rows that begin "
        "with shap, shapiq and scikit-learn are other packages.",
        ("time, in the unit of the row", "relative error"),
    ),
    "fdr": Caption(
        "Share of false features among those selected, at most 0.1 is promised: lower is better; the share of relevant "
        "features that are found: higher is better.",
        ("false", "standard error", "found", "features", "CPU s", "draws"),
    ),
    "gaps": Caption(
        "Error on samples of which 30 % of the numbers are missing, lower is better: expected predictions beside three "
        "imputers before the same model.",
        ("expected", "mean", "5 nearest", "iterative", "nothing missing"),
    ),
    "gradient": Caption(
        "Largest relative difference of the gradient from finite differences: lower is better.", ("largest error",)
    ),
    "landmarks": Caption(
        "Accuracy in percent: higher is better; squared error over the variance (rows of errors): lower is better.",
        ("learned", "learned, and bandwidth", "k-means", "random", "exact kernel"),
    ),
    "large": Caption(
        'Time of L-BFGS on all samples over that of solver="auto", to the same objective: above 1 "auto" is faster, '
        "higher is better.",
        ("L-BFGS over auto", "auto, s", "auto, objective", "L-BFGS, s", "L-BFGS, objective"),
    ),
    "lassonet_time": Caption(
        "Time of LassoNet's path over that of the search of spkm: above 1 spkm is faster, higher is better.",
        ("LassoNet over spkm", "LassoNet, s", "spkm, s", "points of LassoNet's path"),
    ),
    "memory": Caption("Peak memory of a fit beyond the table itself: lower is better.", ("extra, MB", "table, MB")),
    "mnist": Caption("Accuracy in percent: higher is better; seconds of the clock: lower is better.", ("figure",)),
    "model_files": Caption(
        "Damaged files that are accepted: 0 is right; sizes and times: lower is better.", ("figure",)
    ),
    "mutation": Caption("Share of planted faults that the tests find: higher is better.", ("found, %",)),
    "noise_columns": Caption(
        "Error with noise columns over the error without them: nearer to 1 is better; precision is the share of "
        "selected columns that are not noise: higher is better.",
        (
            "figure",
            "with noise",
            "without",
            "precision (goal)",
            "columns",
            "seconds",
            "kernel ridge with",
            "kernel ridge without",
        ),
    ),
    "occam": Caption(
        "Share of draws in which the bound holds: at least 0.95 is promised, higher is better; the bound itself: "
        "nearer to the test error is better.",
        ("figure", "test error", "error as fitted", "bound by test samples", "bits a number", "bits of the model"),
    ),
    "one_vs_one": Caption(
        "Accuracy in percent: higher is better; vectors and seconds: lower is better.",
        ("accuracy, %", "vectors", "seconds"),
    ),
    "ordinal": Caption(
        "MAE and mean ranks (1 is the best of five): lower is better; accuracy: higher is better.",
        ("SPKMOrdinalClassifier", "SPKMClassifier", "SPKMRegressor, rounded", "LogisticAT (mord)", "REDSVM"),
    ),
    "out_of_core": Caption(
        "Seconds and memory of a fit to Parquet files: lower is better, and flat memory is best; accuracy beside "
        "that of 20,000 samples in memory: higher is better.",
        ("figure", "CPU, s", "MB before the fit", "accuracy", "reading, s"),
    ),
    "pairs": Caption(
        "Seconds and memory of a fit to pairs: lower is better; time over the joined table over that over pairs: "
        "above 1 pairs are faster, higher is better.",
        ("figure", "pass over pairs, s", "pass over joined table, s"),
    ),
    "panel": Caption(
        "R² on new samples, spkm minus the better of tuned kernel ridge and SVR, in points: above 0 spkm is better; in "
        "rows of seconds and cancellation lower is better.",
        ("spkm minus kernel ridge or SVR", "standard error", *BESIDE),
    ),
    "panel_classes": Caption(
        "Accuracy on new samples, spkm minus another method in points: above 0 spkm is better, in every column; ratios "
        "of log loss and time are spkm over the other, below 1 spkm is better.",
        ("spkm minus tuned SVM, or the figure of the row", "standard error (last rows: CPU time)", *BESIDE),
    ),
    "parity": Caption(
        "Accuracy in percent, recall and precision of the three features: higher is better.",
        ("accuracy, %", "recall (goal)", "precision (goal)", "columns", "kernels", "seconds"),
    ),
    "passes": Caption(
        "Time of one pass over that of its bare matrix products: nearer to 1 is better; speed-up by two threads: "
        "nearer to 2 is better.",
        ("pass over products", "pass, ms", "products, ms", "exp alone, ms", "with bandwidth, over products"),
    ),
    "path_settings": Caption(
        "Share of relevant features at the end of a sparse path, one setting changed at a time: higher is better.",
        ("degree 2", "degree 5", "CPU ms", "draws"),
    ),
    "planted": Caption(
        "Share of counterfactual questions with the right answer: higher is better; wrong and undecided: 0 is best.",
        ("right", "wrong", "undecided", "found beyond", "cases"),
    ),
    "prove": Caption(
        "Share of planted violations that are found and of true statements that are proved: higher is better; "
        "contradictions: 0 is right.",
        (
            "found",
            "true statements proved",
            "found by 100,000 random samples",
            "contradictions",
            "CPU s",
            "changes, CPU s",
            "changes left open",
        ),
    ),
    "ranks": Caption(
        'Mean rank on new samples, 1 is the best of nine: lower is better; "spkm minus theirs" is spkm minus the '
        "method of the column in points: above 0 spkm is better.",
        (
            "spkm",
            "tuned SVM, kernel ridge or SVR",
            "xRFM",
            "LightGBM tuned",
            "LightGBM",
            "CatBoost",
            "HistGB",
            "random forest",
            "linear",
        ),
    ),
    "real_spectra": Caption(
        "Error of prediction (RMSEP) on held-out spectra, in percentage points or grams of glucose per litre: lower is "
        "better; spkm minus PLS below 0: spkm is better.",
        ("spkm", "PLS", "spkm minus PLS"),
    ),
    "regression": Caption(
        "Squared error of spkm over that of tuned kernel ridge: below 1 spkm is better.",
        ("error, spkm over kernel ridge", "with rbf", "free weights", "R² of spkm", "R² of kernel ridge"),
    ),
    "report": Caption("CPU seconds to write a report, and its size: lower is better.", ("figure", "kB")),
    "sample_basis": Caption(
        'Accuracy or R² of basis="samples" minus that of free vectors, in points: below 0 free vectors are better.',
        ("samples minus free", "standard error", "median", "time, samples over free"),
    ),
    "sarcos": Caption(
        "Squared error of spkm over that of the method in the row: below 1 spkm is better.",
        ("error, spkm over theirs", "R² of spkm", "R² of theirs"),
    ),
    "search_settings": Caption(
        "Score with one setting changed, minus that of the settings as they are, in points: above 0 the change "
        "is better.",
        ("changed minus as it is", "standard error", "precision", "recall", "CPU s"),
    ),
    "search_time": Caption(
        "CPU seconds of a search for kernel and features: lower is better; the ratio is spkm over l1, above 1 l1 is "
        "faster.",
        ("spkm, CPU s", "l1, CPU s", "spkm over l1", "features", "draws"),
    ),
    "seconds_to_accuracy": Caption(
        'CPU seconds of a fit: lower is better, at equal accuracy (higher is better); in rows "its over spkm" above 1 '
        "spkm is faster.",
        ("fit, CPU s (last rows: its over spkm)", "accuracy, %", "predict, s"),
    ),
    "selection_panel": Caption(
        "Score of spkm minus that of the row's rival (oracle: the same on the relevant features alone), in "
        "points: above 0 spkm is better; precision, recall and Jaccard: 1 is best.",
        (
            "spkm minus the rival, or the figure of the row",
            "standard error",
            "precision",
            "recall",
            "Jaccard",
            "features",
            "CPU s",
            "fits",
        ),
    ),
    "serve": Caption(
        "Milliseconds of a request beyond a trivial one, and growth of memory: lower is better; requests a second: "
        "higher is better.",
        ("figure",),
    ),
    "simulated": Caption(
        "Accuracy in percent, precision and recall of the ten relevant columns: higher is better.",
        ("accuracy, %", "standard error", "precision (goal)", "recall (goal)", "columns", "seconds", "draws"),
    ),
    "small_sets": Caption(
        "Accuracy with selected columns minus that with all, in points: nearer to 0, or above it, is better; "
        "fewer columns are easier to read.",
        (
            "selected minus all",
            "standard error",
            "accuracy, selected",
            "accuracy, all",
            "columns (goal)",
            "of",
            "seconds",
        ),
    ),
    "spectra": Caption(
        "Error of prediction for new specimens (RMSEP): lower is better; spkm minus PLS below 0: spkm is better.",
        ("spkm", "PLS", "spkm minus PLS", "draws"),
    ),
    "stability": Caption(
        "Similarity of matched basis vectors of two fits, and agreement of their predictions: 1 is the same, higher is "
        "better.",
        (
            "another seed",
            "nine tenths of the samples",
            "by chance",
            "agreement, another seed",
            "agreement, nine tenths",
        ),
    ),
    "survival": Caption(
        "Concordance and AUC: higher is better; Brier score and mean ranks (1 is the best of five): lower is better.",
        ("SPKMSurvival", "ridge Cox", "Coxnet", "forest", "boosting", "Kaplan-Meier"),
    ),
    "svc": Caption(
        "CPU time of an SVM over that of spkm, at no less accuracy: above 1 spkm is faster, higher is better.",
        ("SVM over spkm", "SVM, s", "spkm, s"),
    ),
    "varpro": Caption(
        "Time of L-BFGS over that of variable projection, to the same objective: above 1 variable projection is "
        "faster, higher is better.",
        ("L-BFGS over VarPro", "VarPro, s", "L-BFGS, s", "VarPro, end", "L-BFGS, end"),
    ),
    "vectors": Caption(
        "Accuracy or R² on new samples in percent, by the number of vectors: higher is better.",
        ("1 vector", "2", "5", "10", "20", "50", "100"),
    ),
    "very_wide": Caption(
        "Memory beyond the table, over the table: lower is better; columns found of 10 and accuracy: higher is better.",
        ("extra over X", "seconds (goal)", "X, MB", "extra, MB", "found of 10", "selected", "test accuracy"),
    ),
    "views": Caption(
        "Accuracy in percent, higher is better; the difference is spkm minus an SVM on the joined features: "
        "above 0 spkm is better.",
        ("spkm", "tuned SVM", "spkm minus SVM", "paper's method, as printed"),
    ),
    "wide_sets": Caption(
        "Accuracy in percent on new samples, higher is better; differences are the row's method minus l1-logistic "
        "regression in points; fewer columns are easier to read.",
        ("accuracy, %", "standard error", "minus l1-logistic", "columns (goal)", "seconds"),
    ),
}
