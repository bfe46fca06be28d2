"""Interrupted runs: the journal, -csv_path, Ctrl-C, kill -9."""

import os
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import kill_group, make_dump, read_csv, write_dump

APIS = [f"Torch.add.{i}" for i in range(6)] + ["Distributed.all_reduce.0", "Torch.slow.0"] + [
    f"Tensor.mul.{i}" for i in range(6)]


@pytest.fixture
def dump(tmp_path):
    return write_dump(tmp_path, make_dump(APIS, backward=APIS[::2]))


@pytest.fixture
def whole(check, dump):
    """The bytes of an uninterrupted run."""
    run = check(dump, check_code=0)
    contents = run.path("result").read_bytes(), run.path("details").read_bytes()
    for path in run.out.iterdir():
        path.unlink()
    return contents


@pytest.fixture
def start(msprobe, tmp_path, dump):
    """Starts a run in the background, with time enough in Torch.slow.0 to interrupt it."""
    processes = []

    def call(*options, command="run_ut", slow=30, env=None):
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        process = subprocess.Popen(
            [msprobe.executable, "-f", "pytorch", command, "-api_info", str(dump), "-o", str(tmp_path / "out"), "--python",
             msprobe.fake_python, *options],
            cwd=msprobe.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "FAKE_LOG": str(log), "FAKE_SLOW": str(slow), **(env or {})})
        processes.append(process)
        process.log = log
        return process

    yield call
    for process in processes:
        kill_group(process)


def wait_for(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.01)


def wait_for_slow(process):
    wait_for(lambda: process.log.exists() and "Torch.slow.0" in process.log.read_text())


def result_csv(tmp_path):
    return next((tmp_path / "out").glob("accuracy_checking_result_*.csv"))


def details_csv(tmp_path):
    return next((tmp_path / "out").glob("accuracy_checking_details_*.csv"))


def journal(tmp_path):
    return pathlib.Path(str(result_csv(tmp_path)) + ".journal")


def running(pattern):
    """Process ids whose command line holds the text."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if pattern in text and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_files_that_can_be_continued(check, start, dump, whole, tmp_path, number, code):
    process = start()
    wait_for_slow(process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == code, stdout + stderr
    assert "-csv_path " + str(result_csv(tmp_path)) in stdout
    assert [row[0] for row in read_csv(result_csv(tmp_path))[1:]] == APIS[:7]
    log = tmp_path / "log2"
    run = check(dump, "-csv_path", result_csv(tmp_path), env={"FAKE_LOG": str(log)}, check_code=0)
    assert log.read_text().split() == APIS[7:]
    assert (run.path("result").read_bytes(), run.path("details").read_bytes()) == whole
    assert not journal(tmp_path).exists()


def test_two_signals_end_it_at_once(start, tmp_path):
    process = start()
    wait_for_slow(process)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130 and time.monotonic() - begin < 1.0 + 1.0


def test_no_process_stays_behind(start, tmp_path, msprobe):
    process = start("-n", "3", command="multi_run_ut")
    wait_for_slow(process)
    assert running(str(tmp_path)) != []
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    wait_for(lambda: running(f"{tmp_path}/fake_python") == [] and running(str(tmp_path)) == [])


def test_killed_and_continued_with_other_numbers_of_workers(check, start, dump, whole, tmp_path):
    process = start("-n", "3", command="multi_run_ut")
    wait_for_slow(process)
    wait_for(lambda: "Tensor.mul.5" in journal(tmp_path).read_text())
    process.kill()
    process.communicate(timeout=10)
    # What finished out of order is in the journal, not in the CSV, and is not run again.
    assert [row[0] for row in read_csv(result_csv(tmp_path))[1:]] == APIS[:7]
    log = tmp_path / "log2"
    run = check(dump, "-csv_path", result_csv(tmp_path), "-n", "2", command="multi_run_ut", env={"FAKE_LOG": str(log)},
                check_code=0)
    assert log.read_text().split() == ["Torch.slow.0"]
    assert (run.path("result").read_bytes(), run.path("details").read_bytes()) == whole
    assert "14 APIs: 13 pass, 0 warning, 0 error, 1 SKIP" in run.stdout


@pytest.mark.parametrize("cut", ["result", "details", "journal", "all", "empty", "header"])
def test_torn_files_are_repaired(check, start, dump, whole, tmp_path, cut):
    process = start()
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    for path in {"result": [result_csv(tmp_path)], "details": [details_csv(tmp_path)], "journal": [journal(tmp_path)],
                 "all": [result_csv(tmp_path), details_csv(tmp_path), journal(tmp_path)]}.get(cut, []):
        path.write_bytes(path.read_bytes()[:-9])
    if cut == "empty":
        result_csv(tmp_path).write_bytes(b"")
        details_csv(tmp_path).write_bytes(b"")
    if cut == "header":
        journal(tmp_path).write_bytes(journal(tmp_path).read_bytes()[:20])
    run = check(dump, "-csv_path", result_csv(tmp_path), check_code=0)
    assert (run.path("result").read_bytes(), run.path("details").read_bytes()) == whole


def test_killed_again_and_again(check, start, dump, whole, tmp_path):
    process = start("-n", "2", command="multi_run_ut", env={"FAKE_JITTER": "1"}, slow=0.5)
    for delay in (0.25, 0.3, 0.35, 0.4):
        # The journal takes the name before there is anything to go on with.
        wait_for(lambda: list((tmp_path / "out").glob("*_result_*.csv")) != [] or process.poll() is not None)
        time.sleep(delay - 0.2)
        process.kill()
        process.communicate(timeout=10)
        if not list((tmp_path / "out").glob("*.journal")):
            break
        process = start("-csv_path", str(result_csv(tmp_path)), "-n", "2", command="multi_run_ut", slow=0.5)
    process.kill()
    process.communicate()
    run = check(dump, "-csv_path", result_csv(tmp_path), check_code=0)
    assert (run.path("result").read_bytes(), run.path("details").read_bytes()) == whole


@pytest.mark.parametrize("options, difference", [
    (["--seed", "5"], "--seed was '1234', now it is '5'"),
    (["-f"], "-f was 'off', now it is 'on'"),
    (["-j"], "-j was 'off', now it is 'on'"),
    (["--only", "Torch.add"], "--only was not set, now it is 'Torch.add'"),
])
def test_other_settings_are_refused(check, start, dump, tmp_path, options, difference):
    process = start()
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    run = check(dump, "-csv_path", result_csv(tmp_path), *options, check_code=1)
    assert len(run.error_lines()) == 1 and difference in run.error_lines()[0]
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_another_device_or_dump_is_refused(check, start, dump, tmp_path):
    process = start()
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    run = check(dump, "-csv_path", result_csv(tmp_path), env={"FAKE_DEVICE": "npu"}, check_code=1)
    assert "its device was 'cpu', now it is 'npu'" in run.error_lines()[0]
    dump.write_text(dump.read_text().replace('"Max": 1.0', '"Max": 2.0', 1))
    run = check(dump, "-csv_path", result_csv(tmp_path), check_code=1)
    assert "the content of dump.json" in run.error_lines()[0]


def test_two_runs_cannot_write_the_same_files(check, start, dump, tmp_path):
    process = start()
    wait_for_slow(process)
    run = check(dump, "-csv_path", result_csv(tmp_path), check_code=1)
    assert "another run is writing" in run.error_lines()[0]


def test_a_finished_run_is_left_as_it_is(check, dump, tmp_path):
    run = check(dump, check_code=0)
    before = {path: path.read_bytes() for path in run.out.iterdir()}
    log = tmp_path / "log"
    run = check(dump, "-csv_path", run.path("result"), env={"FAKE_LOG": str(log)}, check_code=0)
    assert {path: path.read_bytes() for path in run.out.iterdir()} == before
    assert not log.exists()
    assert run.stdout.count("[WARNING]") == 1 and "no journal" in run.stdout


def test_rows_of_another_dump_are_not_mixed_in(check, dump, tmp_path):
    run = check(dump, check_code=0)
    before = {path: path.read_bytes() for path in run.out.iterdir()}
    run = check(make_dump(["Torch.other.0"]), "-csv_path", run.path("result"), check_code=1)
    assert len(run.error_lines()) == 1 and "this run does not check" in run.error_lines()[0]
    assert {path: path.read_bytes() for path in run.out.iterdir()} == before


def test_a_journal_that_is_a_link_is_not_followed(check, dump, tmp_path):
    run = check(dump, check_code=0)
    csv = run.path("result")
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / "out" / (csv.name + ".journal")).symlink_to(precious)
    run = check(dump, "-csv_path", csv, check_code=1)
    assert "is a symbolic link" in run.error_lines()[0] and precious.read_text() == "keep me"


def test_folders_may_be_called_anything(check, start, dump, whole, tmp_path):
    process = start("-o", str(tmp_path / "out" / "out.v1" / "result_dir"))
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    folder = tmp_path / "out" / "out.v1" / "result_dir"
    csv = next(folder.glob("accuracy_checking_result_*.csv"))
    check(dump, "-csv_path", csv, check_code=0)
    assert csv.read_bytes() == whole[0]


@pytest.mark.parametrize("name", ["accuracy_checking_result_2024.csv", "result.csv", "accuracy_checking_details_20240101000000.csv",
                                  "accuracy_checking_result_20240101000000.txt", "accuracy_checking_result_2024010100000x.csv"])
def test_renamed_files_are_refused(check, dump, tmp_path, name):
    (tmp_path / name).write_text("")
    run = check(dump, "-csv_path", tmp_path / name, check_code=1)
    assert len(run.error_lines()) == 1 and name in run.error_lines()[0]


def test_a_file_of_something_else_is_refused(check, dump, tmp_path):
    path = tmp_path / "accuracy_checking_result_20240101000000.csv"
    path.write_text("month,sales\r\nmay,3\r\n")
    run = check(dump, "-csv_path", path, check_code=1)
    assert "heading" in run.error_lines()[0]
    assert path.read_text() == "month,sales\r\nmay,3\r\n".replace("\r\n", "\n")


def test_missing_details_file_is_refused(check, dump, tmp_path):
    run = check(dump, check_code=0)
    run.path("details").unlink()
    csv = run.path("result")
    before = csv.read_bytes()
    run = check(dump, "-csv_path", csv, check_code=1)
    assert "accuracy_checking_details_" in run.error_lines()[0] and "missing" in run.error_lines()[0]
    assert csv.read_bytes() == before


REFERENCE_RESULT = (
    "\ufeffAPI name,Forward Test Success,Backward Test Success,Message\r\n"
    "Torch.add.0,pass,pass\r\n"
    'Torch.add.1,SKIP,SKIP,"two\nlines"\r\n'
    "Torch.add.2,Warning, \r\n")


def write_reference(check, dump, tmp_path, result=REFERENCE_RESULT, details_rows=4, details_tail=""):
    """CSVs as the reference leaves them when it is interrupted: no journal, three cells, capital W."""
    run = check(dump, check_code=0)
    lines = run.path("details").read_bytes().decode().split("\r\n")
    for path in run.out.iterdir():
        path.unlink()
    csv = tmp_path / "out" / "accuracy_checking_result_20240101000000.csv"
    csv.write_bytes(result.encode())
    details = tmp_path / "out" / "accuracy_checking_details_20240101000000.csv"
    header, body = lines[0], []
    for name, status in [("Torch.add.0.forward", "pass"), ("Torch.add.0.backward", "pass"), ("Torch.add.1.forward", "SKIP"),
                         ("Torch.add.2.forward", "Warning")][:details_rows]:
        body.append(f"{name}.output.0" + ", " * 20 + f",{status},text")
    details.write_bytes(("\r\n".join([header, *body]) + "\r\n" + details_tail).encode())
    return csv


def test_a_csv_of_the_reference_is_continued(check, dump, tmp_path):
    csv = write_reference(check, dump, tmp_path)
    log = tmp_path / "log"
    run = check(dump, "-csv_path", csv, env={"FAKE_LOG": str(log)}, check_code=0)
    assert log.read_text().split() == [name for name in APIS[3:] if not name.startswith("Distributed")]
    assert csv.read_bytes().startswith(REFERENCE_RESULT.encode())
    assert [row[0] for row in read_csv(csv)[1:]] == APIS
    assert run.stdout.count("no journal") == 1
    assert "1 warning, 0 error, 2 SKIP" in run.stdout


@pytest.mark.parametrize("result, rows, tail, again", [
    (REFERENCE_RESULT + "Torch.add.3,pa", 4, "", ["Torch.add.3"]),
    (REFERENCE_RESULT, 3, "", ["Torch.add.2"]),
    (REFERENCE_RESULT, 4, "Torch.add.2.forward.output.1,torch.fl", ["Torch.add.2"]),
    (REFERENCE_RESULT, 4, "Torch.ad", ["Torch.add.2"]),
    (REFERENCE_RESULT, 1, "", ["Torch.add.0", "Torch.add.1", "Torch.add.2"]),
])
def test_incomplete_rows_of_the_reference_are_run_again(check, dump, tmp_path, result, rows, tail, again):
    csv = write_reference(check, dump, tmp_path, result, rows, tail)
    log = tmp_path / "log"
    check(dump, "-csv_path", csv, env={"FAKE_LOG": str(log)}, check_code=0)
    ran = log.read_text().split()
    assert [name for name in ran if name in APIS[:3] or name in again] == again
    result_names = [row[0] for row in read_csv(csv)[1:]]
    assert sorted(result_names) == sorted(APIS)
    details = read_csv(details_csv(tmp_path))[1:]
    assert all(len(row) == 23 for row in details)
    assert len({row[0] for row in details}) == len(details)
    assert {row[0].rsplit(".", 3)[0] for row in details} == set(APIS)


def test_a_continued_csv_of_the_reference_can_be_interrupted_again(check, start, dump, tmp_path):
    csv = write_reference(check, dump, tmp_path)
    process = start("-csv_path", str(csv))
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    csv.write_bytes(csv.read_bytes()[:-3])
    run = check(dump, "-csv_path", csv, check_code=0)
    assert [row[0] for row in read_csv(csv)[1:]] == APIS
    assert "no journal" not in run.stdout
    details = read_csv(details_csv(tmp_path))[1:]
    assert len({row[0] for row in details}) == len(details)


@pytest.mark.parametrize("content", [b"", "\ufeffAPI name,Forward Test Success,Backward Test Success,Message\r\n".encode(),
                                     b"\xef\xbb\xbf", "\ufeffAPI na".encode()])
def test_a_file_without_rows_is_started_anew(check, dump, whole, tmp_path, content):
    csv = tmp_path / "out" / "accuracy_checking_result_20240101000000.csv"
    csv.write_bytes(content)
    (tmp_path / "out" / "accuracy_checking_details_20240101000000.csv").write_bytes(b"")
    run = check(dump, "-csv_path", csv, check_code=0)
    assert (run.path("result").read_bytes(), run.path("details").read_bytes()) == whole


def test_error_data_goes_to_the_folder_of_the_first_run(check, start, dump, tmp_path, msprobe):
    process = start("-save_error_data")
    wait_for_slow(process)
    process.kill()
    process.communicate(timeout=10)
    folders = sorted(path.name for path in msprobe.work.iterdir())
    stamp = result_csv(tmp_path).name[len("accuracy_checking_result_"):-4]
    assert folders == [f"ut_error_data{stamp}"]
    check(dump, "-csv_path", result_csv(tmp_path), "-save_error_data", check_code=0)
    assert sorted(path.name for path in msprobe.work.iterdir()) == folders
