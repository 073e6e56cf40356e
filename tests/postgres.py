"""A Postgres server of its own for tests, on a socket in a folder that it leaves."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path


def programs():
    """Folder of the server's programs, or None; root needs `runuser` to start it."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    usable = os.getuid() != 0 or shutil.which("runuser")
    known = [one for one in folders if (one / "pg_ctl").exists()]
    return known[0] if known and usable else None


@cache
def running():
    """Folder of the socket of a server that runs until this process ends."""
    folder, at = Path(tempfile.mkdtemp(prefix="pg")), programs()
    user = []
    if os.getuid() == 0:  # the server refuses root
        shutil.chown(folder, "nobody")
        user = ["runuser", "-u", "nobody", "--"]

    def call(program, *arguments):
        command = [*user, str(at / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    call("initdb", "-A", "trust", "-U", "test", "-E", "UTF8", "--no-sync")
    options = f"-k {folder} -c listen_addresses= -c fsync=off"
    call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")

    def stop():
        call("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return folder


def answer(script):
    """Lines that psql prints for a script; the first error ends it."""
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
    command += ["-h", str(running()), "-U", "test", "postgres"]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()
