"""The text of docs/collection.md."""

import statistics

from table import format_figure, format_table

OURS = "msprobe-native"
_NONE = "-"

_INTRODUCTION = """# Collection: what it records and what it costs

Written by `make bench-collection`; nothing here is written by hand. Names, counts and bits are the same in every run; times
and memory are not.
"""

_READING = """## How to read the tables

Each cell (model, level, task) is one process: plain training steps first, then the same steps recorded. The models are small
transformers models with random weights on the CPU (`tests/python/models.py`). Where three values stand in one place, they are
those of {tools}, in this order; `-`: that tool gave no result, for the reason below.

| column | meaning |
|---|---|
| same bits | the loss and all gradients of every recorded step equal those of the plain step bit for bit; else how many gradients differ |
| records | records in the dump.json of one step |
| missing | forward records of a differentiated call (of an API or a module) without a backward record; calls that hand an argument back unchanged have none |
| foreign | calls whose backward record holds a gradient of a shape that the call's own inputs and outputs do not have |
| plain ms | the step without the tool: forward and backward |
| step x | the recorded step, from before `start()` to after `step()`, files written, over the plain one of the same process |
| memory MB | the most memory that the process held, less that of a process which ran as many plain steps; loading the tool included |

Versions differ in what they take for an API: more records are more work, and more to look at.
"""

_LIMITS = """## Figures with a limit

API call: `torch.add` on 16x16 tensors that require gradients, 1,000 calls a step, L1 statistics; forward and backward records
together, files written. Llama step: forward, backward and AdamW. Each process measures the plain step, too.
"""


def _joined(results, tools, value):
    return " / ".join(_NONE if "error" in results[tool] else value(results[tool]) for tool in tools)


def _same_bits(result):
    if result["same_loss"] and not result["changed_gradients"]:
        return "yes"
    loss = "" if result["same_loss"] else "loss, "
    return "no (%s%d of %d)" % (loss, result["changed_gradients"], result["gradients"])


def _ratio(result):
    return result["dump_ms"] / result["plain_ms"]


def _markdown(header, lines, text_columns):
    lines = [header] + lines
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = ["| " + " | ".join(cell.ljust(width) if column < text_columns else cell.rjust(width)
                              for column, (cell, width) in enumerate(zip(line, widths))) + " |" for line in lines]
    rule = ["-" * width if column < text_columns else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    text.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(text)


def _table(tools, cells):
    lines = []
    for (model, level, task), results in cells.items():
        plain = [result["plain_ms"] for result in results.values() if "error" not in result]
        lines.append([
            model, level, task, _joined(results, tools, _same_bits),
            *(_joined(results, tools, lambda result, key=key: str(result[key])) for key in ("records", "missing", "foreign")),
            format_figure(plain[0]) if plain else _NONE,
            _joined(results, tools, lambda result: format_figure(_ratio(result))),
            _joined(results, tools, lambda result: "%.0f" % result["growth_mb"])])
    return _markdown(["model", "level", "task", "same bits", "records", "missing", "foreign", "plain ms", "step x",
                      "memory MB"], lines, 4)


def _summary(tools, cells):
    lines = []
    for tool in tools:
        results = [cell[tool] for cell in cells.values() if "error" not in cell[tool]]
        line = [tool, "%d of %d" % (len(results), len(cells))]
        if results:
            line += [str(sum(_same_bits(result) == "yes" for result in results)),
                     *(str(sum(result[key] for result in results)) for key in ("records", "missing", "foreign"))]
            for level in dict.fromkeys(level for _, level, _ in cells):
                ratios = [_ratio(cell[tool]) for (_, other, _), cell in cells.items()
                          if other == level and "error" not in cell[tool]]
                line.append(format_figure(statistics.median(ratios)) if ratios else _NONE)
            line.append("%.0f" % max(result["growth_mb"] for result in results))
        lines.append(line)
    levels = list(dict.fromkeys(level for _, level, _ in cells))
    header = ["tool", "cells measured", "same bits", "records", "missing", "foreign",
              *("step x, " + level for level in levels), "memory MB"]
    lines = [line + [_NONE] * (len(header) - len(line)) for line in lines]
    return _markdown(header, lines, 1)


def _reasons(tools, cells):
    """One line for each reason why cells are empty, with those cells."""
    where = {}
    for (model, level, task), results in cells.items():
        for tool in tools:
            if "error" in results[tool]:
                where.setdefault((tool, results[tool]["error"]), []).append("%s %s %s" % (model, level, task))
    return ["- %s, %s: %s" % (tool, "all cells" if len(places) == len(cells) else ", ".join(places), reason)
            for (tool, reason), places in where.items()]


def faults(cells):
    """One line for each cell of ours that is not as it has to be."""
    lines = []
    for cell, results in cells.items():
        result, name = results[OURS], " ".join(cell)
        if "error" in result:
            lines.append("%s: not measured: %s" % (name, result["error"]))
            continue
        if _same_bits(result) != "yes":
            lines.append("%s: same bits: %s" % (name, _same_bits(result)))
        for kind in ("missing", "foreign"):
            if result[kind]:
                lines.append("%s: %d %s: %s" % (name, result[kind], kind, ", ".join(result[kind + "_names"])))
    return lines


def page(tools, cells, rows, conditions):
    """`tools`: names, ours first; `cells`: of collection.measure_models; `rows`: with a limit; `conditions`: lines."""
    parts = [_INTRODUCTION, "\n".join("- " + line for line in conditions) + "\n"]
    if rows:
        parts += [_LIMITS, format_table(rows, len(tools) > 1) + "\n"]
    parts += ["## All cells together\n",
              "`step x`: the median over the cells of a level; `memory MB`: the largest; the rest: sums.\n",
              _summary(tools, cells) + "\n", _READING.format(tools=", ".join(tools)),
              "## Models, levels, tasks\n", _table(tools, cells) + "\n"]
    reasons = _reasons(tools, cells)
    if reasons:
        parts += ["Without a result:\n", "\n".join(reasons) + "\n"]
    wrong = faults({cell: results for cell, results in cells.items() if "error" not in results[OURS]})
    if wrong:
        parts += ["Not as it has to be:\n", "\n".join("- " + line for line in wrong) + "\n"]
    return "\n".join(parts)
