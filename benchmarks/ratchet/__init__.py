"""One figure for each capability, beside the best value of any version: ``make ratchet``.

The figures guard, they do not measure: each is small, and all of them together take about five minutes of one core.
The data ship with scikit-learn or are made up, so a clone is enough; a few figures need the folder named by SPKM_DATA.
``best.csv`` holds the best value of each figure, the version that had it, and the values of repeated runs with other
seeds, from which the tolerance follows. A figure that falls is mended, or its new value is recorded with a reason::

    python -m benchmarks.ratchet                    # measure all, print those that fell
    python -m benchmarks.ratchet pairs cost         # only figures whose name begins with one of these
    python -m benchmarks.ratchet --record           # repeat with several seeds, store new and better values
    python -m benchmarks.ratchet --accept "why" pairs   # store values that are worse, with the reason
"""
