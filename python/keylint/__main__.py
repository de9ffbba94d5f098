"""Runs the `keylint` executable that was installed with this package."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def folders():
    """Where installers put executables, the likeliest first."""
    yield sysconfig.get_path("scripts")
    # `pip install --user`.
    scheme = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    try:
        yield sysconfig.get_path("scripts", scheme=scheme)
    except KeyError:
        pass
    # `pip install --target` and isolated build environments: beside the package.
    package = Path(__file__).resolve().parent.parent
    yield str(package / "bin")
    yield str(package.parent.parent.parent / "bin")


def find():
    name = "keylint" + (sysconfig.get_config_var("EXE") or "")
    tried = [os.path.join(folder, name) for folder in folders() if folder]
    for path in tried:
        if os.path.isfile(path):
            return path
    sys.exit("error: the keylint executable was not found; it was looked for at\n  " + "\n  ".join(tried))


def main():
    command = [find(), *sys.argv[1:]]
    if os.name == "nt":
        # Windows has no exec that keeps the console.
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
