"""Finds out where a model's numbers go wrong on an accelerator. Importing it loads no framework."""

import os as _os

__version__ = "0.1.0"


def _refuse_beside_the_other_distribution():
    """mindstudio-probe has the same import name: of two mixed packages neither works."""
    folder = _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))
    try:
        names = _os.listdir(folder)
    except OSError:
        return
    if any(name.lower().startswith(("mindstudio_probe-", "mindstudio-probe-")) for name in names):
        raise ImportError(
            "mindstudio-probe is installed in this environment and has the same import name; run "
            "'pip uninstall mindstudio-probe', then 'pip install --force-reinstall msprobe-native'")


_refuse_beside_the_other_distribution()
