"""run_ut and multi_run_ut with fake workers: files, order, lists, misbehaving workers, exit codes."""

import json
import os
import pty
import re
import subprocess

import pytest
from conftest import RESULT_HEADER, backward_record, forward_record, make_dump, stamp_of, tensor, write_dump


def names(rows):
    return [row[0] for row in rows[1:]]


def test_rows_of_a_small_dump(check):
    run = check(make_dump(["Functional.linear.0", "Torch.linalg.norm.0", "Tensor.add.0"], backward=["Functional.linear.0"]),
                check_code=0)
    assert run.rows() == [
        RESULT_HEADER,
        ["Functional.linear.0", "pass", "pass", ""],
        ["Torch.linalg.norm.0", "pass", " ", ""],
        ["Tensor.add.0", "pass", " ", ""],
    ]
    details = run.rows("details")
    assert names(details) == ["Functional.linear.0.forward.output.0", "Functional.linear.0.backward.output.0",
                              "Functional.linear.0.backward.output.1", "Torch.linalg.norm.0.forward.output.0",
                              "Tensor.add.0.forward.output.0"]
    assert details[0][:4] == ["API Name", "Bench Dtype", "DEVICE Dtype", "Shape"]
    assert details[0][4:21] == ["余弦相似度", "最大绝对误差", "双百指标", "双千指标", "双万指标", "二进制一致错误率", "误差均衡性", "均方根误差",
                                "小值域错误占比", "相对误差最大值", "相对误差平均值", "inf/nan错误率", "相对误差错误率", "绝对误差错误率",
                                "ULP误差最大值", "ULP误差平均值", "ULP误差大于阈值占比"]
    assert details[0][21:] == ["Status", "Message"]
    assert all(len(row) == 23 for row in details)
    assert details[1][22] == "first line\nsecond line, with a comma\n"
    stamp = stamp_of(run.path("result"))
    assert run.files() == [f"accuracy_checking_details_{stamp}.csv", f"accuracy_checking_details_{stamp}.device",
                           f"accuracy_checking_result_{stamp}.csv"]
    assert (run.out / f"accuracy_checking_details_{stamp}.device").read_text() == "cpu\n"
    assert run.path("result").stat().st_mode & 0o777 == 0o640
    assert run.path("details").stat().st_mode & 0o777 == 0o640


def test_summary_names_files_counts_errors_and_the_cpu(check):
    run = check(make_dump([f"Torch.{api}.0" for api in ("add", "warning", "error", "skip", "fail_backward")]), check_code=0)
    assert str(run.path("result")) in run.stdout and str(run.path("details")) in run.stdout
    assert "5 APIs: 1 pass, 1 warning, 2 error, 1 SKIP" in run.stdout
    assert "in error: Torch.error.0, Torch.fail_backward.0" in run.stdout
    assert "the device under test is the CPU: this run shows nothing about an accelerator" in run.stdout


def test_an_accelerator_is_not_called_a_cpu(check):
    run = check(make_dump(["Torch.add.0"]), env={"FAKE_DEVICE": "npu"}, check_code=0)
    assert "shows nothing" not in run.stdout
    assert next(run.out.glob("*.device")).read_text() == "npu\n"


def test_log_lines_have_the_documented_form(check):
    run = check(make_dump(["Torch.add.0"]), check_code=0)
    for line in run.stdout.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) \[(INFO|WARNING)\] \S", line), line


def test_workers_and_their_order_do_not_change_a_byte(check, tmp_path):
    apis = [f"Torch.op{i % 7}.{i}" for i in range(60)] + ["Torch.slow.0"] + [f"Tensor.add.{i}" for i in range(60)]
    dump = make_dump(apis, backward=apis[::3])
    contents = []
    for options in (["run_ut"], ["multi_run_ut", "-n", "8"], ["multi_run_ut", "-n", "5"]):
        run = check(dump, *options[1:], command=options[0], env={"FAKE_JITTER": "1"}, check_code=0)
        contents.append((run.path("result").read_bytes(), run.path("details").read_bytes()))
        assert names(run.rows()) == apis
        for path in run.out.iterdir():
            path.unlink()
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.parametrize("api, reason", [
    ("crash", "killed by signal 11 (SIGSEGV)"),
    ("killed", "killed by signal 9 (SIGKILL), as the system does when memory runs out"),
    ("leaves", "exit code 7"),
    ("garbage", "something unexpected"),
    ("foreign", "answered for another API"),
    ("short", "23 cells"),
])
def test_a_worker_that_fails_costs_its_own_api(check, api, reason):
    apis = ["Torch.add.0", f"Torch.{api}.0", "Torch.add.1", f"Torch.{api}.1", "Torch.add.2"]
    run = check(make_dump(apis, backward=True), check_code=0)
    rows = {row[0]: row[1:] for row in run.rows()[1:]}
    assert list(rows) == apis
    for name in apis:
        if api in name:
            assert rows[name][:2] == ["error", "SKIP"] and reason in rows[name][2]
        else:
            assert rows[name] == ["pass", "pass", ""]
    details = {row[0]: row for row in run.rows("details")[1:]}
    assert details[f"Torch.{api}.0.forward.output.0"][21] == "error"
    assert reason in details[f"Torch.{api}.0.forward.output.0"][22]
    assert details[f"Torch.{api}.1.backward.output.0"][21] == "SKIP"


def test_a_worker_that_hangs_is_given_up(check):
    run = check(make_dump(["Torch.hang.0", "Torch.add.0", "Torch.hang.1"]), "--timeout", "0.5", check_code=0, timeout=30)
    rows = run.rows()[1:]
    assert [row[1] for row in rows] == ["error", "pass", "error"]
    assert rows[0][3] == "no result within 0.5 s (--timeout)"
    assert rows[0][2] == " "


def test_a_hanging_api_does_not_hold_back_the_others(check):
    apis = ["Torch.hang.0"] + [f"Torch.add.{i}" for i in range(40)]
    run = check(make_dump(apis), "--timeout", "1", "-n", "2", command="multi_run_ut", check_code=0, timeout=30)
    assert names(run.rows()) == apis


def test_a_worker_that_takes_too_much_memory_is_ended(check):
    run = check(make_dump(["Torch.add.0", "Torch.hungry.0", "Torch.add.1"]), "--memory-limit", "300M", check_code=0)
    rows = run.rows()[1:]
    assert [row[1] for row in rows] == ["pass", "error", "pass"]
    assert "--memory-limit" in rows[1][3] and "300.0 MiB" in rows[1][3]


def test_a_worker_that_leaves_between_cases_costs_none(check):
    apis = [f"Torch.{api}.{i}" for i in range(4) for api in ("add", "device_lost")] + ["Torch.add.9"]
    run = check(make_dump(apis), check_code=0)
    assert [row[1:] for row in run.rows()[1:]] == [
        ["error", " ", "the device failed"] if "lost" in name else ["pass", " ", ""] for name in apis]


def test_skip_rows_of_what_is_not_run(check, tmp_path):
    log = tmp_path / "log"
    apis = ["Distributed.all_reduce.0", "MindSpeed.x.0", "Torch.0", "Torch.add.0", "Functional.a.b.c.0", "Torch.mul.x"]
    run = check(make_dump(apis), env={"FAKE_LOG": str(log)}, check_code=0)
    assert log.read_text().split() == ["Torch.add.0", "Functional.a.b.c.0"]
    rows = {row[0]: row[1:] for row in run.rows()[1:]}
    assert list(rows) == apis
    for name in ("Distributed.all_reduce.0", "MindSpeed.x.0", "Torch.0", "Torch.mul.x"):
        assert rows[name][:2] == ["SKIP", "SKIP"] and rows[name][2] and "\n" not in rows[name][2]
    details = {row[0]: row for row in run.rows("details")[1:]}
    assert details["Torch.0.forward.output.0"][1:22] == [" "] * 20 + ["SKIP"]


def test_names_are_judged_by_their_ends(check):
    dump = make_dump(["Functional.multi_head_attention_forward.0"], backward=True)
    dump["data"].update({
        "Aten.log_sigmoid_forward.0.backward": backward_record(),
        "Module.layer.Linear.forward.0": forward_record(),
        "Module.layer.Linear.parameters_grad": forward_record(),
        "Tensor.ModuleList.0.forward": forward_record(),
    })
    run = check(dump, check_code=0)
    assert names(run.rows()) == ["Functional.multi_head_attention_forward.0", "Tensor.ModuleList.0"]
    assert run.rows()[1][2] == "pass"
    assert "1 backward record without a forward record" in run.stdout


def test_duplicate_names_count_once(check, tmp_path):
    text = json.dumps(make_dump(["Torch.add.0"]))
    record = json.dumps(forward_record(tensor((5, 5))))
    text = text[:-2] + f', "Torch.add.0.forward": {record}}}}}'
    path = tmp_path / "dump.json"
    path.write_text(text)
    run = check(path, check_code=0)
    assert names(run.rows()) == ["Torch.add.0"]
    assert "only the first of each name is checked" in run.stdout


def config(tmp_path, **section):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": "run_ut", "run_ut": section}))
    return path


def test_white_and_black_list(check, tmp_path):
    apis = ["Torch.add.0", "Torch.mul.0", "Functional.linear.0", "Tensor.add_.0"]
    run = check(make_dump(apis), "-config", config(tmp_path, black_list=["add"]), check_code=0)
    assert [row[1] for row in run.rows()[1:]] == ["SKIP", "pass", "pass", "pass"]
    assert "black_list" in run.rows()[1][3]
    for path in run.out.iterdir():
        path.unlink()
    run = check(make_dump(apis), "-config", config(tmp_path, white_list=["add", "mul"], black_list=["add"]), check_code=0)
    assert [row[1] for row in run.rows()[1:]] == ["SKIP", "pass", "SKIP", "SKIP"]
    assert "white_list" in run.rows()[3][3]


def test_an_unknown_name_in_a_list_ends_the_run(check, tmp_path):
    run = check(make_dump(["Torch.add.0"]), "-config", config(tmp_path, white_list=["lineer"]), check_code=1)
    assert len(run.error_lines()) == 1
    assert "lineer" in run.error_lines()[0] and "linear" in run.error_lines()[0]
    assert run.files() == []


def test_filter_keeps_the_first_of_equal_calls(check):
    def cat(first, second, **more):
        return forward_record([tensor(first, **more), tensor(second, **more)], dim={"type": "int", "value": 0})

    dump = make_dump([])
    dump["data"] = {
        "Torch.cat.0.forward": cat((2, 3), (4, 3)),
        "Torch.cat.1.forward": cat((2, 3), (4, 3), maximum=7.0, md5="8ba71454", data_name="x.pt"),
        "Torch.cat.2.forward": cat((2, 3), (5, 3)),
        "Torch.stack.0.forward": cat((2, 3), (4, 3)),
        "Torch.cat.3.forward": cat((2, 3), (4, 3)),
        "Torch.cat.4.forward": forward_record([tensor((2, 3)), tensor((4, 3))], dim={"type": "int", "value": 1}),
    }
    run = check(dump, "-f", check_code=0)
    assert [row[1] for row in run.rows()[1:]] == ["pass", "SKIP", "pass", "pass", "SKIP", "pass"]
    assert "Torch.cat.0" in run.rows()[2][3]


def test_only_chooses_cases(check):
    apis = ["Torch.add.0", "Torch.add.1", "Tensor.add.0", "Functional.linear.0"]
    run = check(make_dump(apis), "--only", "Torch.add", "Functional.linear.0.forward.output.0", check_code=0)
    assert names(run.rows()) == ["Torch.add.0", "Torch.add.1", "Functional.linear.0"]
    for path in run.out.iterdir():
        path.unlink()
    run = check(make_dump(apis), "--only", "add", "--only", "Functional.lineer.0", check_code=2)
    assert "Functional.lineer.0" in run.error_lines()[0] and "Functional.linear.0" in run.error_lines()[0]
    assert run.files() == []


@pytest.mark.parametrize("level, apis, code", [
    ("error", ["add", "warning", "skip"], 0),
    ("error", ["add", "error"], 3),
    ("warning", ["warning"], 3),
    ("warning", ["skip"], 0),
    ("skip", ["skip"], 3),
    ("skip", ["add"], 0),
])
def test_fail_on(check, level, apis, code):
    check(make_dump([f"Torch.{api}.0" for api in apis]), "--fail-on", level, check_code=code)


def test_settings_reach_the_workers(check, tmp_path):
    settings = tmp_path / "settings"
    (tmp_path / "errors").mkdir()
    overlays = [tmp_path / "configured.yaml", tmp_path / "environment.yaml"]
    for overlay in overlays:
        overlay.write_text("torch: [my_api]\n")
    configuration = config(tmp_path, error_data_path=str(tmp_path / "errors"), white_list=["my_api", "add"])
    configuration.write_text(json.dumps({**json.loads(configuration.read_text()), "support_list": str(overlays[0])}))
    run = check(make_dump(["Torch.add.0"], dump_data_dir="/recorded/elsewhere"), "-j", "-save_error_data", "-d", "1", "0",
                "-config", configuration, "--seed", "7", "--import", "one",
                "--device-type", "npu", "-n", "2", command="multi_run_ut", check_code=0,
                env={"FAKE_SETTINGS": str(settings), "FAKE_DEVICES": "2", "MSPROBE_IMPORT": "two, one",
                     "MSPROBE_SUPPORT_LIST": str(overlays[1])})
    seen = json.loads(settings.read_text())
    stamp = stamp_of(run.path("result"))
    assert seen.pop("support_list") == ""
    assert seen == {
        "type": "settings", "device_type": "npu", "device_ids": [1, 0], "imports": ["one", "two"], "jit_compile": True,
        "seed": 7, "precision": 14, "dump_dir": str(tmp_path), "dump_data_dir": "/recorded/elsewhere",
        "error_data_dir": str(tmp_path / "errors" / f"ut_error_data{stamp}"),
        "support_overlays": [str(path) for path in overlays],
    }
    folder = tmp_path / "errors" / f"ut_error_data{stamp}"
    assert folder.is_dir() and folder.stat().st_mode & 0o777 == 0o750


def test_nothing_is_overwritten_when_runs_follow_at_once(check, tmp_path):
    dump = make_dump(["Torch.add.0"])
    for _ in range(3):
        check(dump, check_code=0)
    assert len(list((tmp_path / "out").glob("accuracy_checking_result_*.csv"))) == 3


def test_runs_that_start_together_take_different_names(msprobe, tmp_path):
    path = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    command = [msprobe.executable, "run_ut", "-api_info", path, "-o", tmp_path / "out", "--python", msprobe.fake_python]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    assert len(list((tmp_path / "out").glob("accuracy_checking_result_*.csv"))) == 4
    assert not list((tmp_path / "out").glob("*.journal"))


def test_more_than_eight_workers_for_a_device(check):
    apis = [f"Torch.add.{i}" for i in range(30)]
    run = check(make_dump(apis), "-n", "20", command="multi_run_ut", check_code=0)
    assert "8 workers are used" in run.stdout


def test_empty_data_gives_headers_only(check):
    run = check(make_dump([]), check_code=0)
    assert run.rows() == [RESULT_HEADER]
    assert len(run.rows("details")) == 1
    assert run.stdout.count("[WARNING]") == 1


def test_modules_only_says_what_is_missing(check):
    dump = make_dump([], level="L0")
    dump["data"] = {"Module.layer.Linear.forward.0": forward_record()}
    run = check(dump, check_code=0)
    assert run.rows() == [RESULT_HEADER]
    assert "level L1 or mix" in run.stdout


def test_warnings_of_the_workers_are_shown(check):
    run = check(make_dump(["Torch.add.0"]), env={"FAKE_SPAWNER": "warns"}, check_code=0)
    assert "[WARNING] the fake device is slow" in run.stdout
    assert "a harmless line" in run.stderr


def test_progress_goes_to_stderr(check):
    run = check(make_dump(["Torch.add.0", "Torch.add.1"]), check_code=0)
    assert "2/2 100%" in run.stderr and "APIs/s" in run.stderr
    assert "2/2" not in run.stdout


def test_a_large_record_reaches_the_worker_whole(check, tmp_path):
    dump = make_dump(["Torch.add.0"])
    dump["data"]["Torch.add.0.forward"]["input_args"] = [tensor((i, i)) for i in range(30_000)]
    run = check(dump, check_code=0)
    assert [row[1] for row in run.rows()[1:]] == ["pass"]


def test_output_folder_with_unusual_characters(msprobe, tmp_path, fake_python):
    out = tmp_path / "résultats (1) @run=a,b"
    path = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    run = msprobe("-f", "pytorch", "run_ut", "-api_info", path, "-o", out, check_code=0)
    assert len(list(out.glob("*.csv"))) == 2
    assert os.path.basename(str(out)) in run.stdout


def test_on_a_terminal_the_bar_is_redrawn_in_place(msprobe, tmp_path):
    path = write_dump(tmp_path, make_dump(["Torch.add.0", "Torch.slow.0", "Torch.crash.0"]))
    ours, theirs = pty.openpty()
    process = subprocess.Popen([msprobe.executable, "-f", "pytorch", "run_ut", "-api_info", path, "-o", tmp_path / "out",
                                "--python", msprobe.fake_python], stderr=theirs, stdout=subprocess.DEVNULL, cwd=msprobe.work)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # the terminal's other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=30) == 0
    assert b"\r\x1b[K[....." in text and b"[##############################] 3/3 100%" in text
    assert text.count(b"\n") == 1 and text.endswith(b"\n")
