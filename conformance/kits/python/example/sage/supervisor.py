"""A process that runs one command and kills everything that the command starts. Not to be imported: it is
started by `process`, which talks to it over a socket that is its stdin.

In comes a line: the command, its arguments, its environment, its folder. Out go two: the command's process group, then how it
ended, or why it was not started. When the command has ended, or when the socket is closed, all that is left of it is killed, also what has left its
process group or session: orphans fall to this process, which is their reaper.
"""

import ctypes
import json
import os
import select
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_DEFAULT_PATH = "/usr/bin:/bin"
_control = 0


def main() -> None:
    request = _read_request()
    reaps = _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.set_wakeup_fd(wakened)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    pid, trouble = _start(request)
    # Close the pipes, so that readers of the command's output do not wait for this process.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    status = None
    while status is None and not trouble:
        ready, _, _ = select.select([_control, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            status = _reap(pid)
        if _control in ready:
            break  # Nothing more is ever said to us: it was closed.
    _kill_all(pid, reaps)
    if trouble:
        _say({"errno": trouble})
    elif status is not None:
        code = os.waitstatus_to_exitcode(status)
        _say({"code": 128 - code if code < 0 else code})


def _read_request() -> dict[str, Any]:
    data = bytearray()
    while not data.endswith(b"\n"):
        chunk = os.read(_control, 65536)
        if not chunk:
            sys.exit(1)
        data += chunk
    request: dict[str, Any] = json.loads(data)
    return request


def _say(message: dict[str, Any]) -> None:
    try:
        os.write(_control, json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # Nobody listens any more.


def _prctl(option: int, argument: int) -> bool:
    """Without subreapers, only the command's process group can be killed."""
    try:
        return bool(ctypes.CDLL(None).prctl(option, argument, 0, 0, 0) == 0)
    except (AttributeError, OSError):
        return False


def _start(request: dict[str, Any]) -> tuple[int, int]:
    """The command's process id, and the errno of a failed start, or 0."""
    reader, writer = os.pipe()
    allowed, allow = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(allow)
        os.read(allowed, 1)
        os._exit(_become_command(request, writer))
    # Record what to kill before the command can do anything, such as killing this process.
    _say({"group": pid})
    os.close(allow)
    os.close(writer)
    trouble = os.read(reader, 16)
    os.close(reader)
    return pid, int(trouble or 0)


def _become_command(request: dict[str, Any], writer: int) -> int:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # Python ignores some, and that would be inherited.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(request["cwd"])
        _execute(request["command"], request["args"], request["env"])
    except OSError as error:
        os.write(writer, str(error.errno).encode())
    except ValueError:
        os.write(writer, b"22")  # EINVAL: a NUL in an argument, for one.
    return 127


def _execute(command: str, args: list[str], env: dict[str, str]) -> None:
    if "/" in command or not command:
        os.execve(command, [command, *args], env)
    trouble: OSError = FileNotFoundError(2, "not found")
    for folder in env.get("PATH", _DEFAULT_PATH).split(":"):
        try:
            os.execve(os.path.join(folder or ".", command), [command, *args], env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            trouble = error
    raise trouble


def _reap(pid: int) -> int | None:
    """Reaps all exited children, and returns the status of `pid` if it exited."""
    found = None
    try:
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                return found
            if ended == pid:
                found = status
    except ChildProcessError:
        return found


def _kill_all(pid: int, reaps: bool) -> None:
    _kill(os.killpg, pid)
    while reaps:
        for child in _children():
            _kill(os.kill, child)
        try:
            os.waitpid(-1, 0)  # Its own children become ours.
        except ChildProcessError:
            return


def _kill(how: Any, pid: int) -> None:
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


if __name__ == "__main__":
    main()
