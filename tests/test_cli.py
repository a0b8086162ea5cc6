"""The command line: quick to answer, clear about what it lacks."""

import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import spkm
from spkm.cli import VERBS, CommandError, Verb, main, run_command


@pytest.fixture
def greet(monkeypatch):
    """Return a table with a verb of ours, whose module notes what it is asked to do."""
    module = types.ModuleType("verb_of_the_tests")
    module.asked = []

    def add_options(parser):
        parser.add_argument("--name", default="you")

    def run(options):
        module.asked.append((options.name, options.command_line))
        if options.name == "nobody":
            raise CommandError("--name must be a person; got 'nobody'.")
        if options.name == "ctrl-c":
            raise KeyboardInterrupt
        return 0

    module.add_options, module.run = add_options, run
    monkeypatch.setitem(sys.modules, "verb_of_the_tests", module)
    return {"greet": Verb("verb_of_the_tests", "say hello"), "other": Verb("no_such_module", "never loaded")}


def test_the_command_is_ours():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"spkm": "spkm.cli:main"}


def test_a_verb_gets_its_options_and_what_was_typed(greet, capsys):
    assert run_command("program", "About.", "1.0", greet, ["greet", "--name", "a b"]) == 0
    assert sys.modules["verb_of_the_tests"].asked == [("a b", "program greet --name 'a b'")]


def test_an_error_is_a_message_and_an_exit_code(greet, capsys):
    assert run_command("program", "About.", "1.0", greet, ["greet", "--name", "nobody"]) == 2
    assert capsys.readouterr().err == "program greet: --name must be a person; got 'nobody'.\n"
    assert CommandError("text", exit_code=1).exit_code == 1


def test_ctrl_c_ends_without_a_traceback(greet, capsys):
    assert run_command("program", "About.", "1.0", greet, ["greet", "--name", "ctrl-c"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_the_help_lists_every_verb_and_loads_none(greet, capsys):
    with pytest.raises(SystemExit) as end:
        run_command("program", "About.", "1.0", greet, ["--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0 and "say hello" in text and "never loaded" in text


def test_every_verb_has_a_module_with_the_two_functions():
    for name, verb in VERBS.items():
        assert verb.module == f"spkm.cli.{name}" and verb.help
        module = __import__(verb.module, fromlist=["run"])
        assert callable(module.add_options) and callable(module.run) and module.__doc__


def test_an_unknown_verb_is_named(capsys):
    with pytest.raises(SystemExit) as end:
        main(["fly"])
    assert end.value.code == 2 and "invalid choice: 'fly'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fti"], "invalid choice: 'fti'. Did you mean fit?"),
        (
            ["fit", "a.csv", "--traget", "y"],
            "spkm fit: error: unrecognized arguments: --traget y. Did you mean --target?",
        ),
        (["fit", "a.csv", "b.csv"], "fit: error: unrecognized arguments: b.csv\n"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant(words, says, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2 and says in capsys.readouterr().err


def test_without_a_verb_the_help_is_printed(capsys):
    assert main([]) == 2
    assert "predict the samples of a file" in capsys.readouterr().err


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"spkm {spkm.__version__}\n"


@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "--help"], ["reproduce", "table1", "--quick"]])
def test_without_the_papers_package_the_way_to_it_is_told(arguments, absent, capsys):
    absent("spkm_paper")
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("spkm reproduce: ") and said.err.count("\n") == 1
    assert "spkm-paper" in said.err and "pip install './paper[plot]'" in said.err


def test_what_the_papers_package_lacks_is_not_taken_for_its_absence(absent):
    absent("threadpoolctl", anew="spkm_paper")
    with pytest.raises(ModuleNotFoundError, match="threadpoolctl"):
        main(["reproduce", "--list"])


def test_the_command_of_the_papers_package_is_handed_everything(capsys):
    pytest.importorskip("spkm_paper")
    assert main(["reproduce", "--list"]) == 0
    assert "needs breast_cancer_wisconsin" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["fit", "--help"], ["predict", "--help"]])
def test_help_needs_no_numbers(arguments):
    code = f"""
import sys
from spkm.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
finally:
    print([name for name in ("numpy", "scipy", "sklearn", "spkm_paper", "joblib") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_leaves_early_is_no_error():
    code = "import sys; from spkm.cli import main; sys.exit(main(['reproduce', '--list']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(60) == 1


def test_python_m_spkm_is_the_command():
    done = subprocess.run([sys.executable, "-m", "spkm", "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"spkm {spkm.__version__}\n" and done.returncode == 0
