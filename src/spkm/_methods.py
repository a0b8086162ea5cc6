"""Methods of fitted estimators that packages above provide: explanations, reports, files, exports.

Each method imports the package that does the work when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if as _available_if

F = TypeVar("F", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[F], F]:
    """Return scikit-learn's decorator of the same name, which hides its types from type checkers."""
    return cast(Callable[[F], F], _available_if(check))


class Saves:
    """An estimator that a file can hold."""

    def save(self, path: Any, *, data: Any = None, metrics: Any = None) -> None:
        """Write the fitted estimator to a model file, at once and without pickle; :func:`spkm.load` reads it.

        Parameters
        ----------
        path : str or path
            File to write; by custom its name ends with ".spkm".
        data : array, DataFrame or sparse matrix, default=None
            The samples of the fit: a fingerprint of them, the dtypes of their columns and a summary for ``monitor`` go
            into the file, not they.
        metrics : dict of str to numbers or strings, default=None
            Further facts for the file, such as scores on held-out samples.
        """
        from spkm.persistence import save as save_to

        save_to(self, path, data=data, metrics=metrics)


class Shows(BaseEstimator):
    """An estimator whose summary notebooks show below scikit-learn's diagram."""

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram and, of a fitted estimator, the summary below it."""
        return f"{super()._repr_html_inner()}{self._summary_html()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show: scikit-learn's diagram and, of a fitted estimator, the summary below it."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._summary_html()
        return shown

    def _summary_html(self: Any) -> str:
        if not self.__sklearn_is_fitted__():
            return ""
        return f"<details open><summary>The fitted model</summary>{self.summary()._repr_html_()}</details>"


class Exports(Saves):
    """An estimator that files, code, services and reports can hold."""

    def export(self, path: Any, *, details: bool = False, times: Any = None) -> None:
        """Write the fitted model as code that predicts without this library.

        Parameters
        ----------
        path : str or path
            File to write; its suffix sets the form: ".json" (plain form), ".js" (JavaScript, for browsers and Node),
            ".py" (Python without any package), ".c" or ".h" (a header of C99), ".sql" (a query) or ".onnx".
        details : bool, default=False
            For ".sql": whether the query returns the similarities to the basis vectors, and the scores of pairs of
            classes where there are any, beside prediction, probabilities and scores. Other formats always have them.
        times : array-like of shape (n_times,), default=None
            For :class:`spkm.SPKMSurvival`: times until which the code gives the probability of no event; None are the
            nine deciles of ``event_times_``.
        """
        from spkm.persistence import export as export_to

        export_to(self, path, details=details, times=times)

    def _beside_scores(self, times: Any) -> dict[str, Any]:
        """Return what files and exports need beside the model: nothing, but for censored times."""
        if times is not None:
            raise ValueError(f"times is for SPKMSurvival; got a {type(self).__name__}.")
        return {}

    def compiled(self, method: str = "predict", times: Any = None) -> Any:
        """Return the model as a function of one sample, for services: quick, immutable, without checks.

        Parameters
        ----------
        method : {"predict", "predict_proba", "decision_function", "predict_survival_function", "similarities", \
                "contributions"}, default="predict"
            Method that the function stands for.
        times : array-like of shape (n_times,), default=None
            For survival probabilities, as in :meth:`export`.

        Returns
        -------
        function : CompiledModel
            ``function(sample)``, a sequence of finite numbers, returns a number, a label or an array. Threads may share
            it.
        """
        from spkm.persistence import compiled as compile_for

        return compile_for(self, method, times)

    def report(self, path: Any, X: Any, y: Any = None, **options: Any) -> Any:
        """Write what the model learned, how good it is and why it predicts what it does, into one file.

        Parameters
        ----------
        path : str or path
            File to write; suffix: ".html" (a page that needs no network), ".md" (a model card) or ".json".
        X, y : table and targets, default of y None
            Samples, best ones that the model was not fitted on. For pairs X are the pairs, or (pairs, left, right).
        **options
            Options of :func:`spkm.inspection.report`: ``train``, ``title``, ``units``, ``stability``, ``privacy``,
            ``max_rows`` and ``random_state``.

        Returns
        -------
        path : Path
            The file.
        """
        from spkm.inspection import report as report_on

        return report_on(self, path, X, y, **options)


class Monitors:
    """An estimator that compares new samples with those of its fit."""

    def monitor(self, X: Any, reference: Any = None) -> Any:
        """Compare new samples with those of the fit, as the model gets them.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            New samples.
        reference : samples or dict, default=None
            The samples of the fit, or their :func:`spkm.persistence.summarize`. None is what ``save(path,
            data=samples)`` left in the file that the estimator was loaded from.

        Returns
        -------
        drift : Drift
            Shares of samples that are unlike all that was seen, or out of range.
        """
        from spkm.persistence import monitor as monitor_with

        return monitor_with(self, X, reference)


class Explains(Exports, Shows):
    """An estimator of one score or several that a reader can follow."""

    def explain(self, X: Any, background: Any = None, **options: Any) -> Any:
        """Explain predictions: contributions of basis vectors, exact Shapley values, neighbours.

        Parameters
        ----------
        X : table
            Samples to explain.
        background : table, default=None
            Samples that absent features take their values from; None are those of X.
        **options
            Options of :func:`spkm.explain.explain`.

        Returns
        -------
        explanation : Explanation
            Arrays and frames; see :class:`spkm.explain.Explanation`.
        """
        from spkm.explain import explain as explain_with

        return explain_with(self, X, background, **options)

    def summary(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """Return a description of the model that fits a terminal.

        Parameters
        ----------
        X, y : table and targets, default=None
            Samples, for what cannot be read off the model alone.
        **options
            Options of :func:`spkm.explain.summary`.

        Returns
        -------
        sheet : Sheet
            A string: sentences, a row for each basis vector and, with samples, one for each feature. Notebooks show its
            tables.
        """
        from spkm.explain import summary as summary_of

        return summary_of(self, X, y, **options)

    def formula(self, digits: int = 4) -> Any:
        """Return the model as a formula, a line for each output.

        Parameters
        ----------
        digits : int, default=4
            Significant digits of the numbers.

        Returns
        -------
        sheet : Sheet
            A string: the formula, with its kernels and the numbers of its linear part below.
        """
        from spkm.explain import formula as formula_of

        return formula_of(self, digits)

    def to_frame(self) -> Any:
        """Return the basis vectors with their weights as a pandas frame.

        Returns
        -------
        frame : DataFrame
            A row for each basis vector, in the user's units.
        """
        from spkm.explain import to_frame as frame_of

        return frame_of(self)


class ExplainsComponents(Saves, Shows):
    """An estimator of components of two tables that a reader can follow."""

    def summary(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """Return a description of the components that fits a terminal.

        Parameters
        ----------
        X, y : tables, default=None
            Samples, best those that the fit has not used: correlations with intervals and p-values, and shapes of
            effects.
        **options
            ``width``, at which sentences are wrapped, and ``n_permutations`` and ``random_state`` of the p-values.

        Returns
        -------
        sheet : Sheet
            A string: cautions, sentences, a row for each component, and one for each of its features. Notebooks show
            its tables.
        """
        from spkm.explain import canonical_summary as summary_of

        return summary_of(self, X, y, **options)

    def formula(self, digits: int = 4) -> Any:
        """Return the scores of both tables as formulas, a line for each component.

        Parameters
        ----------
        digits : int, default=4
            Significant digits of the numbers.

        Returns
        -------
        sheet : Sheet
            A string: the formulas, with their kernels below.
        """
        from spkm.explain import canonical_formula as formula_of

        return formula_of(self, digits)

    def report(self, path: Any, X: Any, y: Any, **options: Any) -> Any:
        """Write the components, how sure they are and what they look like into one file.

        Parameters
        ----------
        path : str or path
            File to write; suffix: ".html" (a page that needs no network), ".md" (a card) or ".json".
        X, y : tables
            Samples, best those that the fit has not used: correlations and p-values are honest only then.
        **options
            Options of :func:`spkm.inspection.canonical_report`: ``title``, ``tables``, ``x_axis``, ``y_axis``,
            ``n_permutations``, ``privacy`` and ``random_state``.

        Returns
        -------
        path : Path
            The file.
        """
        from spkm.inspection import canonical_report as report_on

        return report_on(self, path, X, y, **options)
