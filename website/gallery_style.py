"""What every example of the gallery starts with."""


def reset(gallery_conf, fname):
    """Set the size and the resolution of pictures, and silence progress bars."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"figure.dpi": 110, "savefig.dpi": 110, "font.size": 10, "figure.constrained_layout.use": True})
