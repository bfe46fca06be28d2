"""`python -m msprobe`: the native command of this environment."""

import os
import shutil
import sys


def main():
    beside = os.path.join(os.path.dirname(sys.executable), "msprobe")
    command = beside if os.access(beside, os.X_OK) else shutil.which("msprobe")
    if command is None:
        sys.exit("the command msprobe is not installed beside %s; reinstall msprobe-native" % sys.executable)
    os.execv(command, [command] + sys.argv[1:])


if __name__ == "__main__":
    main()
