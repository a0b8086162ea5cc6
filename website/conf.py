"""Settings of Sphinx. ``build.py`` calls it, after it has put all pages into one folder."""

import re
import sys
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import spkm
from spkm import estimators

ROOT = Path(__file__).parents[1]
project = "spkm"
copyright = "the spkm developers, BSD-3-Clause"
version = release = spkm.__version__

extensions = [
    "formulas",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.md5", "gallery/**/*.py", "examples/**"]
default_role = "code"  # a single backtick is code, as in Markdown
suppress_warnings = ["myst.header"]  # pages of results skip a level of headings

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

toc_object_entries_show_parents = "hide"  # names of methods fit into the right column
html_theme = "pydata_sphinx_theme"
html_title = f"spkm {version}"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_extra_path = [str(ROOT / "build" / "site" / "source" / "_extra")]  # the live reports
html_show_sourcelink = False
html_copy_source = False
# Pages of figures have wide tables, examples have long lines: they have no right column.
WIDE_PAGES = ["compare", "walk", *(f"numbers/{page.stem}" for page in ROOT.glob("docs/numbers/*.md"))]
WIDE_PAGES += [f"gallery/{page.stem}" for page in ROOT.glob("examples/gallery/plot_*.py")]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
html_theme_options = {
    "external_links": [{"name": name, "url": url} for name, url in URLS.items()],  # as the project names itself
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE_PAGES}},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

numpydoc_show_class_members = False
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
templates_path = [str(Path(__file__).parent / "templates")]
autodoc_typehints = "none"  # numpydoc has them in words
autodoc_default_options = {
    "inherited-members": "BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, tuple, object"
}

sphinx_gallery_conf = {
    "examples_dirs": ["examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "write_computation_times": False,  # its page loads scripts from the network
    "plot_gallery": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
}


#: Parameters of estimators, which are attributes of their classes, too.
KINDS = [kind for name in estimators.__all__ if hasattr(kind := getattr(estimators, name), "get_params")]
PARAMETERS = {field.name for kind in KINDS if is_dataclass(kind) for field in fields(kind)}


def skip_member(app, what, name, thing, skip, options):
    """Leave out parameters, which the docstring has, and methods of scikit-learn that refer to its own guide."""
    return True if name in PARAMETERS or re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def formulas(app, what, name, thing, options, lines):
    """Make indented formulas of a docstring literal: those after a line that ends with a colon and an empty one."""
    for i in range(len(lines) - 2):
        here, after = lines[i], lines[i + 2]
        depth = len(here) - len(here.lstrip())
        deeper = after.strip() and len(after) - len(after.lstrip()) > depth
        if (
            re.search(r"[^:]:$", here)
            and not lines[i + 1].strip()
            and deeper
            and not after.lstrip().startswith((">>>", "- "))
        ):
            lines[i] += ":"


def plain_text(app, what, name, thing, options, lines):
    """Escape what docstrings hold as plain text, ``|x - u|`` and ``classes_``, and leave out links to other sites."""
    text = re.sub(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", "\n".join(lines))
    lines[:] = text.split("\n")
    literal_at, in_example = None, False
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if literal_at is not None and line.strip() and depth <= literal_at:
            literal_at = None
        if literal_at is None and not in_example and not line.lstrip().startswith(("..", ":")):
            lines[i] = re.sub(r"(``.+?``|`[^`]+`_?)|(?<!\\)\||(?<=\w)_(?!\w)", lambda m: m[1] or "\\" + m[0], line)
        if line.rstrip().endswith("::"):
            literal_at = depth


def setup(app):
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", formulas, priority=100)
    app.connect("autodoc-process-docstring", plain_text, priority=900)
