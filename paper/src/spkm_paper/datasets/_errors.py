"""What can go wrong with a data set."""


class DatasetNotFoundError(FileNotFoundError):
    """A data set is neither at hand nor to be had; the text says which file to put where."""


class BrokenDatasetError(ValueError):
    """A file does not hold the data set that its name says; the text says which file, and what is wrong with it."""


class DownloadError(OSError):
    """Nothing came from the web; the text says why."""
