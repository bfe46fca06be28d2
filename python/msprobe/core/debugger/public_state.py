"""The attributes of a debugger that scripts read and assign."""

import os

from msprobe.core.debugger import arguments


class Config:
    """`debugger.config`, the same object as `debugger.service.config`. `dump_path` takes effect at the next `start`."""

    def __init__(self, session):
        self._session = session

    task = property(lambda self: self._session.task)
    level = property(lambda self: self._session.level)
    rank = property(lambda self: self._session.ranks)
    step = property(lambda self: self._session.steps)

    @property
    def dump_path(self):
        return self._session.dump_path

    @dump_path.setter
    def dump_path(self, path):
        self._session.dump_path = os.path.abspath(arguments.path_or_none("dump_path", path) or "")


class Service:
    """`debugger.service`."""

    def __init__(self, session, config):
        self._session = session
        self.config = config
        self.first_start = True

    current_iter = property(lambda self: self._session.step)
