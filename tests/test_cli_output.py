"""What the command says and writes."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder, save
from spkm.cli import CommandError, main
from spkm.cli import _output as output


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are POSIX's")
def test_colours_are_for_terminals_and_can_be_forbidden(tmp_path, capsys):
    import pty

    frame = pd.DataFrame({"a": np.arange(12.0)})
    model = make_pipeline(TableEncoder(), SPKMRegressor(1, weight_penalty="rkhs", random_state=0))
    save(model.fit(frame, frame["a"]), tmp_path / "m.spkm")
    frame.to_csv(tmp_path / "d.csv", index=False)
    words = ["explain", str(tmp_path / "m.spkm"), str(tmp_path / "d.csv"), "--row", "1"]
    assert main(words) == 0
    assert "sample 1\n" in capsys.readouterr().out
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    with redirect_stdout(Terminal()) as shown:
        assert main(words) == 0
    assert ("\x1b[1msample 1\x1b[0m" in shown.getvalue()) == wanted
    master, slave = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    subprocess.run([sys.executable, "-m", "spkm", *words], stdout=slave, env=environment, check=True, timeout=60)
    os.close(slave)
    found = os.read(master, 10_000).decode()
    os.close(master)
    assert "sample 1" in found and "\x1b" not in found


def test_progress_is_one_line_on_a_terminal_and_rare_lines_elsewhere():
    class Often(output.Progress):
        SECONDS = {True: 0.0, False: 0.0}

    with redirect_stderr(io.StringIO()) as quiet:
        output.Progress("work").tell("half")
    assert quiet.getvalue() == ""
    for stream, line in ((Terminal(), "\r\x1b[Kwork: half"), (io.StringIO(), "work: half")):
        with redirect_stderr(stream):
            Often("work").tell("half")
            assert stream.getvalue().startswith(line)
            output.say("done")
        assert stream.getvalue().endswith("done\n")


def test_a_file_is_there_whole_or_as_it_was(tmp_path):
    path = tmp_path / "out.json"
    output.write_json(str(path), {"a": 1})
    before = path.read_bytes()
    with pytest.raises(RuntimeError), output.replacing(str(path)) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(CommandError, match="cannot write") as caught, output.replacing(str(path)):
        raise OSError(28, "No space left on device")
    assert caught.value.exit_code == 1 and path.read_bytes() == before


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "plain").write_text("")
    output.write_json(str(tmp_path / "out.json"), [])
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_warnings_become_messages(capsys):
    import warnings

    with output.notes():
        warnings.warn("too few", UserWarning, stacklevel=1)
        warnings.warn("too few", UserWarning, stacklevel=1)
        warnings.warn("LBFGS stopped. Raise max_iter or tol.", UserWarning, stacklevel=1)  # there are no such options
    said = capsys.readouterr().err
    assert said == "note: too few\nnote: LBFGS stopped. The figures are those of the model as it then was.\n"


def test_results_become_json():
    assert output.plain([np.int64(3), np.array([np.inf, 1.0]), {"a": (True, None, "b")}]) == [
        3,
        [None, 1.0],
        {"a": [True, None, "b"]},
    ]


EVIL = "a\x1b[2J\x9b1m\u202e\x07"


def evil_model(folder):
    """Return the files of a model whose classes, columns and levels hold what terminals obey, and of samples."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{EVIL}": rng.standard_normal(60), "level": rng.choice([f"{EVIL}1", f"{EVIL}2"], 60)})
    y = np.where(frame.iloc[:, 0] > 0, EVIL, f"{EVIL}no")
    pipeline = make_pipeline(TableEncoder(), SPKMClassifier(2, tol=1e-2, random_state=0)).fit(frame, y)
    save(pipeline, folder / "evil.spkm", data=frame, metrics={f"note{EVIL}": EVIL})
    frame.assign(**{f"y{EVIL}": y}).to_csv(folder / "evil.csv", index=False)
    return str(folder / "evil.spkm"), str(folder / "evil.csv")


def test_terminals_obey_nothing_of_a_file(tmp_path, capsys):
    model, data = evil_model(tmp_path)
    commands = [
        ["inspect", model],
        ["inspect", model, "--json", "-"],
        ["explain", model, data, "--row", "0"],
        ["explain", model, data, "--row", "0", "--json", "-"],
        ["check", model, data],
        ["compare", model, model, "--data", data, "--target", f"y{EVIL}"],
        ["doctor", data],
        ["fit", data, "--target", f"y{EVIL}", "--vectors", "2"],
        ["fit", data, "--target", f"z{EVIL}"],
        ["predict", model, str(tmp_path / f"{EVIL}.csv"), "-o", str(tmp_path / "p.csv")],
    ]
    for words in commands:
        main(words)
        out, err = capsys.readouterr()
        assert not output.OBEYED.search((out + err).replace("\n", "")), words
        if words[-1] == "-":  # the names themselves are there
            found = json.loads(out)
            assert EVIL in (found["classes"] if words[0] == "inspect" else found["prediction"].values())
