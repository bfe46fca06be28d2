"""Log lines on standard output: `<time> (<pid>) [rank <r>] [<LEVEL>] <text>`, level by MSPROBE_LOG_LEVEL (0 debug .. 4 nothing)."""

import os
import re
import time

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LEVEL = os.environ.get("MSPROBE_LOG_LEVEL", "1")
_KNOWN = ("0", "1", "2", "3", "4")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]|%(?:08|0[abcd]|7f)", re.IGNORECASE)


def _threshold():
    return int(_LEVEL) if _LEVEL in _KNOWN else 1


class Logger:
    """Prints for one process; the debugger tells it the rank."""

    def __init__(self):
        self.rank = None
        self._told = set()
        self._threshold = _threshold()

    def _print(self, level, text):
        if level < self._threshold:
            return
        rank = "" if self.rank is None else " [rank %d]" % self.rank
        line = "%s (%d)%s [%s] %s" % (
            time.strftime("%Y-%m-%d %H:%M:%S"), os.getpid(), rank, _LEVELS[level], _CONTROL.sub("_", text))
        # A closed standard output, or one that the user has replaced, must not stop a training.
        try:
            print(line, flush=True)
        except UnicodeEncodeError:
            try:
                print(line.encode("ascii", "backslashreplace").decode("ascii"), flush=True)
            except Exception:
                pass
        except Exception:
            pass

    def debug(self, text):
        self._print(0, text)

    def info(self, text):
        self._print(1, text)

    def info_on_rank_0(self, text):
        if not self.rank:
            self._print(1, text)

    def warning(self, text):
        self._print(2, text)

    def warning_once(self, text):
        if text not in self._told and len(self._told) < 1000:
            self._told.add(text)
            self.warning(text)

    def info_once(self, text):
        if text not in self._told and len(self._told) < 1000:
            self._told.add(text)
            self.info_on_rank_0(text)

    def error(self, text):
        self._print(3, text)


logger = Logger()
if _LEVEL and _LEVEL not in _KNOWN:
    logger.warning("MSPROBE_LOG_LEVEL is %s and counts as 1; it must be 0 (debug), 1 (info), 2 (warning), 3 (error) or 4 (nothing)" %
                   _LEVEL)
