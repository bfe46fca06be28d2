"""How the command line is read: argparse's conventions, help, usage errors."""

import pytest
from conftest import make_dump, write_dump

OPTIONS = ["-api_info", "-o", "-save_error_data", "-j", "-d", "-csv_path", "-f", "-config"]


def usage_error(run, *texts):
    """Exit code 2; usage and one error line on stderr, nothing on stdout."""
    lines = run.stderr.splitlines()
    assert run.code == 2, run.stdout + run.stderr
    assert len(lines) == 2 and lines[0].startswith("usage: msprobe"), run.stderr
    assert ": error: " in lines[1]
    for text in texts:
        assert text in lines[1], lines[1]
    assert run.stdout == ""


def test_without_arguments_it_explains_itself(msprobe):
    run = msprobe(fake=False)
    assert run.code == 0 and "run_ut" in run.stdout and "example" in run.stdout


@pytest.mark.parametrize("command", ["run_ut", "multi_run_ut", "acc_check", "multi_acc_check"])
@pytest.mark.parametrize("flag", ["-h", "--help", "--he"])
def test_help_of_a_command_teaches(msprobe, command, flag):
    run = msprobe("-f", "pytorch", command, flag, fake=False)
    assert run.code == 0 and run.stderr == ""
    for option in OPTIONS + (["-n"] if command.startswith("multi") else []):
        assert f"  {option}" in run.stdout
    assert "examples:" in run.stdout and "-csv_path ./accuracy_checking_result_" in run.stdout
    assert max(len(line) for line in run.stdout.splitlines()) <= 110


def test_version(msprobe):
    run = msprobe("--version", fake=False)
    assert run.code == 0 and run.stdout.startswith("msprobe ")


@pytest.mark.parametrize("words", [
    "-f pytorch run_ut -api_info DUMP -o OUT",
    "-f pytorch run_ut --api_info_file DUMP --out_path OUT",
    "-f=pytorch run_ut -api_info=DUMP -o=OUT",
    "--framework pytorch run_ut --api_info_file=DUMP --out_path=OUT",
    "--fr=pytorch run_ut -api DUMP --out OUT",
    "-fpytorch run_ut --api DUMP -oOUT",
    "run_ut -o OUT -api_info DUMP",
    "-api_info DUMP -o OUT -f pytorch run_ut",
    "-f pytorch -o OUT run_ut -api_info DUMP",
    "-f pytorch acc_check -api_info DUMP -o OUT",
    "multi_acc_check -api_info DUMP -o OUT -n4",
    "-f pytorch run_ut -api_info DUMP -jfoOUT",
    "-f pytorch run_ut -fj -api_info DUMP -o OUT",
    "-f pytorch run_ut -f --jit -api_info DUMP -o OUT --dev 0",
    "-f pytorch run_ut -api_info nowhere.json -api_info DUMP -o OUT",
    "-f pytorch multi_run_ut -d 0 -n 2 -api_info DUMP -o OUT",
    "-f pytorch multi_run_ut --num 2 --device 0 -api_info DUMP -o OUT",
    "-f pytorch run_ut -api_info DUMP -o OUT --timeout=5 --seed=1",
    "-f pytorch run_ut --api_info DUMP --o OUT -filter_api",
])
def test_spellings_that_work(msprobe, tmp_path, words):
    dump = write_dump(tmp_path, make_dump(["Torch.add.0", "Torch.add.1"]))
    out = tmp_path / "out"
    arguments = [word.replace("DUMP", str(dump)).replace("OUT", str(out)) for word in words.split()]
    run = msprobe(*arguments, check_code=0)
    rows = run.rows()
    filtered = any(flag in words for flag in (" -f ", "-jf", "-fj", "-filter_api")) and "run_ut -f" in words or (
        "-jf" in words or "-filter_api" in words)
    assert [row[1] for row in rows[1:]] == ["pass", "SKIP" if filtered else "pass"]


def test_a_path_named_like_a_command(msprobe, tmp_path):
    dump = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    run = msprobe("-f", "pytorch", "-o", "run_ut", "run_ut", "-api_info", dump, check_code=0)
    assert len(list((msprobe.work / "run_ut").glob("*.csv"))) == 2
    assert run.code == 0


def test_files_go_to_the_current_folder_by_default(msprobe, tmp_path):
    dump = write_dump(tmp_path, make_dump(["Torch.add.0"]))
    msprobe("-f", "pytorch", "run_ut", "-api_info", dump, check_code=0)
    assert len(list(msprobe.work.glob("accuracy_checking_*.csv"))) == 2


@pytest.mark.parametrize("words, texts", [
    ("-f pytorch run_ut", ["-api_info is missing"]),
    ("-f pytorch run_ut -api_info", ["-api_info needs a value"]),
    ("-f pytorch run_ut -api_info -o out", ["-api_info needs a value"]),
    ("-f pytorch run_ut -api_info x.json -c y", ["'-c' is ambiguous", "-csv_path", "-config"]),
    ("-f pytorch run_ut -api_info x.json --ouput_path y", ["--ouput_path", "did you mean '--out_path'?"]),
    ("-f pytorch run_ut -api_info x.json --save_eror_data", ["did you mean '-save_error_data'?"]),
    ("-f pytorch run_ut -api_info x.json -outpath y", ["unexpected argument 'y'", "-o with the value 'utpath'", "--out_path"]),
    ("-f pytorch run_ut -api_info x.json -filter", ["-f takes no value", "--filter_api"]),
    ("-f pytorch run_ut -api_info x.json y.json", ["unexpected argument 'y.json'"]),
    ("-f pytorch run_ut -api_info x.json -n 4", ["-n", "multi_run_ut"]),
    ("-f pytorch run_ut -api_info x.json --time 4", ["unknown option '--time'", "--timeout"]),
    ("-f pytorch run_ut -api_info x.json --on linear", ["unknown option '--on'"]),
    ("-f pytorch run_ut -api_info x.json -d", ["-d needs at least one value"]),
    ("-f pytorch run_ut -api_info x.json -d a", ["-d needs device numbers", "'a'"]),
    ("-f pytorch run_ut -api_info x.json -d -1", ["negative"]),
    ("-f pytorch run_ut -api_info x.json -d 0 1 0", ["device 0 twice"]),
    ("-f pytorch run_ut -api_info x.json -j=1", ["-j takes no value"]),
    ("-f pytorch run_ut -api_info x.json -jx", ["-j takes no value"]),
    ("-f pytorch multi_run_ut -api_info x.json -n 0", ["-n needs a number from 1 to 64", "'0'"]),
    ("-f pytorch multi_run_ut -api_info x.json -n 65", ["1 to 64"]),
    ("-f pytorch multi_run_ut -api_info x.json -n 4.5", ["1 to 64"]),
    ("-f pytorch run_ut -api_info x.json --seed -3", ["--seed"]),
    ("-f pytorch run_ut -api_info x.json --timeout 0", ["--timeout"]),
    ("-f pytorch run_ut -api_info x.json --timeout nan", ["--timeout"]),
    ("-f pytorch run_ut -api_info x.json --memory-limit 8Q", ["--memory-limit", "8G"]),
    ("-f pytorch run_ut -api_info x.json --fail-on never", ["--fail-on", "error, warning or skip"]),
    ("-f pytorch run_ut -api_info x.json --import os;x", ["--import"]),
    ("-f pytorch run_ut -api_info x.json --device-type a.b", ["--device-type"]),
    ("-f pytorch run_utt -api_info x.json", ["unknown command 'run_utt'", "did you mean 'run_ut'?"]),
    ("-f pytorch parse", ["'parse'", "not part of this tool"]),
    ("-f mindspore run_ut -api_info x.json", ["PyTorch only"]),
    ("-f mindspore multi_run_ut -api_info x.json", ["PyTorch only"]),
    ("-f tensorflow run_ut -api_info x.json", ["tensorflow", "pytorch or mindspore"]),
    ("-f run_ut -api_info x.json", ["-f needs the framework"]),
    ("-f pytorch", ["no command was given"]),
    ("run_ut -f pytorch -api_info x.json", ["'pytorch'", "before the command"]),
])
def test_usage_errors(msprobe, words, texts):
    run = msprobe(*words.split(), fake=False)
    usage_error(run, *texts)
    assert list(msprobe.work.iterdir()) == []


@pytest.mark.parametrize("option", ["-api_info", "-o", "-csv_path", "-config"])
def test_empty_values_are_usage_errors(msprobe, option):
    usage_error(msprobe("-f", "pytorch", "run_ut", "-api_info", "x.json", option, "", fake=False), "not empty")


def test_control_characters_of_arguments_are_not_printed(msprobe):
    run = msprobe("-f", "pytorch", "run_ut", "-api_info", "x\x1b[31m\n.json", fake=False)
    assert "\x1b" not in run.stderr and len(run.stderr.splitlines()) == 1
