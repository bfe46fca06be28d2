"""What is said about a step when it ends."""

import os
import time

from msprobe.core.common.log import logger

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size_text(count):
    """"1.5 MB"."""
    unit = 0
    while count >= 1000 and unit + 1 < len(_UNITS):
        count /= 1000
        unit += 1
    return "%.3g %s" % (count, _UNITS[unit])


class StepSummary:
    """Tells of each step that was collected; of filters once, and again at the end."""

    def __init__(self, session, errors, unlisted_functions):
        self._session = session
        self._unlisted_functions = unlisted_functions
        self._errors = errors
        self._unreached = 0
        self._seconds = 0.0
        self._types = {}
        self._told_filters = False
        self._told_lines = []

    def time(self, action):
        """Runs what counts as the tool's own time."""
        begin = time.perf_counter()
        try:
            return action()
        finally:
            self._seconds += time.perf_counter() - begin

    def tell_progress(self, folder):
        totals = self._session.totals
        there = totals["records"] - totals["lost"]
        if there > 0:
            logger.info_on_rank_0("%d records are in %s." % (there, os.path.join(folder, "dump.json")))
        if totals["lost"]:
            logger.warning("%d records wait for room on the disk of %s" % (totals["lost"], folder))

    def before_end(self):
        """While the step's folder is still known."""
        unreached = self._session.unreached_inputs - self._unreached
        self._unreached += unreached
        if unreached:
            self._errors.note("%d calls: the gradients of their inputs cannot be told from the graph and are null (calls in "
                              "place on views, autograd Functions of the user)" % unreached)

    def after_end(self, step):
        totals = self._session.totals
        seconds = self._session.take_seconds_inside() + self._seconds
        self._seconds = 0.0
        if totals["lost"]:
            logger.error("step %d: %d of %d records are lost, they could not be written; make room where dump_path is, or record less "
                         "with list, scope or step" % (step, totals["lost"], totals["records"] + totals["saved_values"]))
        parts = ["%d records" % (totals["records"] + totals["saved_values"] - totals["lost"])]
        if totals["saved_values"] and not totals["lost"]:
            parts[0] = "%d records" % totals["records"]
            parts.append("%d saved values" % totals["saved_values"])
        parts.append("%d tensors" % totals["tensors"])
        parts.append("%s of JSON" % size_text(totals["json_bytes"]))
        if totals["tensor_files"]:
            parts.append("%d tensor files of %s" % (totals["tensor_files"], size_text(totals["tensor_bytes"])))
        logger.info_on_rank_0("step %d: %s; %.2f s spent in the tool" % (step, ", ".join(parts), seconds))
        self._tell_types()
        self._tell_unlisted()
        if not totals["records"] + totals["saved_values"]:
            self._tell_empty()
        self.tell_filters()

    def at_end(self):
        if self._told_filters:
            for line in self._session.filter_report()[1]:
                if line not in self._told_lines:
                    logger.info_on_rank_0(line)

    def tell_filters(self):
        warnings, infos = self._session.filter_report()
        for line in warnings:
            logger.warning_once(line)
        if not self._told_filters:
            self._told_lines = infos
            for line in infos:
                logger.info_on_rank_0(line)
        self._told_filters = bool(infos)

    def _tell_types(self):
        new = {name: count for name, count in self._session.unsupported_types.items() if name not in self._types}
        self._types.update(new)
        if new:
            logger.warning("values of these types are null in the records: %s" % ", ".join(
                "%s (%d times)" % item for item in sorted(new.items())))

    def _tell_unlisted(self):
        names = self._unlisted_functions()
        if names:
            logger.info_on_rank_0("not in the support list and so not recorded (an overlay adds them): %s" % ", ".join(
                "%s (%d calls)" % item for item in names))

    def _tell_empty(self):
        if self._session.task == "overflow_check":
            logger.info_on_rank_0("no record of this step had a NaN or an infinity")
        elif not self._session.filter_report()[0]:
            what = {"L0": "no module inside the model (the model itself is no record: wrap it in another to see it)", "debug": "no save()"}.get(
                self._session.level, "no call of the support list")
            logger.warning_once("nothing was recorded: %s ran between start() and stop() on the thread that called start()" % what)
