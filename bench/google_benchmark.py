"""Figures of the C++ benchmarks (Google Benchmark, JSON output)."""

import glob
import json
import os

from processes import NotMeasured, run
from table import Row

_REPETITIONS = 3
KERNEL_LIMIT_GB_PER_SECOND = 10
JSON_LIMIT_MB_PER_SECOND = 200

_SIZES = {1 << 10: "1 KiB", 32 << 10: "32 KiB", 1 << 20: "1 MiB", 512 << 20: "512 MiB"}


def kernel_rows(build_folder):
    """Statistics of contiguous tensors, 32 KiB and more; smaller ones measure the call, not the kernel."""
    rows = []
    for name, rate in _rates(build_folder, "numerics_benchmark", "^Statistics/(float32|bfloat16|float16)/").items():
        _, dtype, size = name.split("/")
        if int(size) >= 32 << 10:
            label = "statistics of %s, %s" % (dtype, _SIZES.get(int(size), size + " bytes"))
            rows.append(Row(label, "GB/s", rate / 1e9, limit=KERNEL_LIMIT_GB_PER_SECOND, more_is_better=True))
    return rows


def json_rows(build_folder):
    """dump.json as text in memory (writing) and as a file of 80 MB (reading)."""
    labels = {"WriteJson": "JSON written", "Read/lines": "JSON read, a record a line",
              "Read/indented": "JSON read, indented"}
    rates = _rates(build_folder, "record_benchmark", "^(WriteJson|Read/.*)$")
    return [Row(labels.get(name, name), "MB/s", rate / 1e6, limit=JSON_LIMIT_MB_PER_SECOND, more_is_better=True)
            for name, rate in rates.items()]


def _rates(build_folder, program, pattern):
    found = [path for path in glob.glob(os.path.join(build_folder, "**", program), recursive=True) if os.path.isfile(path)]
    if not found:
        raise NotMeasured("no %s below %s; run `make build`" % (program, os.path.relpath(build_folder)))
    _, text = run([found[0], "--benchmark_filter=" + pattern, "--benchmark_format=json",
                   "--benchmark_repetitions=%d" % _REPETITIONS, "--benchmark_report_aggregates_only=true"])
    rates = medians(text)
    if not rates:
        raise NotMeasured("%s has no benchmark %s" % (program, pattern))
    return rates


def medians(text):
    """{benchmark: bytes per second of processor time}, the median of the repetitions, from Google Benchmark's JSON."""
    return {entry["run_name"]: entry["bytes_per_second"]
            for entry in json.loads(text)["benchmarks"] if entry.get("aggregate_name") == "median"}
