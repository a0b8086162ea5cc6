"""``spkm fit`` on real files, good and bad, as a process of its own."""

import gzip
import io

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score, roc_auc_score

from spkm import SPKMClassifier, SPKMRegressor, TableEncoder
from spkm.cli import CommandError, main
from spkm.cli._fitting import Settings, advice, fit_pipeline, select_columns
from spkm.cli._quality import measures_of_classes, measures_of_numbers, quality_of, shown
from spkm.cli._reading import Known, read_chunks, read_frame
from spkm.cli._samples import Samples, counters, number_texts, samples_of, split
from spkm.core.objective import Objective
from tests.cli_files import flowers, read_json, spkm
from tests.interrupting import interrupt_at

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

QUICK = ["--vectors", "3", "--drop", "size", "--id", "plant"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with one table in every format."""
    folder = tmp_path_factory.mktemp("files")
    frame = flowers()
    frame.to_csv(folder / "flowers.csv", index=False)
    frame.to_csv(folder / "flowers.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolons.csv.gz", index=False, sep=";")
    frame.to_parquet(folder / "flowers.parquet")
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_file(folder / "flowers.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=50)
    with pa.ipc.new_stream(folder / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    return folder


def test_a_file_becomes_a_table_of_quality_and_json(folder, tmp_path):
    done = spkm("fit", folder / "flowers.csv", "--target", "good", *QUICK, "--json", tmp_path / "result.json")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["spkm", "linear", "constant"]
    assert "\x1b" not in done.stdout + done.stderr  # no terminal: no colours
    assert "taken for classes" in done.stderr and "'light'" in done.stderr
    result = read_json(tmp_path / "result.json")
    assert result["task"] == "classes" and result["split"] == {"train": 96, "test": 24, "seed": 0, "by": None}
    assert result["columns_left_out"] == ["plant", "size"] and "soil = clay" in result["features"]
    assert set(result["quality"]) == {"spkm", "linear", "constant"}
    assert result["quality"]["spkm"]["AUC"]["value"] > result["quality"]["linear"]["AUC"]["value"]
    low, high = result["quality"]["spkm"]["accuracy"]["interval_95"]
    assert low < result["quality"]["spkm"]["accuracy"]["value"] <= high
    assert result["quality"]["spkm"]["log loss"]["interval_95"] == [None, None]  # 24 samples are too few for one
    assert lines[5].startswith("spkm - linear") and "too few" in lines[6]
    low, high = result["difference_from_linear"]["accuracy"]["interval_95"]
    assert low < result["difference_from_linear"]["accuracy"]["value"] < high
    assert (
        f"The model has {result['model']['n_basis']} basis vectors" in done.stdout
        and 0 < result["model"]["n_basis"] <= 3
    )
    assert result["model"]["columns_read"] == ["soil", "water", "light", "bed"]
    assert result["command"].startswith("spkm fit") and result["versions"]["spkm"]


@pytest.mark.parametrize(
    "name", ["flowers.tsv", "semicolons.csv.gz", "flowers.parquet", "flowers.arrow", "stream.arrow"]
)
def test_every_format_gives_the_same(folder, tmp_path, name, capsys):
    results = []
    for file in ("flowers.csv", name):
        assert main(["fit", str(folder / file), "--target", "good", *QUICK, "--json", str(tmp_path / "r.json")]) == 0
        results.append(read_json(tmp_path / "r.json"))
    assert results[0]["quality"] == results[1]["quality"] and results[0]["features"] == results[1]["features"]


def test_stdin_and_stdout(folder, capsys):
    assert main(["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK]) == 0
    from_file = capsys.readouterr().out
    for kind, name in (("csv", "flowers.csv"), ("arrow", "stream.arrow")):
        text = (folder / name).read_bytes()
        done = spkm("fit", "-", "--target", "good", *QUICK, "--format", kind, "--json", "-", stdin=text)
        result = pd.read_json(io.StringIO(done.stdout), typ="series")  # nothing but JSON is on stdout
        assert f"{result['quality']['spkm']['AUC']['value']:.3f}" in from_file


def test_npz(tmp_path, capsys):
    frame = flowers()
    np.savez(tmp_path / "a.npz", X=frame[["water", "bed"]].to_numpy(float), y=frame["size"].to_numpy())
    assert main(["fit", str(tmp_path / "a.npz"), "--target", "y", "--json", str(tmp_path / "r.json")]) == 0
    result = read_json(tmp_path / "r.json")
    assert result["task"] == "numbers" and result["quality"]["spkm"]["R2"]["value"] > 0.8
    assert result["features"] == ["x0", "x1"]


def test_at_most_so_many_columns_of_the_table(folder, tmp_path, capsys):
    words = ["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK[2:], "--features", "2"]
    assert main([*words, "--json", str(tmp_path / "r.json")]) == 0
    result = read_json(tmp_path / "r.json")
    assert len(result["model"]["columns_read"]) <= 2 and result["columns_selected"] == result["model"]["columns_read"]
    assert "selected" in capsys.readouterr().err


class SelectsNothing(BaseEstimator):
    """A search that finds no feature."""

    def __init__(self, selection=None, feature_groups=None, max_features=None):
        self.selection, self.feature_groups, self.max_features = selection, feature_groups, max_features

    def fit(self, X, y):
        self.selected_features_ = np.array([], dtype=int)
        return self


def test_no_column_is_worth_keeping():
    samples = samples_of(flowers(40), "good", ["plant"])
    encoder = TableEncoder().fit(samples.X)
    with pytest.raises(CommandError, match="Leave --features out"):
        select_columns(samples, encoder, encoder.transform(samples.X), SelectsNothing(), 1)


def text(frame):
    return frame.to_csv(index=False).encode()


def bad_files():
    """Yield a name, bytes, the words of the command, and what is said."""
    frame = flowers(40)
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    parquet = buffer.getvalue()
    good = ["--target", "good"]
    yield "no_target.csv", text(frame), ["--target", "goood"], "no column 'goood'"
    yield "no_header.csv", frame.to_csv(index=False, header=False).encode(), good, "must name the columns; "
    yield "one_class.csv", text(frame.assign(good="yes")), good, "'yes' in all samples"
    yield "truncated.parquet", parquet[: len(parquet) // 2], good, "cannot be read as PARQUET"
    yield "garbage.parquet", bytes(range(256)) * 20, good, "cannot be read as PARQUET"
    yield "garbage.csv", bytes(range(256)) * 20, good, ""
    yield "garbage.arrow", b"\x00\xff" * 300, good, "cannot be read as ARROW"
    yield "garbage.npz", b"\x00\xff" * 300, good, "cannot be read as NPZ"
    yield "empty.csv", b"", good, "is empty"
    yield "header.csv", b"soil,good\n", good, "holds no samples"
    yield "one_row.csv", text(frame[:1]), good, "at least 10 samples"
    yield "twice.csv", b"a,a,good\n" + b"1,2,x\n" * 20, good, "columns of the same name: 'a'"
    yield "gaps.csv", text(frame.assign(good=[None, "a", "b", "c"] * 10)), good, "--drop-missing-target"
    yield "alone.csv", text(frame.assign(good=["a"] * 39 + ["b"])), good, "a single sample"
    yield "ragged.csv", b"a,good\n" + b"1,x\n" * 10 + b"1,x,3\n", good, "has 3 cells and its header 2"
    yield "latin.csv", text(frame).replace(b"sand", b"s\xe4nd"), good, "must be text in UTF-8; it holds the byte 0xe4"
    yield "sheet.xlsx", b"PK\x03\x04", good, "is a spreadsheet: save the sheet as CSV UTF-8"
    yield "groups.csv", text(frame), [*good, "--group", "soil"], "have no value in --group 'soil'"
    yield "wider.csv", b"a,good\n" + b"1,x,3\n" * 10, good, "cannot be read as CSV"
    yield "dates.parquet", None, good, "'day' holds dates"
    yield "endless.csv", text(frame.assign(water=np.where(frame.index == 5, np.inf, 1))), good, "'water' holds infinity"
    huge = frame.assign(water=np.where(frame.index == 5, 1e200, frame["water"]))
    yield "huge.csv", text(huge), good, "'water' holds 1e+200, which is too large"
    endless = frame.assign(size=np.where(frame.index == 5, -np.inf, frame["size"]))
    yield "endless_target.csv", text(endless), ["--target", "size"], "'size' holds infinity"
    yield "utf16.csv", text(frame).decode().encode("utf-16"), good, "iconv -f utf-16"
    units = text(flowers(120).assign(size=[f"{k} kg" for k in range(120)]))
    yield "units.csv", units, ["--target", "size"], "It is text, such as '0 kg': numbers must be plain ones."
    yield "constant.csv", b"a,good\n" + b"1,x\n1,y\n" * 10, good, "not the same in all samples"
    yield "target_only.csv", b"good\n" + b"x\ny\n" * 10, good, "no column left"
    yield "text.csv", text(frame), [*good, "--task", "numbers"], "needs numbers in the target"
    yield "id.csv", text(frame), [*good, "--id", "nobody"], "no column 'nobody'"


BAD_FILES = list(bad_files())


@pytest.mark.parametrize(("name", "content", "words", "says"), BAD_FILES, ids=[case[0] for case in BAD_FILES])
def test_bad_files_end_with_a_message_and_nothing_written(name, content, words, says, tmp_path, capfd):
    file = tmp_path / name
    if content is None:
        flowers(40).assign(day=pd.Timestamp("2020-01-01")).to_parquet(file)
    else:
        file.write_bytes(content)
    outputs = ["--json", str(tmp_path / "out.json"), "--report", str(tmp_path / "out.html")]
    code = main(["fit", str(file), *words, *outputs])
    stdout, stderr = capfd.readouterr()
    assert code == 3, stderr
    assert stdout == "" and "Traceback" not in stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("spkm fit: ") and says in last
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["no_such_file.csv", "--target", "y"], 3, "there is no file 'no_such_file.csv'"),
        (["data.xyz", "--target", "y"], 2, "--format"),
        (["data.csv", "--target", "y", "--test-size", "1"], 2, "--test-size must be a share between 0 and 1"),
        (["data.csv", "--target", "y", "--features", "0"], 2, "--features must be at least 1"),
        (["data.csv", "--target", "y", "--seed", "-1"], 2, "--seed"),
        (["data.csv", "--target", "y", "--drop", "y"], 2, "--drop must not name the target; got 'y'"),
        (["data.csv", "--time", "t", "--event", "e", "--groups", "e"], 2, "--groups must not name the target; got 'e'"),
        (["data.csv", "--target", "y", "--json", "no/such/folder/out.json"], 2, "--json must be a file in a folder"),
        (["data.csv", "--target", "y", "--json", "data.csv"], 2, "--json must be a file of its own"),
        (["data.csv", "--target", "y", "--report", "page.txt"], 2, "--report must be a file whose name ends with"),
    ],
)
def test_bad_usage(words, code, says, capsys, tmp_path):
    assert main(["fit", *(word.replace("data.", f"{tmp_path}/data.") for word in words)]) == code
    assert list(tmp_path.iterdir()) == []
    assert says in capsys.readouterr().err


def test_without_pandas_the_extra_is_named(absent, capsys, folder):
    absent("pandas")
    assert main(["fit", str(folder / "flowers.csv"), "--target", "good"]) == 1
    assert "pip install 'spkm[cli]'" in capsys.readouterr().err


def test_the_task_is_recognised_and_can_be_told(capsys):
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60) % 5, "z": np.arange(60) / 7})
    assert samples_of(frame, "y", []).task == "classes"
    assert "--task numbers overrides that" in capsys.readouterr().err
    assert samples_of(frame, "y", [], task="numbers").y.dtype == np.float64
    assert samples_of(frame, "x", []).task == "numbers"  # 60 different values
    assert samples_of(frame, "z", []).task == "numbers"
    assert samples_of(frame.assign(y=frame.y > 2), "y", []).y.dtype == bool


def test_samples_without_a_target_can_be_left_out():
    frame = pd.DataFrame({"x": np.arange(40.0), "y": [None, "a", "b", "a"] * 10})
    samples = samples_of(frame, "y", [], drop_missing_target=True)
    assert len(samples.y) == len(samples.X) == 30


@pytest.mark.parametrize(
    "text, names",
    [
        ("h;i\n1.5\n2.5\n", ["h;i"]),
        ('"income, yearly, net";age\n1.5;3\n2.5;4\n', ["income, yearly, net", "age"]),
        ("a;b|c;d\n1;2;3\n3;4;5\n", ["a", "b|c", "d"]),
    ],
)
def test_a_separator_is_not_a_part_of_a_name(text, names, tmp_path):
    (tmp_path / "table.csv").write_text(text)
    (frame,) = read_chunks(str(tmp_path / "table.csv"), columns=names)
    assert list(frame) == names and len(frame) == 2 and not frame.isna().any(axis=None)


def test_decimal_commas_beside_semicolons(tmp_path):
    frame = flowers(30).assign(text="1,5 m", codes="1,5", gone=None)
    frame.to_csv(tmp_path / "commas.csv", index=False, sep=";", decimal=",")
    found = read_frame(str(tmp_path / "commas.csv"), known=Known(("codes",)))
    pd.testing.assert_frame_equal(found[["water", "light", "size"]], frame[["water", "light", "size"]])
    assert set(found["text"]) == {"1,5 m"} and set(found["codes"]) == {"1,5"} and found["gone"].isna().all()
    frame.to_csv(tmp_path / "quoted.csv", index=False)  # between commas such a cell may be of thousands: text
    assert set(read_frame(str(tmp_path / "quoted.csv"))["codes"]) == {"1,5"}
    frame.assign(people="1.234").to_csv(tmp_path / "mixed.csv", index=False, sep=";", decimal=",")
    with pytest.raises(CommandError, match="decimal commas in column 'water' and points in column 'people'") as caught:
        read_frame(str(tmp_path / "mixed.csv"))
    assert caught.value.exit_code == 3
    assert set(read_frame(str(tmp_path / "mixed.csv"), known=Known(("people",)))["people"]) == {"1.234"}


def test_a_column_that_counts_the_samples_is_told():
    frame = pd.DataFrame(
        {"a b": [3, 4, 5, 6], "steps": [1, 2, 4, 5], "real": [1.0, 2.0, 3.0, 4.0], "text": list("abcd")}
    )
    (note,) = counters(frame)
    assert note == "column 'a b' counts the samples. If it identifies them, leave it out by --id 'a b'."


def test_texts_that_look_like_numbers_are_told():
    frame = pd.DataFrame(
        {"people": ["1.234,5", "12,5"], "code": ["a1", "1,5"], "size": [1.5, 2.5], "day": "2024-01-01"}
    )
    (note,) = number_texts(frame)
    assert "'people'" in note and "'1.234,5'" in note


def test_groups_and_classes_are_split_as_they_should_be(capsys):
    frame = flowers(200)
    by_group = samples_of(frame, "good", [], group="bed")
    train, test = split(by_group, 0.25, 0)
    assert not set(by_group.groups[train]) & set(by_group.groups[test]) and "bed" not in by_group.X
    plain = samples_of(frame, "good", [])
    train, test = split(plain, 0.25, 0)
    assert sorted([*train, *test]) == list(range(200)) and len(test) == 50
    shares = [np.mean(plain.y[rows] == "yes") for rows in (train, test)]
    assert abs(shares[0] - shares[1]) < 0.02
    frame["good"] = np.where(np.arange(200) < 2, "rare", "common")
    rare = samples_of(frame, "good", [])
    for seed in range(3):
        train, test = split(rare, 0.2, seed)
        assert np.sum(rare.y[train] == "rare") == np.sum(rare.y[test] == "rare") == 1
        assert sorted([*train, *test]) == list(range(200))


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_groups_reach_the_folds_of_the_fit(task):
    rng = np.random.default_rng(0)
    bed = np.repeat(np.arange(12), 10)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"]).assign(bed=bed)
    score = frame["a"] + np.sin(2 * frame["b"]) + rng.normal(size=12)[bed]
    frame["y"] = np.where(score > 0, "yes", "no") if task == "classes" else score
    grouped = samples_of(frame, "y", [], group="bed")
    settings = Settings(0, parameters={"n_basis": 3})
    pipeline, _ = fit_pipeline(grouped, settings)
    estimator = SPKMClassifier if task == "classes" else SPKMRegressor
    direct = estimator(3, random_state=0).fit(pipeline[0].transform(grouped.X), grouped.y, groups=grouped.groups)
    np.testing.assert_array_equal(pipeline[-1].basis_vectors_, direct.basis_vectors_)
    one_bed = Samples(grouped.X, grouped.y, task, "", np.zeros(120))
    alone, _ = fit_pipeline(one_bed, settings)
    plain, _ = fit_pipeline(Samples(grouped.X, grouped.y, task, "", None), settings)
    np.testing.assert_array_equal(alone[-1].basis_vectors_, plain[-1].basis_vectors_)
    assert not np.array_equal(pipeline.predict(grouped.X), plain.predict(grouped.X))


def quality_of_classes(y, classes, probabilities, groups, seed):
    code = np.searchsorted(classes, y)
    return quality_of({name: measures_of_classes(code, p) for name, p in probabilities.items()}, len(y), groups, seed)


def quality_of_numbers(y, predictions, groups, seed):
    return quality_of({name: measures_of_numbers(y, p) for name, p in predictions.items()}, len(y), groups, seed)


def test_quality_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])
    y = rng.choice(classes, 150)
    p = rng.dirichlet(np.ones(3), 150)
    quality = quality_of_classes(y, classes, {"m": p}, None, 0)
    found = quality.values["m"]
    assert found["accuracy"] == accuracy_score(y, classes[p.argmax(axis=1)])
    assert found["AUC"] == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))
    assert found["log loss"] == pytest.approx(log_loss(y, p, labels=classes))
    two = quality_of_classes(y[y != "c"], classes[:2], {"m": (q := rng.dirichlet([1, 1], sum(y != "c")))}, None, 0)
    assert two.values["m"]["AUC"] == pytest.approx(roc_auc_score(y[y != "c"], q[:, 1]))
    numbers, guess = rng.normal(size=80), rng.normal(size=80)
    found = quality_of_numbers(numbers, {"m": guess}, None, 0).values["m"]
    assert found["R2"] == pytest.approx(r2_score(numbers, guess))
    assert found["MAE"] == pytest.approx(mean_absolute_error(numbers, guess))


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.9, 0.8256, 0.9448), "0.900 (0.826 to 0.945)"),
        ((-0.0031, -0.0714, 0.00002), "-0.0031 (-0.0714 to 0.0000)"),
        ((12345.6, 11000, 13000), "12,346 (11,000 to 13,000)"),
        ((0.5, np.nan, np.nan), "0.500"),
        ((0, 0, 0), "0.000 (0.000 to 0.000)"),
    ],
)
def test_a_figure_and_its_interval_have_the_same_digits(numbers, text):
    assert shown(*numbers) == text
    assert shown(*numbers, sign="+").startswith(("+", "-"))


def test_differences_are_taken_on_the_same_samples():
    y = np.random.default_rng(0).normal(size=300)
    for groups in (None, np.arange(300) // 5):
        quality = quality_of_numbers(y, {"a": y + 1, "b": y + 2}, groups, 0)
        for measure in ("MAE", "RMSE"):
            assert quality.difference("a", "b", measure) == pytest.approx((-1, -1, -1))
        at = quality.rows()[0].index("MAE")
        assert quality.rows()[1][at] == "1.00 (1.00 to 1.00)"


def test_intervals_of_few_samples_are_no_points():
    classes = np.array(["a", "b"])
    y, p = np.repeat(classes, 7), np.repeat([[0.9, 0.1], [0.2, 0.8]], 7, axis=0)
    quality = quality_of_classes(y, classes, {"m": p, "other": p, "constant": 0 * p + 0.5}, None, 0)
    assert quality.interval("m", "accuracy") == pytest.approx((0.785, 1.0), abs=1e-3)  # Wilson's of 14 of 14
    low, high = quality.interval("m", "AUC")
    assert low < 0.95 and high == 1.0 and quality.interval("constant", "AUC") == (0.5, 0.5)
    assert np.isnan(quality.interval("m", "log loss")).all() and "(" not in quality.rows()[1][3]
    difference, low, high = quality.difference("m", "other", "accuracy")
    assert difference == 0 and low < -0.05 and high > 0.05


def test_shares_of_groups_are_as_sure_as_their_groups():
    rng = np.random.default_rng(0)
    groups = np.arange(400) // 20
    whole = rng.random(20) < 0.7  # all samples of a group are right, or none
    classes = np.array([0, 1])

    def width(right, groups):
        p = np.where(right[:, None], [0.9, 0.1], [0.1, 0.9])
        y = np.zeros(len(p), dtype=int)
        low, high = quality_of_classes(y, classes, {"m": p}, groups, 0).interval("m", "accuracy")
        return high - low

    alone = width(whole, None)
    assert width(np.repeat(whole, 20), groups) == pytest.approx(alone, rel=0.1)
    assert width(np.repeat(whole, 20), None) < 0.4 * alone
    assert width(np.ones(400, dtype=bool), groups) == pytest.approx(width(np.ones(20, dtype=bool), None))
    free = rng.random(400) < 0.7
    assert width(free, groups) == pytest.approx(width(free, None), rel=0.5)


def test_ctrl_c_keeps_the_best_model_so_far(folder, tmp_path, capsys):
    words = ["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK, "--json", str(tmp_path / "r.json")]
    with interrupt_at(Objective.value_and_gradient, -1) as calls:  # never
        assert main(words) == 0
    with interrupt_at(Objective.value_and_gradient, len(calls) - 2):  # in the last descent
        assert main(words) == 130
    assert read_json(tmp_path / "r.json")["interrupted"] and "best model so far" in capsys.readouterr().err
    (tmp_path / "r.json").unlink()
    with interrupt_at(Objective.value_and_gradient, 1):  # before there is anything to keep
        assert main(words) == 130 or read_json(tmp_path / "r.json")["interrupted"]


def test_the_model_is_written_whole(folder, tmp_path, capsys):
    words = ["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK, "-o", str(tmp_path / "m.spkm")]
    assert main(words) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.spkm"] and "Written" in capsys.readouterr().out


def test_a_report_is_written(folder, tmp_path):
    words = ["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK, "--report", str(tmp_path / "r.html")]
    assert main(words) == 0
    assert (tmp_path / "r.html").exists()


def test_the_report_gets_what_it_needs(folder, tmp_path, capsys):
    words = ["fit", str(folder / "flowers.csv"), "--target", "good", *QUICK, "--title", "Flowers"]
    assert main([*words, "--report", str(tmp_path / "r.json"), "--privacy", "aggregate"]) == 0
    found = read_json(tmp_path / "r.json")
    assert found["title"] == "Flowers" and found["target"] == "good"
    assert found["samples"]["n"] == 24 and found["samples"]["n_train"] == 96
    assert found["samples"]["privacy"] == "aggregate" and found["rows"] is None
    assert "soil" in [column["name"] for column in found["columns"]]


def test_gz_that_is_none(tmp_path, capsys):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,y\n" * 50)[:20])
    assert main(["fit", str(tmp_path / "a.csv.gz"), "--target", "y"]) == 3
    assert "cannot be read as CSV" in capsys.readouterr().err


def test_many_levels_make_a_sparse_model(tmp_path, hasty, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 90, 1500).astype(str) for i in range(5)})
    frame = frame.assign(x=rng.normal(size=1500))
    frame["y"] = np.where(frame["x"] + (frame["c0"].str.len() > 1) > 0.5, "yes", "no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ["fit", str(tmp_path / "a.csv"), "--target", "y", "--vectors", "2", "--json", str(tmp_path / "r.json")]
    for column in ("c0", "c1", "c2", "c3", "c4"):
        words += ["--categorical", column]
    for more in ([], ["--features", "1"]):
        assert main([*words, *more]) == 0
        result = read_json(tmp_path / "r.json")
        assert result["quality"]["spkm"]["AUC"]["value"] > 0.7
        assert result["features"][-1] == "x" and len(result["features"]) > 300 - 300 * bool(more)
    assert result["model"]["columns_read"] == ["x"]


def test_names_of_columns_may_hold_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_text('"first\nline",b,"c ""d"""\n1,2,3\n4,5,6\n')
    assert read_frame(str(tmp_path / "a.csv")).to_dict("list") == {"first\nline": [1, 4], "b": [2, 5], 'c "d"': [3, 6]}
    (tmp_path / "b.csv").write_text('a,"b\n1,2\n3,4\n')
    with pytest.raises(CommandError, match="a quote in its header that does not end"):
        read_frame(str(tmp_path / "b.csv"))
    (tmp_path / "c.csv").write_text('"a\nb",c\n1,2\n1,2,3,4\n')
    with pytest.raises(CommandError, match="line 4"):
        read_frame(str(tmp_path / "c.csv"))


def test_a_model_worse_than_simple_ones_comes_with_a_warning():
    samples = samples_of(flowers(120), "good", ["plant", "size"])
    labels = np.array(["no", "yes"])
    sure, even = np.where(samples.y[:, None] == labels, 0.9, 0.1), np.full((120, 2), 0.5)
    for ours, linear, told in ((sure, even, []), (even, even, ["constant"]), (1 - sure, sure, ["constant", "linear"])):
        p = {"spkm": ours, "linear": linear, "constant": even}
        found = advice(quality_of_classes(samples.y, labels, p, None, 0), samples, Settings(0))
        assert [
            word for word in ("constant", "linear") if any(f"worse than a {word}" in text for text in found)
        ] == told
        assert not found or (found[-1].startswith("To try: ") and "--groups" in found[-1])
        few = advice(
            quality_of_classes(samples.y, labels, p, None, 0),
            samples,
            Settings(0, n_features=3, parameters={"n_basis": 2}),
        )
        assert not few or ("leave out --features and --vectors" in few[-1] and "--features 5" not in few[-1])
