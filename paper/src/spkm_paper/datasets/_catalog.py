"""The data sets that are known: what they are, on which terms they may be used, and where they come from."""

from __future__ import annotations

from spkm_paper.datasets._catalog_pairs import PAIRS
from spkm_paper.datasets._catalog_parts import PARTS
from spkm_paper.datasets._catalog_tables import TABLES

CATALOG = {info.name: info for info in sorted((*TABLES, *PARTS, *PAIRS), key=lambda info: info.name)}
