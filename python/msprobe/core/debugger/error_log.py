"""Failures of the tool: one line on the log, and with the place in the script in dump_error_info.log of the rank folder."""

import os
import time
import traceback

from msprobe.core.common.log import logger

FILE_NAME = "dump_error_info.log"
_MOST_FRAMES = 12


class ErrorLog:
    """`folder()` is the rank folder, "" while there is none; frames of files under `tool_folder` are left out."""

    def __init__(self, folder, tool_folder):
        self._folder = folder
        self._tool_folder = tool_folder

    def error(self, text):
        logger.error(text)
        self.note(text, self._stack())

    def note(self, text, stack=()):
        """To the file alone."""
        folder = self._folder()
        if not folder:
            return
        try:
            with open(os.path.join(folder, FILE_NAME), "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("%s (%d) %s\n" % (time.strftime("%Y-%m-%d %H:%M:%S"), os.getpid(), text))
                file.writelines("    %s:%d in %s\n" % frame for frame in stack)
        except OSError:
            pass

    def _stack(self):
        """Where the script was, innermost first."""
        frames = [(f.filename, f.lineno, f.name) for f in traceback.StackSummary.extract(
            traceback.walk_stack(None), lookup_lines=False) if not f.filename.startswith(self._tool_folder)]
        return frames[:_MOST_FRAMES]
