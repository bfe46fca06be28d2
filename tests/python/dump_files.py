"""Reads the files of a dump for tests."""

import json
import os


class Dump:
    """The three files of one rank folder."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.header = self._load("dump.json")
        self.data = self.header.pop("data")
        self.stack = self._load("stack.json")
        self.construct = self._load("construct.json")

    def _load(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    def names(self, direction):
        return [name for name in self.data if name.endswith("." + direction)]

    @property
    def errors(self):
        path = os.path.join(self.folder, "dump_error_info.log")
        return open(path, encoding="utf-8").read() if os.path.exists(path) else ""
