"""The table that `make bench` prints: one row for each figure, as Markdown that is also aligned for a terminal."""

import dataclasses
from typing import Optional


@dataclasses.dataclass
class Row:
    """A figure with its limit, and the reference tool's figure with the limit of the ratio, where there are such.

    A row has either a figure (the median of `samples`) or the reason why it could not be measured.
    """

    name: str
    unit: str
    figure: Optional[float] = None
    samples: tuple = ()
    reason: str = ""
    limit: Optional[float] = None
    more_is_better: bool = False  # a rate: `limit` is a lower bound
    reference: Optional[float] = None
    reference_reason: str = ""
    times_better_limit: Optional[float] = None  # how many times better than the reference it has to be

    @property
    def state(self):
        """ok, over (above an upper limit), under (below a lower one), or blank without a limit."""
        if self.figure is None or self.limit is None:
            return ""
        if self.more_is_better:
            return "ok" if self.figure >= self.limit else "under"
        return "ok" if self.figure <= self.limit else "over"

    @property
    def times_better(self):
        """Reference over ours for times, ours over the reference for rates; None where one side has no figure above 0."""
        if not self.figure or not self.reference or self.figure < 0 or self.reference < 0:
            return None
        return self.figure / self.reference if self.more_is_better else self.reference / self.figure

    @property
    def times_better_state(self):
        if self.times_better is None or self.times_better_limit is None:
            return ""
        return "ok" if self.times_better >= self.times_better_limit else "under"


def format_figure(value):
    """Three significant digits, and whole numbers in full."""
    if value is None:
        return ""
    magnitude = abs(value)
    decimals = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return "%.*f" % (decimals, value)


def _figure_cell(figure, reason):
    return "not measured" if figure is None and reason else format_figure(figure)


def _range_cell(samples):
    if len(samples) < 2:
        return ""
    return "%s to %s" % (format_figure(min(samples)), format_figure(max(samples)))


def _limit_cell(limit, is_lower_bound):
    return "" if limit is None else (">= " if is_lower_bound else "<= ") + "%g" % limit


def _remark(row):
    return "; ".join(text for text in (row.reason, row.reference_reason and "reference: " + row.reference_reason) if text)


def _cells(row, with_reference):
    cells = [row.name, _figure_cell(row.figure, row.reason), row.unit, _range_cell(row.samples),
             _limit_cell(row.limit, row.more_is_better), row.state]
    if with_reference:
        ratio = row.times_better
        has_limit = ratio is not None and row.times_better_limit is not None
        cells += [_figure_cell(row.reference, row.reference_reason), "" if ratio is None else format_figure(ratio) + "x",
                  ">= %gx" % row.times_better_limit if has_limit else "", row.times_better_state]
    return cells


def format_table(rows, with_reference=False):
    """`with_reference` adds the reference tool's figure, how many times better ours is, and the limit of that."""
    header = ["name", "figure", "unit", "range", "limit", ""]
    right = {1, 3, 4}
    if with_reference:
        header += ["reference", "times better", "limit", ""]
        right |= {6, 7, 8}
    lines = [header] + [_cells(row, with_reference) for row in rows]
    if any(_remark(row) for row in rows):
        for line, remark in zip(lines, ["remark"] + [_remark(row) for row in rows]):
            line.append(remark)
    lines = [[cell.replace("|", "/") for cell in line] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) if column in right else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        text.append("| " + " | ".join(cells) + " |")
    rule = ["-" * (width - 1) + ":" if column in right else "-" * width for column, width in enumerate(widths)]
    text.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(text)
