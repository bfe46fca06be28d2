"""Functions that users want recorded beside the support list, of any module, class or object."""

from msprobe.core.debugger.replaced_attribute import ReplacedAttribute


class CustomApis:
    """All of a session. Replaced attributes are there from `install` to `remove` only."""

    def __init__(self, session):
        self._session = session
        self._attributes = {}  # (id of the owner, name) -> ReplacedAttribute, which keeps the owner
        self._installed = False

    def register(self, owner, name, prefix):
        self.restore(owner, name)
        index = self._session.register_api("%s.%s" % (prefix, name))
        attribute = self._attributes[id(owner), name] = ReplacedAttribute(
            owner, name, lambda original: self._session.make_recorded_function(index, original))
        if self._installed:
            attribute.install()

    def restore(self, owner, name):
        attribute = self._attributes.pop((id(owner), name), None)
        if attribute is not None:
            attribute.remove()

    def register_listed(self):
        """There is no list of them for MindSpore."""

    def install(self):
        self._installed = True
        for attribute in self._attributes.values():
            attribute.install()

    def remove(self):
        self._installed = False
        for attribute in reversed(list(self._attributes.values())):
            attribute.remove()
