"""File access for tools: never outside the workspace, and never to files of chronicles."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import detail, io_error, validation_error
from .files import OutsideError, gate, locate, open_beneath, open_folder_beneath, write_whole
from .tools import permission_error

MAX_BYTES = 16 * 1024 * 1024
_LONGEST_NAME = 255


class Workspace:
    """The files of one workspace. Its methods block on the disk, and raise typed errors."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)

    def read(self, file: str) -> bytes:
        with _told("read", file):
            return _read_regular(self._root, self._names(file))

    @contextmanager
    def change(self, file: str) -> Iterator[Change]:
        """A file to change, locked against other changes in this process."""
        with _told("write", file):
            _refuse_protected(file, file.split("/"))
            names = self._names(file)
            _refuse_protected(file, names)  # Where links led.
            queue = gate(os.path.join(self._root, *names))
            with queue.lock:
                yield Change(self._root, names)

    def _names(self, file: str) -> list[str]:
        if not file or "\0" in file or any("\ud800" <= char <= "\udfff" for char in file):
            raise validation_error("no file has such a name", detail("file", "is no name that a file may have"))
        if file.startswith("/") or ".." in file.split("/"):
            raise OutsideError
        names = locate(self._root, file)
        if not names or file.endswith("/"):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return names


class Change:
    """A file during a change, which is atomic."""

    def __init__(self, root: str, names: list[str]) -> None:
        self._root = root
        self._folder = names[:-1]
        self._name = names[-1]

    def read(self) -> bytes:
        return _read_regular(self._root, [*self._folder, self._name])

    def exists(self) -> bool:
        with self._opened_folder(create=False) as folder:
            return folder is not None and self._status(folder) is not None

    def check(self) -> None:
        """Raises the errors of `replace` that can be predicted. Changes nothing."""
        for name in (*self._folder, self._name):
            if len(os.fsencode(name)) > _LONGEST_NAME:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        with self._opened_folder(create=False) as folder:
            if folder is not None:
                self._status(folder)

    def replace(self, data: bytes) -> None:
        """Replaces the whole file. A concurrent reader sees the old or the new one."""
        self.check()
        with self._opened_folder(create=True) as folder:
            assert folder is not None
            status = self._status(folder)
            temporary = f".{secrets.token_hex(8)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o666, dir_fd=folder)
            try:
                try:
                    if status is not None:
                        os.fchmod(fd, stat.S_IMODE(status.st_mode))
                    write_whole(fd, data)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                os.rename(temporary, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)

    def remove(self) -> None:
        with self._opened_folder(create=False) as folder:
            if folder is None or self._status(folder) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            os.unlink(self._name, dir_fd=folder)
            os.fsync(folder)

    @contextmanager
    def _opened_folder(self, create: bool) -> Iterator[int | None]:
        try:
            folder = open_folder_beneath(self._root, self._folder, create)
        except FileNotFoundError:
            if create:
                raise
            yield None
            return
        try:
            yield folder
        finally:
            os.close(folder)

    def _status(self, folder: int) -> os.stat_result | None:
        try:
            status = os.stat(self._name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return status


def _read_regular(root: str, names: list[str]) -> bytes:
    fd = open_beneath(root, names, os.O_RDONLY)
    with open(fd, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_BYTES} bytes")
    return data


@contextmanager
def _told(operation: str, file: str) -> Iterator[None]:
    """Converts errors to the taxonomy, with the path as given."""
    try:
        yield
    except OutsideError:
        raise permission_error(file, operation, "paths stay within the workspace") from None
    except OSError as error:
        raise io_error(operation, file, error) from error


def _refuse_protected(file: str, names: list[str]) -> None:
    if any(map(is_protected, names)):
        raise permission_error(file, "write", "`.sage` is kept by chronicles alone")


# Characters that some file systems or displays ignore. Not all are in the Unicode category for that.
_IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {chr(code) for code in (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10))}


def is_protected(name: str) -> bool:
    """Whether some file system would treat this name as `.sage`, ignoring case, width or invisible characters."""
    for _ in range(2):
        name = "".join(char for char in name if char not in _IGNORABLE and unicodedata.category(char) != "Cf")
        name = unicodedata.normalize("NFKC", name).casefold()
    return name.rstrip(". ") == ".sage"
