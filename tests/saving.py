"""The parts of model files and exports that tests look into: bytes in place of files, containers, plain forms."""

from spkm.persistence._container import packed, unpacked
from spkm.persistence._export import json_text, plain_of, writer_of
from spkm.persistence._files import to_bytes
from spkm.persistence._load import from_bytes

__all__ = ["from_bytes", "json_text", "packed", "plain_of", "to_bytes", "unpacked", "writer_of"]
