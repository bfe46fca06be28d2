"""Compiled functions in PyNative mode (levels L1 and mix): each call is one record."""

from msprobe.core.common.log import logger
from msprobe.core.debugger.replaced_attribute import ReplacedAttribute
from msprobe.mindspore.compilation import first_attribute as _first


class JitHooks:
    def __init__(self, session):
        self._session = session
        self._indices = {}
        self._attributes = []
        call = _first(("mindspore.graph.api", "_JitExecutor", "__call__"), ("mindspore.common.api", "_JitExecutor", "__call__"),
                      ("mindspore.common.api", "_MindsporeFunctionExecutor", "__call__"))
        if call is not None:
            self._attributes.append(ReplacedAttribute(*call, self._recorded))
        capture = _first(("mindspore.graph._utils.pijit_context", "PIJitCaptureContext", "__enter__"),
                         ("mindspore.common._pijit_context", "PIJitCaptureContext", "__enter__"))
        if capture is not None:
            self._attributes += [ReplacedAttribute(*capture, self._capture_entered),
                                 ReplacedAttribute(capture[0], "__exit__", self._capture_left)]

    def install(self):
        for attribute in self._attributes:
            attribute.install()

    def remove(self):
        for attribute in reversed(self._attributes):
            attribute.remove()

    def _recorded(self, original):
        def __call__(executor, *args, **kwargs):
            if not self._session.takes_calls:
                return original(executor, *args, **kwargs)
            owner = getattr(executor, "obj", None)
            name = getattr(getattr(executor, "fn", None), "__name__", "function")
            if owner is not None and name == "construct":
                name = type(owner).__name__
            inputs = args[1:] if owner is not None else args
            if not inputs and not kwargs:
                logger.warning_once("Jit.%s is called without arguments and is not recorded" % name)
                return original(executor, *args, **kwargs)
            prefix = args[:1] if owner is not None else ()

            def call(*inputs, **kwargs):
                return original(executor, *prefix, *inputs, **kwargs)

            return self._session.record_call(self._index(name), call, inputs, kwargs)

        return __call__

    def _index(self, name):
        if name not in self._indices:
            self._indices[name] = self._session.register_api("Jit." + name)
        return self._indices[name]

    def _capture_entered(self, original):
        def __enter__(context):
            if not self._session.collecting:
                return original(context)
            logger.warning_once("byte code is not captured by mindspore.jit between start() and stop(): the calls inside are "
                                "recorded one by one")
            context._msprobe_uncaptured = getattr(context, "_msprobe_uncaptured", 0) + 1

        return __enter__

    def _capture_left(self, original):
        def __exit__(context, *error):
            if getattr(context, "_msprobe_uncaptured", 0):
                context._msprobe_uncaptured -= 1
                return None
            return original(context, *error)

        return __exit__
