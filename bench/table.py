"""The table that `make bench` prints: one row for each figure, as Markdown that is also aligned for a terminal."""

import dataclasses
from typing import Optional


@dataclasses.dataclass
class Row:
    """A figure with its limit, and the reference tool's figure with the limit of the ratio, where there are such.

    A row has either a figure or the reason why it could not be measured.
    """

    name: str
    unit: str
    figure: Optional[float] = None
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


def _limit_cell(limit, is_lower_bound):
    return "" if limit is None else (">= " if is_lower_bound else "<= ") + "%g" % limit


def _cells(row, with_reference):
    figure = format_figure(row.figure) if row.figure is not None else "not measured: " + row.reason
    cells = [row.name, figure, row.unit, _limit_cell(row.limit, row.more_is_better), row.state]
    if with_reference:
        reference = format_figure(row.reference)
        if row.reference is None and row.reference_reason:
            reference = "not measured: " + row.reference_reason
        ratio = row.times_better
        cells += [reference, "" if ratio is None else format_figure(ratio) + "x",
                  "" if row.times_better_limit is None else ">= %gx" % row.times_better_limit, row.times_better_state]
    return [cell.replace("|", "/") for cell in cells]


def format_table(rows, with_reference=False):
    """`with_reference` adds the reference tool's figure, how many times better ours is, and the limit of that."""
    header = ["name", "figure", "unit", "limit", ""]
    right = {1, 3}
    if with_reference:
        header += ["reference", "times better", "limit", ""]
        right |= {5, 6, 7}
    lines = [header] + [_cells(row, with_reference) for row in rows]
    # A reason is longer than any figure: it may stand out of its column.
    fitting = lambda column: [line[column] for line in lines if not line[column].startswith("not measured")]
    widths = [max(len(cell) for cell in fitting(column)) for column in range(len(header))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) if column in right else cell.ljust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        text.append("| " + " | ".join(cells) + " |")
    rule = ["-" * (width - 1) + ":" if column in right else "-" * width for column, width in enumerate(widths)]
    text.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(text)
