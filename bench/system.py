"""What the figures were measured on."""

import importlib.metadata
import os
import platform
import subprocess
import time

from processes import ROOT


def lines():
    """Two lines for a note: versions, machine with its load at this moment."""
    versions = ["msprobe-native %s%s" % (_version("msprobe-native"), _commit()), "Python " + platform.python_version()]
    versions += ["%s %s" % (name, _version(name)) for name in ("torch", "transformers")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    machine = "%s, %d cores, load %.1f, %s" % (_processor(), cores, load, time.strftime("%Y-%m-%d %H:%M"))
    if load > cores / 4:
        machine += " (other work was running: figures are too high)"
    return [", ".join(versions), machine]


def file_system(path):
    """Type of the file system that a folder is on, such as ext4 or tmpfs; "unknown" where the system does not say."""
    path, best = os.path.realpath(path), ("", "unknown")
    try:
        with open("/proc/mounts", encoding="utf-8") as file:
            for line in file:
                _, point, kind = line.split()[:3]
                if (path + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
                    best = (point, kind)
    except OSError:
        pass
    return best[1]


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _commit():
    try:
        text = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        text = ""
    return " (%s)" % text if text else ""


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()
