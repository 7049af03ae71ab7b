"""Opens files below the root of a workspace by untrusted paths, with locks between threads and processes."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from weakref import WeakValueDictionary

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe waits for its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FIRST_BLOCK = 4 * 1024
_LARGEST_BLOCK = 1024 * 1024
# The system's own limit. Python would be slow with a path of a million names.
_LONGEST_PATH = 4096


class OutsideError(Exception):
    """A symbolic link leads out of the workspace."""


class BusyError(Exception):
    """The lock was not released before the timeout."""

    def __init__(self, holder: str | None) -> None:
        super().__init__("the lock is held")
        self.holder = holder


def locate(root: str, relative: str) -> list[str]:
    """The path segments from `root` (which has no links) to a file, with every link resolved."""
    if len(os.fsencode(relative)) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    names = [name for name in relative.split("/") if name not in ("", ".")]
    path = root
    for name in names:
        path = f"{path}/{name}"
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return names
        if stat.S_ISLNK(status.st_mode):
            return _follow(root, names)
    return names


def _follow(root: str, names: list[str]) -> list[str]:
    below = os.path.relpath(os.path.realpath(os.path.join(root, *names)), root).split("/")
    if below[0] == "..":
        raise OutsideError
    return below


def open_beneath(root: str, names: list[str], flags: int) -> int:
    """Opens a regular file. With O_CREAT in `flags`, folders that are missing are made.

    Links were followed when the file was located; none is followed while it is opened, so one that is put there
    in between leads nowhere.
    """
    folder = open_folder_beneath(root, names[:-1], bool(flags & os.O_CREAT))
    try:
        file = _open_file(names[-1], folder, flags)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file")
    return file


def open_folder_beneath(root: str, names: list[str], create: bool) -> int:
    """Opens a folder in the same way."""
    folder = os.open(root, _FOLDER)
    for name in names:
        try:
            inner = _open_folder(name, folder, create)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _open_folder(name: str, parent: int, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, dir_fd=parent)
        os.fsync(parent)
    except FileExistsError:
        pass  # Another append was faster.
    return os.open(name, _FOLDER, dir_fd=parent)


def _open_file(name: str, parent: int, flags: int) -> int:
    try:
        return os.open(name, (flags & ~os.O_CREAT) | _FILE, dir_fd=parent)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    file = os.open(name, flags | _FILE, 0o666, dir_fd=parent)
    # Sync the folder too: a file is durable only if its name is.
    os.fsync(parent)
    return file


class _Gate:
    """Queues the threads of this process for a file, so that only one of them has it open and asks the
    system for its lock: hundreds may wait, and descriptors are few."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_gates: WeakValueDictionary[str, _Gate] = WeakValueDictionary()
_gates_lock = threading.Lock()


def gate(path: str) -> _Gate:
    with _gates_lock:
        found = _gates.get(path)
        if found is None:
            found = _gates[path] = _Gate()
        return found


class LockedFile:
    """A file that is locked against other appends. The lock ends with the process."""

    def __init__(self, root: str, relative: str, timeout_ms: float) -> None:
        deadline = time.monotonic() + timeout_ms / 1000
        names = locate(root, relative)
        path = os.path.join(root, *names)
        self._gate = gate(path)
        if not self._gate.lock.acquire(timeout=_patience(deadline)):
            raise BusyError(_holder(path))
        try:
            self.fd = _open_locked(root, names, deadline)
        except BaseException:
            self._gate.lock.release()
            raise

    def release(self) -> None:
        # Closing the only descriptor releases the lock.
        os.close(self.fd)
        self._gate.lock.release()

    def __enter__(self) -> LockedFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _open_locked(root: str, names: list[str], deadline: float) -> int:
    path = os.path.join(root, *names)
    while True:
        fd = open_beneath(root, names, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            _flock(fd, deadline)
            if _is_at(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        # The file was replaced during the wait.
        os.close(fd)


def _patience(deadline: float) -> float:
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _flock(fd: int, deadline: float) -> None:
    # flock has no timeout, so poll at short intervals: the first process to ask gets the lock.
    nap = 0.0005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left = _patience(deadline)
            if left == 0:
                raise BusyError(_holder(fd)) from None
            time.sleep(min(nap, left))
            nap = min(nap * 1.5, 0.005)


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _holder(file: int | str) -> str | None:
    """The process that holds a file's lock, if the system knows it."""
    try:
        status = os.stat(file)
        wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        with open("/proc/locks", encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5] == wanted:
                    return f"process {fields[4]}"
    except (OSError, ValueError):
        pass
    return None


def lines_backwards(fd: int) -> Iterator[bytes]:
    """The lines of a file, last one first, without their newlines. An empty first one means that the file ends
    with a newline."""
    end = os.fstat(fd).st_size
    size = _FIRST_BLOCK
    pieces: list[bytes] = []
    while end > 0:
        start = max(0, end - size)
        size = min(size * 2, _LARGEST_BLOCK)
        block = os.pread(fd, end - start, start)
        first, *later = block.split(b"\n")
        for line in reversed(later):
            yield b"".join([line, *reversed(pieces)])
            pieces.clear()
        pieces.append(first)
        end = start
    yield b"".join(reversed(pieces))


def write_whole(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def append_whole(fd: int, data: bytes) -> None:
    """Appends everything durably, or, as far as the system allows, nothing."""
    before = os.fstat(fd).st_size
    try:
        write_whole(fd, data)
        os.fdatasync(fd)
    except OSError:
        try:
            os.ftruncate(fd, before)
        except OSError:
            pass  # The next append ends the partial line, and readers ignore it.
        raise
