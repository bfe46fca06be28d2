"""Recording the calls of one module."""

from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger


def module_dump(module, dump_name):
    """Until `module_dump_end`, records only calls of `module`, as `Module.{dump_name}.{Class}.forward.{n}`: not those inside it,
    and no others. Between `start` and `stop` of the debugger."""
    PrecisionDebugger._require_instance("module_dump")._collection.begin_module_dump(module, dump_name)


def module_dump_end():
    """Records as the debugger's level says again."""
    PrecisionDebugger._require_instance("module_dump_end")._collection.end_module_dump()
