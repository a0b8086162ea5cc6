"""Random cases of every part of the library, and checks of all that can be computed in two ways."""
