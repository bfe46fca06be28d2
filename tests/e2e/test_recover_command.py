"""recover from outside: torn files of a dump, kernel dumps left over, what it must not touch, exit codes."""

import csv
import fcntl
import json
import os

import pytest
from conftest import make_dump

np = pytest.importorskip("numpy")

MARK = ".kernel_statistics"
CONVOLUTION = "Conv2D.Default_network-WithLossCell__backbone-Net_conv-Conv2d_Conv2D-op0.0.0."
INPUT = CONVOLUTION + "1796007277999374.input.0.DefaultFormat.Float32.npy"
OUTPUT = CONVOLUTION + "1796007277999647.output.0.DefaultFormat.Float32.npy"


@pytest.fixture
def recover(msprobe, tmp_path):
    def call(*arguments, code=0, **more):
        return msprobe("recover", *arguments, fake=False, check_code=code, **more)

    return call


def whole_text():
    return json.dumps(make_dump(["Torch.exp.0", "Torch.sin.1"]), indent=1)


def make_rank(path, torn=False):
    path.mkdir(parents=True)
    text = whole_text()
    (path / "dump.json").write_text(text[:text.index("Torch.sin.1") + 40] if torn else text)
    stack = json.dumps({"Torch.exp.0.forward": ["File a.py"], "Torch.sin.1.forward": ["File b.py"]})
    (path / "stack.json").write_text(stack[:-8] if torn else stack)
    return path


def make_kernel_dump(path, marked=True):
    for iteration in range(2):
        folder = path / "rank_0" / "Net" / "0" / str(iteration)
        folder.mkdir(parents=True)
        np.save(folder / INPUT, np.array([[4, -2], [2, 1]], dtype=np.float32))
        np.save(folder / OUTPUT, np.arange(1000, dtype=np.float16) / 8)
    if marked:
        (path / MARK).touch()
    return path / "rank_0" / "Net" / "0"


def snapshot(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("named", [".", "step0", "step0/rank0"])
def test_torn_files_become_valid(recover, tmp_path, named):
    dump = tmp_path / "dump"
    rank = make_rank(dump / "step0" / "rank0", torn=True)
    run = recover(dump / named)
    assert list(json.loads((rank / "dump.json").read_text())["data"]) == ["Torch.exp.0.forward"]
    assert json.loads((rank / "stack.json").read_text()) == {"Torch.exp.0.forward": ["File a.py"]}
    lines = run.stdout.splitlines()
    assert len(lines) == 3
    assert "dump.json: kept 1 complete record;" in lines[0] and "stack.json: kept 1 complete record;" in lines[1]
    assert "recovered 2 of 2 files" in lines[2]
    before = snapshot(dump)
    assert "nothing to recover: 2 files are whole" in recover(dump / named).stdout
    assert snapshot(dump) == before


def test_every_rank_of_every_step_also_of_an_earlier_run(recover, tmp_path):
    dump = tmp_path / "dump"
    names = ["step0/rank0", "step0/rank1", "step1/rank", "step1/rank0.20240101000000", "step2/rank0_p77"]
    ranks = [make_rank(dump / name, torn=True) for name in names]
    (ranks[0] / "debug.json").write_text('{"data": {"a.0.debug": 1, "b')
    (ranks[0] / "construct.json").write_text('{"Torch.exp.0.forward": null, "To')
    assert "recovered 12 of 12 files" in recover(dump).stdout
    for rank in ranks:
        for path in rank.iterdir():
            json.loads(path.read_text())
    assert json.loads((ranks[0] / "debug.json").read_text()) == {"data": {"a.0.debug": 1}}


def test_several_folders_and_a_link_that_the_user_names(recover, tmp_path):
    make_rank(tmp_path / "a" / "step0" / "rank", torn=True)
    make_rank(tmp_path / "b" / "step0" / "rank", torn=True)
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert "recovered 4 of 4 files" in recover(tmp_path / "a", tmp_path / "link").stdout


def test_links_inside_are_not_followed(recover, tmp_path):
    outside = make_rank(tmp_path / "outside" / "step0" / "rank", torn=True)
    dump = tmp_path / "dump"
    (dump / "step0").mkdir(parents=True)
    (dump / "step0" / "rank0").symlink_to(outside)
    (dump / "step1").symlink_to(outside.parent)
    rank = make_rank(dump / "step2" / "rank")
    (rank / "dump.json").unlink()
    (rank / "dump.json").symlink_to(outside / "dump.json")
    before = snapshot(tmp_path / "outside")
    run = recover(dump)
    assert "skipped" in run.stdout and "links are not followed" in run.stdout
    assert snapshot(tmp_path / "outside") == before


def test_a_folder_in_use_is_skipped(recover, tmp_path):
    dump = tmp_path / "dump"
    live = make_rank(dump / "step0" / "rank0", torn=True)
    make_rank(dump / "step0" / "rank1", torn=True)
    before = snapshot(live)
    lock = os.open(live, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = recover(dump)
    finally:
        os.close(lock)
    assert f"skipped {live}: the process that writes it is still running" in run.stdout
    assert "recovered 2 of 2 files, skipped 1" in run.stdout
    assert snapshot(live) == before
    assert "recovered 2 of 4 files" in recover(dump).stdout


def test_a_kernel_dump_left_over(recover, tmp_path):
    graph = make_kernel_dump(tmp_path / "dump")
    torn = OUTPUT.replace("output.0", "output.1")
    (graph / "1" / torn).write_bytes(b"\x93NUMPY\x01")
    run = recover(tmp_path / "dump")
    assert [sorted(path.name for path in (graph / name).iterdir()) for name in "01"] == [
        ["statistic.csv"], sorted([torn, "statistic.csv"])]
    with open(graph / "1" / "statistic.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["IO"] + row["Slot"] for row in rows] == ["input0", "output0", "output1"]
    assert rows[0]["Op Name"] == CONVOLUTION.split(".")[1] and rows[0]["Shape"] == "(2,2)"
    statistics = ["Max Value", "Min Value", "Avg Value", "L2Norm Value"]
    assert [rows[0][name] for name in statistics] == ["4", "-2", "1.25", "5"]
    values = np.arange(1000) / 8
    expected = [values.max(), values.min(), values.mean(), np.linalg.norm(values)]
    assert [float(rows[1][name]) for name in statistics] == pytest.approx(expected, rel=1e-15)
    assert [rows[2][name] for name in statistics] == [""] * 4
    assert "summarised 4 tensor files of a kernel dump in 2 folders" in run.stdout
    assert "1 tensor file kept without statistics" in run.stdout and torn in run.stdout
    before = snapshot(tmp_path / "dump")
    assert "nothing to recover" in recover(tmp_path / "dump").stdout
    assert snapshot(tmp_path / "dump") == before


def test_tensors_that_the_user_asked_for_stay(recover, tmp_path):
    make_kernel_dump(tmp_path / "dump", marked=False)
    before = snapshot(tmp_path / "dump")
    assert "nothing to recover" in recover(tmp_path / "dump").stdout
    assert snapshot(tmp_path / "dump") == before


def test_a_kernel_dump_in_use_is_skipped(recover, tmp_path):
    make_kernel_dump(tmp_path / "dump")
    before = snapshot(tmp_path / "dump")
    with open(tmp_path / "dump" / MARK) as mark:
        fcntl.flock(mark, fcntl.LOCK_SH)
        run = recover(tmp_path / "dump")
    assert "skipped" in run.stdout and "still running" in run.stdout
    assert snapshot(tmp_path / "dump") == before


def test_what_cannot_be_recovered_fails_and_the_rest_is_recovered(recover, tmp_path):
    dump = tmp_path / "dump"
    (make_rank(dump / "step0" / "rank0", torn=True) / "construct.json").write_text("garbage")
    (make_kernel_dump(dump) / "0" / "statistic.csv").write_text("foreign\n")
    run = recover(dump, code=1)
    assert len(run.error_lines()) == 2
    assert any("construct.json" in line for line in run.error_lines())
    assert any("statistic.csv" in line for line in run.error_lines())
    assert "recovered 2 of 3 files, summarised 2 tensor files of a kernel dump in 1 folder, 2 failures" in run.stdout
    assert (dump / "step0" / "rank0" / "construct.json").read_text() == "garbage"
    assert (dump / MARK).exists() and len(list(dump.glob("rank_0/Net/0/0/*.npy"))) == 2


def test_unusable_folders(recover, tmp_path):
    rank = make_rank(tmp_path / "dump" / "step0" / "rank", torn=True)
    before = snapshot(rank)
    for bad in (tmp_path / "none", rank / "dump.json", ""):
        run = recover(tmp_path / "dump", bad, code=1)
        assert len(run.error_lines()) == 1 and run.stdout == ""
    assert snapshot(rank) == before, "nothing is changed where an argument is wrong"
    (tmp_path / "empty").mkdir()
    assert "no file of a dump is there" in recover(tmp_path / "empty").stdout


@pytest.mark.parametrize("framework", [[], ["-f", "pytorch"], ["-f", "mindspore"]])
def test_frameworks_usage_and_help(msprobe, tmp_path, framework):
    make_rank(tmp_path / "dump" / "step0" / "rank")
    msprobe(*framework, "recover", tmp_path / "dump", fake=False, check_code=0)
    assert "DIR is missing" in msprobe(*framework, "recover", fake=False, check_code=2).stderr
    assert "unknown option" in msprobe(*framework, "recover", "--al", tmp_path, fake=False, check_code=2).stderr
    assert "unknown option '-DIR'" in msprobe(*framework, "recover", "-DIR", fake=False, check_code=2).stderr
    text = msprobe(*framework, "recover", "--help", fake=False, check_code=0).stdout
    assert text.startswith("usage: msprobe recover DIR [DIR ...]\n") and "statistic.csv" in text
    assert "recover" in msprobe("--help", fake=False, check_code=0).stdout
