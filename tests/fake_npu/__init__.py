"""A device named `npu` that computes on the CPU: `import fake_npu` registers it with torch (2.10 and newer).

Its memory cannot be read from the host: a tensor's data pointer is an address that is not there. `fake_npu.transfers` counts
what leaves the device; `fake_npu.faults` makes operators wrong, raise, crash or hang.
"""

from fake_npu import faults
from fake_npu.device import register, to_host
from fake_npu.transfers import transfers

__all__ = ["faults", "to_host", "transfers"]

register()
faults.inject_from_environment()
