"""Pictures of fitted models, and the report in one file: everything here can be read off ``model_``."""

from sklearn.calibration import CalibrationDisplay

from spkm.inspection._basis import BasisDisplay
from spkm.inspection._canonical import CanonicalDisplay
from spkm.inspection._card import BasisCardDisplay
from spkm.inspection._censored import brier_scores, judged_times, kaplan_meier, survival_calibration
from spkm.inspection._contributions import ContributionDisplay, ShapleyDisplay
from spkm.inspection._course import ConvergenceDisplay, StabilityDisplay, ViewShareDisplay
from spkm.inspection._curves import Curve, CurveDisplay
from spkm.inspection._effects import EffectDisplay
from spkm.inspection._map import DecisionMapDisplay
from spkm.inspection._pairs import PairMatrixDisplay
from spkm.inspection._paths import FeaturePathDisplay, PathDisplay
from spkm.inspection._report import canonical_report, report
from spkm.inspection._targets import OrderDisplay, SurvivalCalibrationDisplay, SurvivalDisplay

__all__ = [
    "BasisCardDisplay",
    "BasisDisplay",
    "CalibrationDisplay",
    "CanonicalDisplay",
    "ContributionDisplay",
    "ConvergenceDisplay",
    "Curve",
    "CurveDisplay",
    "DecisionMapDisplay",
    "EffectDisplay",
    "FeaturePathDisplay",
    "OrderDisplay",
    "PairMatrixDisplay",
    "PathDisplay",
    "ShapleyDisplay",
    "StabilityDisplay",
    "SurvivalCalibrationDisplay",
    "SurvivalDisplay",
    "ViewShareDisplay",
    "brier_scores",
    "canonical_report",
    "judged_times",
    "kaplan_meier",
    "report",
    "survival_calibration",
]
