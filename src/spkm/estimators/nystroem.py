"""A feature map whose inner products approach a kernel: basis vectors as landmarks, for any linear model."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import Matrix, RandomState, TableLike, TargetLike, WeightLike
from spkm._checks import check_choice, check_integer, generator, n_threads, warn_user
from spkm._methods import Saves
from spkm._publish import publish
from spkm.core.fitted import FittedModel
from spkm.core.model import PreimageModel, Term, View
from spkm.core.scaling import check_domain, scaling_for
from spkm.core.starts import MOST_ROWS, KMeans, draw_sample
from spkm.core.targets import Real
from spkm.estimators.base import ReadsModel, check_domain_of
from spkm.estimators.classifier import SPKMClassifier
from spkm.estimators.pairwise import PredictsPairs
from spkm.estimators.parameters import KernelLike, ScaleLike
from spkm.estimators.regressor import SPKMRegressor
from spkm.fitting.binary import check_joint
from spkm.fitting.problems import KERNEL_SAMPLE
from spkm.kernels import KERNELS
from spkm.losses import Squared
from spkm.sources import ArraySource, Block, distinct_rows, pick_rows
from spkm.tables.read import Table, holds_labels, read_like, read_table, target_array

RULES = ("auto", "learned", "kmeans", "random")
DEFAULTS = {"n_components": 100, "kernel": "rbf", "scale": True}  # where no estimator has its own


class SPKMNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Saves, BaseEstimator):
    """Nystroem features k(x, U) k(U, U)^(-1/2) with landmarks U that are learned with the targets.

    Inner products of the features approximate the kernel, and are exact on the landmarks, so a linear model on them is
    a kernel machine. Used like :class:`sklearn.kernel_approximation.Nystroem`, which draws its landmarks from the
    samples; far fewer learned landmarks give the same accuracy.

    Parameters
    ----------
    n_components : int, default=None
        Number of landmarks, and of features; no more than there are distinct samples. None is 100, or the ``n_basis``
        of the estimator given as ``landmarks``.
    kernel : str or Kernel, default=None
        The kernel. None is "rbf", or that of the estimator. Learned landmarks come with a learned bandwidth; the others
        have the kernel as it is, where a bandwidth that is not given is the mean distance of samples.
    landmarks : {"auto", "learned", "kmeans", "random"} or SPKM estimator, default="auto"
        - "learned": the basis vectors of a model fitted to y, :class:`SPKMClassifier` for labels and
          :class:`SPKMRegressor` for real targets and several outputs;
        - "kmeans": centres of k-means, without y;
        - "random": samples drawn at random, without y;
        - "auto": "learned" where y is given, else "kmeans";
        - an estimator that is not fitted: as "learned", with its settings; it also says whether y holds labels or
          numbers, where else whole numbers are labels if they have at most ten different values, or are integers of
          which each occurs ten times on average;
        - a fitted one: its basis vectors, kernel and scaling; the samples here do not matter. It stays fitted when this
          transformer is cloned; in the grid of a search wrap it as ``FrozenEstimator(model)``.
    scale : {True, False, "common"}, default=None
        As in :class:`SPKMClassifier`. None is True, or that of the estimator.
    n_jobs : int, default=None
        Threads; None takes all cores, or what OMP_NUM_THREADS says. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn; None leaves an estimator its own.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        The landmarks, in the units of X; NaN in features that a strict selection left out.
    component_indices_ : ndarray of int of shape (n_components,)
        Numbers of the samples that are landmarks; only with ``landmarks="random"``.
    normalization_ : ndarray of shape (n_components, n_components)
        The matrix k(U, U)^(-1/2), symmetric.
    kernel_ : Kernel
        The kernel that the features approximate, with what was learned; it acts on scaled features. For 2k - 1 it
        is k.
    estimator_ : SPKM estimator
        The model whose basis vectors are the landmarks, if there is one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(SPKMNystroem(5, random_state=0), LinearSVC()).fit(X, y)
    >>> model[0].transform(X).shape, bool(model.score(X, y) > 0.97)
    ((569, 5), True)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike | None = None,
        landmarks: Literal["auto", "learned", "kmeans", "random"] | BaseEstimator = "auto",
        scale: ScaleLike = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.landmarks = landmarks
        self.scale = scale
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike = None) -> Self:
        """Find the landmarks.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets; needed, and looked at, only where landmarks are learned.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._check_settings()
        table = read_table(self, X, "no_validation", sample_weight)
        asked, estimator, indices = self._model(), None, None
        if isinstance(asked, ReadsModel) and _is_fitted(asked):
            read_like(asked, X)
            self._check_agrees(asked)
            estimator = asked
        elif isinstance(asked, ReadsModel) or asked == "learned" or (asked == "auto" and y is not None):
            estimator = self._learned(asked, X, table, y, sample_weight)
        if estimator is not None:
            model = estimator.model_.without_linear_part()
        else:
            model, indices = self._unsupervised(table.X, table.weight, asked == "random")
        model = model.without_linear_part().of_rkhs()
        normalization = _normalization(model)
        components = model.basis_vectors.astype(table.X.dtype)
        if indices is not None:
            chosen = table.X[indices]  # to the bit, where scaling there and back would round
            components = chosen.toarray() if sparse.issparse(chosen) else chosen
        attributes = {
            **table.attributes,
            "model_": model,
            "normalization_": normalization,
            "components_": components,
            "kernel_": model.kernel,
            "_n_features_out": len(normalization),
        }
        if indices is not None:
            attributes["component_indices_"] = indices
        if estimator is not None:
            attributes["estimator_"] = estimator
        return publish(self, attributes)

    def transform(self, X: TableLike) -> np.ndarray:
        """Return the features of every sample.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples; the features of float32 are float32.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            k(x, U) k(U, U)^(-1/2).
        """
        check_is_fitted(self)
        rows = read_like(self, X)
        check_domain_of(self.model_, rows)
        function = partial(_block_features, normalization=self.normalization_)
        return self.model_.by_blocks(function, rows, n_threads(self.n_jobs))

    def _model(self) -> Any:
        """Return the estimator that the landmarks come from, or the name of a rule."""
        model = self.landmarks
        return model.estimator if isinstance(model, FrozenEstimator) else model

    def _check_settings(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1)
        if self.kernel is not None:
            KERNELS.part(self.kernel)
        check_choice("scale", self.scale, (None, True, False, "common"))
        n_threads(self.n_jobs)
        generator(self.random_state)
        model = self._model()
        if isinstance(model, PredictsPairs):
            raise ValueError(f"landmarks must be an estimator of single samples; got {model!r}, which is one of pairs.")
        if not isinstance(model, ReadsModel):
            if not (isinstance(model, str) and model in RULES):
                raise ValueError(
                    f"landmarks must be {', '.join(map(repr, RULES))}, or an SPKM estimator (not its class); "
                    f"got {self.landmarks!r}."
                )
            return
        check_joint("landmarks", model)
        if isinstance(self.landmarks, FrozenEstimator) and not _is_fitted(model):
            raise ValueError(f"landmarks must be fitted before it is frozen; got {self.landmarks!r}.")

    def _check_agrees(self, model: ReadsModel) -> None:
        """Raise ValueError where a setting differs from what the fitted model has."""
        R = len(model.basis_vectors_)
        if self.n_components not in (None, R):
            raise ValueError(
                f"n_components must be None or {R}, the number of vectors of the fitted estimator that landmarks is; "
                f"got {self.n_components!r}. Give that estimator before it is fitted to learn other landmarks."
            )
        for name in ("kernel", "scale"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} must be None where landmarks is a fitted estimator, which has its own; "
                    f"got {getattr(self, name)!r}."
                )

    def _setting(self, name: str) -> Any:
        value = getattr(self, name)
        return DEFAULTS[name] if value is None else value

    def _n_landmarks(self, n_distinct: int) -> int:
        wanted = int(self._setting("n_components"))
        if wanted > n_distinct:
            warn_user(
                f"n_components={wanted} is more than the {n_distinct} distinct samples of X: {n_distinct} landmarks "
                "are used.",
                UserWarning,
            )
        return min(wanted, n_distinct)

    def _learned(
        self, template: Any, X: TableLike, table: Table, y: TargetLike | None, sample_weight: WeightLike
    ) -> Any:
        """Return a model fitted to the targets, by an unfitted estimator or by "auto" or "learned"."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__}(landmarks={self.landmarks!r}) requires y to be passed, but the target y is "
                "None. Give y, or landmarks='kmeans'."
            )
        settings = {name: getattr(self, name) for name in ("n_components", "kernel", "scale", "n_jobs", "random_state")}
        if isinstance(template, str):
            labels = holds_labels(y) and target_array(y).ndim == 1
            # The RKHS norm keeps vectors apart; a linear part would leave them what is not linear; a single landmark
            # loses 2 points of accuracy within the range of the samples, several lose nothing (benchmark landmarks).
            bounds: Literal["data"] | None = "data" if KERNELS.part(self._setting("kernel")).nonnegative else None
            template = (
                SPKMClassifier(weight_penalty="rkhs", basis_bounds=bounds)
                if labels
                else SPKMRegressor(linear_part=False, basis_bounds=bounds)
            )
            settings.update({name: self._setting(name) for name in DEFAULTS})
        if settings["n_components"] is not None:
            distinct, _ = distinct_rows(table.X, np.zeros((table.X.shape[0], 0)), table.weight)
            settings["n_components"] = self._n_landmarks(len(distinct))
        settings["n_basis"] = settings.pop("n_components")
        given = {name: value for name, value in settings.items() if value is not None}
        return clone(template).set_params(**given).fit(X, y, sample_weight=sample_weight)

    def _unsupervised(self, X: Matrix, weight: np.ndarray, drawn: bool) -> tuple[FittedModel, np.ndarray | None]:
        """Return landmarks without targets, and which samples they are where they are ``drawn``."""
        asked = (Term(1, (View(KERNELS.part(self._setting("kernel"))),)),)
        check_domain(asked, X)
        rng = generator(self.random_state)
        rows, weight = distinct_rows(X, np.zeros((X.shape[0], 0)), weight)
        R, d = self._n_landmarks(len(rows)), X.shape[1]
        X = pick_rows(X, rows)
        scaling = scaling_for(asked, self._setting("scale"), X, weight)
        source = ArraySource(X, np.zeros((len(rows), 1)), weight, scaling)
        with source.threads(n_threads(self.n_jobs)):
            some = draw_sample(source, KERNEL_SAMPLE, rng)
            term = Term(R, (View(asked[0].views[0].kernel.resolved(some.X, some.weight)),))
            model = PreimageModel([term], d, 0, fit_intercept=False)
            theta, params = model.zeros()
            if drawn:
                picked = rng.choice(len(rows), size=R, replace=False, p=weight / weight.sum())
                params.basis[0][...] = source.subset(picked).dense()
            else:
                params.basis[0][...] = KMeans().points(draw_sample(source, MOST_ROWS, rng), term, rng)[0]
        # Target and loss will not be used.
        nothing = Real(np.zeros(0), np.zeros(0), np.zeros(0))
        fitted = FittedModel(nothing, scaling, np.arange(d), d, model, theta, Squared(), asked)
        return fitted, rows[picked] if drawn else None

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_clone__(self) -> SPKMNystroem:
        copy = super().__sklearn_clone__()
        if isinstance(self.landmarks, ReadsModel) and _is_fitted(self.landmarks):
            copy.landmarks = self.landmarks
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        model = self._model()
        tags.target_tags.required = not _is_fitted(model) if isinstance(model, ReadsModel) else model == "learned"
        return tags


def _is_fitted(model: ReadsModel) -> bool:
    return "model_" in vars(model)


def _normalization(model: FittedModel) -> np.ndarray:
    """Return k(U, U)^(-1/2); terms are orthogonal to one another, as their kernels add up."""
    with np.errstate(all="ignore"):
        grams = [K for K, _ in model.model.gram(model.theta)]
    if not all(np.all(np.isfinite(K)) for K in grams):
        raise FloatingPointError("The kernel is not finite on the landmarks. Scale X (scale=True).")
    return block_diag(*map(_inverse_root, grams))


def _inverse_root(K: np.ndarray) -> np.ndarray:
    """Return K^(-1/2) of a symmetric matrix; eigenvalues are no smaller than the rounding of the largest."""
    values, vectors = np.linalg.eigh(K)
    largest = values[-1] if values[-1] > 0 else 1.0
    return (vectors / np.sqrt(np.maximum(values, len(K) * np.finfo(K.dtype).eps * largest))) @ vectors.T


def _block_features(block: Block, model: PreimageModel, theta: np.ndarray, normalization: np.ndarray) -> np.ndarray:
    # In double precision: landmarks that are near one another make the inverse root large, and rounding with it.
    in_double = block._replace(X=block.X.astype(np.float64, copy=False))
    features = model.features(in_double, theta)[0] @ normalization
    return features.astype(block.X.dtype, copy=False)
