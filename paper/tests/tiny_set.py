"""A tiny data set, and a web that has it: for the tests of where data sets are looked for."""

import os
from io import BytesIO

import numpy as np

from spkm_paper.datasets._checksum import checksum
from spkm_paper.datasets._errors import DownloadError
from spkm_paper.datasets._info import DatasetInfo, Original
from spkm_paper.datasets._web import Web

REAL = os.environ.get("SPKM_DATA")
TINY = {"X": np.array([[0.5, 2.0], [1.0, -3.0], [4.0, 0.0]]), "y": np.array([0, 1, 1])}
URL = "https://example.org/tiny.csv"
PAGE = b"<html>moved</html>"
CSV = b"0.5,2,0\n1,-3,1\n4,0,1\n"


def from_csv(contents):
    table = np.loadtxt(BytesIO(contents[0]), delimiter=",")
    return {"X": table[:, :-1], "y": table[:, -1].astype(int)}


INFO = DatasetInfo(
    name="tiny",
    title="A tiny set",
    arrays={"X": (3, 2), "y": (3,)},
    checksum=checksum(TINY),
    terms="free",
    source="made up",
    remarks=("Three rows.",),
    originals=(Original("tiny.csv", URL),),
    convert=from_csv,
)


class FakeWeb(Web):
    """Answers with given contents, and counts how often it is asked."""

    def __init__(self, content=CSV):
        self.content = content
        self.asked = []

    def file(self, url):
        self.asked.append(url)
        if self.content is None:
            raise DownloadError(f"{url}: no route")
        return self.content


def same(arrays, expected):
    return all(np.array_equal(arrays[name], expected[name]) for name in expected)
