"""api_precision_compare from outside: options, finding the files, bad input, exit codes."""

import csv

import pytest
from conftest import read_csv

HEADER = ["API Name", "Bench Dtype", "DEVICE Dtype", "Shape", "余弦相似度", "最大绝对误差", "双百指标", "双千指标", "双万指标",
          "二进制一致错误率", "误差均衡性", "均方根误差", "小值域错误占比", "相对误差最大值", "相对误差平均值", "inf/nan错误率", "相对误差错误率",
          "绝对误差错误率", "ULP误差最大值", "ULP误差平均值", "ULP误差大于阈值占比", "Status", "Message"]


def row(name, rmse="0.1", status="pass"):
    cells = dict.fromkeys(HEADER, " ")
    cells.update({"API Name": name, "Bench Dtype": "torch.float64", "DEVICE Dtype": "torch.float32", "Shape": "(2, 3)",
                  "余弦相似度": "0.99999999999999", "最大绝对误差": "0.00000100000000", "误差均衡性": "0.1", "均方根误差": rmse,
                  "小值域错误占比": "0", "相对误差最大值": "0.1", "相对误差平均值": "0.1", "Status": status, "Message": "ok"})
    return [cells[column] for column in HEADER]


def write_details(folder, rows, device=None, stamp="20240101000000", header=HEADER):
    folder.mkdir(exist_ok=True)
    path = folder / f"accuracy_checking_details_{stamp}.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    if device:
        path.with_suffix(".device").write_text(device + "\n")
    return path


@pytest.fixture
def compare(msprobe, tmp_path):
    def call(*options, **more):
        return msprobe("-f", "pytorch", "api_precision_compare", *options, fake=False, **more)

    call.work = msprobe.work
    return call


@pytest.fixture
def pair(tmp_path):
    """Torch.exp.0 is as good as the GPU's, Torch.exp.1 three times as wrong."""
    return (write_details(tmp_path / "npu", [row("Torch.exp.0.forward.output.0"), row("Torch.exp.1.forward.output.0", "0.3")]),
            write_details(tmp_path / "gpu", [row("Torch.exp.0.forward.output.0"), row("Torch.exp.1.forward.output.0")]))


def results(folder):
    return read_csv(next(folder.glob("api_precision_compare_result_*.csv")))


@pytest.mark.parametrize("npu, gpu, out", [("-npu", "-gpu", "-o"), ("--npu_csv_path", "--gpu_csv_path", "--out_path"),
                                           ("--npu", "--gpu", "--out")])
def test_two_files_are_compared(compare, pair, tmp_path, npu, gpu, out):
    run = compare(npu, pair[0], gpu, pair[1], out, tmp_path / "out", check_code=0)
    assert results(run.out) == [["API Name", "Forward Test Success", "Backward Test Success", "Message"],
                                ["Torch.exp.0", "pass", " ", results(run.out)[1][3]],
                                ["Torch.exp.1", "error", " ", results(run.out)[2][3]]]
    assert len(list(run.out.glob("api_precision_compare_details_*.csv"))) == 1
    assert "2 APIs: 1 pass, 0 warning, 1 error, 0 SKIP" in run.stdout
    assert "in error: Torch.exp.1" in run.stdout


def test_fail_on(compare, pair, tmp_path):
    compare("-npu", pair[0], "-gpu", pair[1], "-o", tmp_path / "out", "--fail-on", "error", check_code=3)
    compare("-npu", pair[1], "-gpu", pair[1], "-o", tmp_path / "out", "--fail-on", "skip", check_code=0)


def test_files_are_found_by_the_device_beside_them(compare):
    write_details(compare.work, [row("Torch.exp.0.forward.output.0", "0.3")], "npu", "20240101000000")
    write_details(compare.work, [row("Torch.exp.0.forward.output.0")], "cuda", "20240101000001")
    run = compare(check_code=0)
    assert results(compare.work)[1][:2] == ["Torch.exp.0", "error"]
    assert "20240101000000.csv (device)" in run.stdout


@pytest.mark.parametrize("devices", [[], ["npu"], ["npu", "npu"], ["npu", None], ["npu", "cuda", "cuda"]])
def test_files_that_cannot_be_told_apart(compare, devices):
    for i, device in enumerate(devices):
        write_details(compare.work, [row("Torch.exp.0.forward.output.0")], device, f"2024010100000{i}")
    before = sorted(compare.work.iterdir())
    run = compare(check_code=2)
    assert len(run.stderr.splitlines()) == 2 and ": error: " in run.stderr
    assert sorted(compare.work.iterdir()) == before


@pytest.mark.parametrize("column", ["DEVICE Dtype", "均方根误差", "双千指标"])
def test_missing_column(compare, pair, tmp_path, column):
    header = [name for name in HEADER if name != column]
    keep = [i for i, name in enumerate(HEADER) if name != column]
    cells = row("Torch.exp.0.forward.output.0")
    bad = write_details(tmp_path / "bad", [[cells[i] for i in keep]], header=header)
    run = compare("-npu", bad, "-gpu", pair[1], "-o", tmp_path / "out", check_code=1)
    assert len(run.error_lines()) == 1
    assert column in run.error_lines()[0] and bad.name in run.error_lines()[0]
    assert run.files() == []


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00garbage", b"hello\n", b'"open quote\n'])
def test_a_file_that_is_no_details_file(compare, pair, tmp_path, content):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(content)
    run = compare("-npu", bad, "-gpu", pair[1], "-o", tmp_path / "out", check_code=1)
    assert len(run.error_lines()) == 1 and "bad.csv" in run.error_lines()[0]
    assert run.files() == []


def test_missing_file_and_unusable_output(compare, pair, tmp_path):
    run = compare("-npu", tmp_path / "none.csv", "-gpu", pair[1], check_code=1)
    assert "none.csv" in run.error_lines()[0]
    (tmp_path / "file").write_text("keep me")
    run = compare("-npu", pair[0], "-gpu", pair[1], "-o", tmp_path / "file" / "out", check_code=1)
    assert len(run.error_lines()) == 1
    assert (tmp_path / "file").read_text() == "keep me"


@pytest.mark.parametrize("words, text", [
    ("-npu", "-npu needs a value"),
    ("-npuu x.csv", "-npu"),
    ("--documented", "--documented-only"),
    ("-n x.csv -g y.csv", None),
])
def test_usage(compare, words, text):
    run = compare(*words.split())
    if text is None:  # prefixes of -npu and -gpu, as argparse has it
        assert run.code == 1 and "x.csv" in run.stderr
        return
    assert run.code == 2 and text in run.stderr


def test_mindspore_is_refused(msprobe):
    run = msprobe("-f", "mindspore", "api_precision_compare", "-npu", "x.csv", fake=False, check_code=2)
    assert "PyTorch only" in run.stderr
