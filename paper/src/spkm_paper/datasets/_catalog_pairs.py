"""Sets of the catalogue whose samples are pairs of a drug and a target."""

from __future__ import annotations

from spkm_paper.datasets import _originals as originals
from spkm_paper.datasets._info import GITHUB, DatasetInfo, Original


def _drug_target(
    name: str, *, title: str, prefix: str, drugs: int, targets: int, checksum: str, remark: str
) -> DatasetInfo:
    """Return the entry of one of the sets of Yamanishi et al., which differ in their sizes only."""
    return DatasetInfo(
        name=name,
        title=f"Drug - target interactions, {title} (Yamanishi et al. 2008)",
        arrays={
            "drug_similarity": (drugs, drugs),
            "target_similarity": (targets, targets),
            "drug_index": (drugs * targets,),
            "target_index": (drugs * targets,),
            "y": (drugs * targets,),
            "drug_names": (drugs,),
            "target_names": (targets,),
        },
        checksum=checksum,
        terms="none stated; cite Yamanishi et al. 2008",
        source="https://github.com/stephenliu0423/PyDTI, datasets/",
        remarks=("All pairs are listed, drugs in the outer loop; y is 1 for a known interaction, else 0.", remark),
        layout="pairs",
        target_names=("no interaction known", "interaction"),
        originals=tuple(
            Original(file, f"{GITHUB}/stephenliu0423/PyDTI/master/datasets/{file}")
            for file in (f"{prefix}_admat_dgc.txt", f"{prefix}_simmat_dc.txt", f"{prefix}_simmat_dg.txt")
        ),
        convert=originals.drug_target,
    )


PAIRS = (
    DatasetInfo(
        name="davis_dti",
        title="Affinities of kinase inhibitors (Davis et al. 2011)",
        arrays={
            "drug_features": (68, 1024),
            "drug_similarity": (68, 68),
            "target_features": (442, 420),
            "target_similarity": (442, 442),
            "drug_index": (30056,),
            "target_index": (30056,),
            "y": (30056,),
            "fold": (30056,),
            "drug_names": (68,),
            "drug_smiles": (68,),
            "target_names": (442,),
            "target_sequences": (442,),
        },
        checksum="f0aff5da73444c87d27c3b0801856527b860c49ac7c829c62379454bde59bc21",
        terms="none stated; cite Davis et al. 2011, Pahikkala et al. 2015, Ozturk et al. 2018",
        source="https://github.com/hkmztrk/DeepDTA, data/davis/",
        remarks=(
            "All pairs are listed, drugs in the outer loop; y = -log10(Kd / 1e9), 69.6 % exactly 5: no binding seen.",
            "target_similarity holds Smith-Waterman scores: divide by the root of the product of the diagonal entries.",
            "379 of the 442 sequences are distinct: mutants share a sequence.",
        ),
        layout="pairs",
        target_names=("pKd",),
        why_no_download="drug_features were made with RDKit, which is no dependency",
    ),
    _drug_target(
        "dti_nuclear_receptor",
        title="nuclear receptors",
        prefix="nr",
        drugs=54,
        targets=26,
        checksum="6417964dcc18e8e713626910b0481511c89455b692e9342a279c06570d977f93",
        remark="drug_similarity is not quite symmetric (up to 0.075): symmetrise it, and it is positive semi-definite.",
    ),
    _drug_target(
        "dti_gpcr",
        title="G protein-coupled receptors",
        prefix="gpcr",
        drugs=223,
        targets=95,
        checksum="19bfccdfce1ade11e52ef60544f636ff47757c43d5f52ba26cb6f7186de00557",
        remark="drug_similarity is not quite symmetric (up to 0.185); symmetrised, it has an eigenvalue -0.011: clip.",
    ),
)
