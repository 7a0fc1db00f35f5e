"""Shards: which files there are, what they hold (by content, not by name), and how a remote one is brought here."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    CannotWrite,
    DuplicateKey,
    InputError,
    MissingExtra,
    MissingFile,
    MissingPackage,
    UnreadableFile,
    Unsupported,
    WriteError,
)
from steelyard.core.opening import open_regular
from steelyard.core.records import Array
from steelyard.io.container import is_whole, read_facts, write_container
from steelyard.io.parts import scratch, sweep
from steelyard.version import __version__

PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "abfs": "adlfs",
    "az": "adlfs",
}
NAME = "file name"  # the fact under which a state holds its own name
Pattern = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def find_shards(pattern: Pattern, side: str) -> list[str]:
    """The files that a pattern names, in the order of their names; a list is taken as it is."""
    if not isinstance(pattern, str | os.PathLike):
        paths = [str(path) for path in pattern]
    elif is_remote(str(pattern)):
        filesystem, path = _filesystem(str(pattern))
        try:
            paths = sorted(filesystem.glob(path)) if glob.has_magic(path) else [path]
        except FileNotFoundError:
            paths = []
        except Exception as error:  # every file system has errors of its own
            raise UnreadableFile(f"cannot be listed: {_first_line(error)}", where=f"{side} '{pattern}'") from None
        paths = [filesystem.unstrip_protocol(one) for one in paths] if "::" not in str(pattern) else [str(pattern)]
    elif glob.has_magic(str(pattern)) and not os.path.exists(pattern):
        paths = sorted(glob.glob(str(pattern), recursive=True))
    else:
        paths = [str(pattern)]
    if not paths:
        raise MissingFile(
            "no file has such a name", where=f"{side} '{pattern}'", remedy="Quote the pattern: 'truth/*.csv'."
        )
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise DuplicateKey("the file is named twice", where=twice, remedy="Name every shard once.")
    return paths


def is_remote(path: str) -> bool:
    """Whether a path is a URL that fsspec opens."""
    return "://" in path or "::" in path


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise MissingExtra(f"{url}: a remote path", "remote") from None
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = PACKAGES.get(url.partition("://")[0])
        if package is not None:
            raise MissingPackage(url, package) from None
        raise UnreadableFile(
            f"cannot be opened: {error}", where=url, remedy="Install what fsspec needs for it."
        ) from None
    except Exception as error:  # every file system has errors of its own
        raise UnreadableFile(f"cannot be opened: {_first_line(error)}", where=url) from None
    return filesystem, path


def _first_line(error: Exception) -> str:
    """What an error says in its first line; some say nothing but what they are."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


@contextlib.contextmanager
def local_copy(path: str) -> Iterator[Path]:
    """A file of this machine with the shard's contents; a remote one is copied and removed afterwards."""
    if not is_remote(path):
        yield Path(path)
        return
    filesystem, inner = _filesystem(path)
    suffix = "".join(Path(inner).suffixes[-1:])
    with scratch() as folder:
        copy = folder / f"shard{suffix}"
        try:
            with filesystem.open(inner, "rb") as source, open(copy, "wb", buffering=0) as target:
                while chunk := source.read(1 << 20):
                    _put(target, chunk)
        except WriteError:
            raise
        except Exception as error:  # every file system has errors of its own
            raise UnreadableFile(f"cannot be read: {_first_line(error)}", where=path) from None
        try:
            yield copy
        except InputError as error:
            raise UnreadableFile(str(error).replace(str(copy), path)) from None


def _put(target: FileIO, chunk: bytes) -> None:
    left = memoryview(chunk)
    try:
        while left:
            left = left[target.write(left) :]
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror}", where=str(target.name)) from None


def content_hash(path: Path, shown: str) -> str:
    """SHA-256 of a file's bytes."""
    total = hashlib.sha256()
    try:
        with open_regular(path, shown, pipes=True) as file:
            while chunk := file.read(1 << 20):
                total.update(chunk)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", where=shown) from None
    return total.hexdigest()


def state_name(kind: str, *parts: object) -> str:
    """The name of a state: a hash of what it is made of, and of the version that makes it."""
    text = json.dumps([kind, __version__, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def work_folder(work: str | os.PathLike[str]) -> str:
    """The folder of a run's states, made where it is not there yet."""
    if is_remote(os.fspath(work)):
        raise Unsupported(
            "states cannot be kept behind a URL", where=f"work '{work}'", remedy="Name a folder that every worker sees."
        )
    folder = os.path.abspath(work)
    try:
        os.makedirs(os.path.join(folder, "states"), exist_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"the folder cannot be made: {error.strerror}",
            where=f"work '{work}'",
            remedy="Name a folder that can be written to.",
        ) from None
    sweep(os.path.join(folder, "states"))
    return folder


_damaged: list[str] = []


def there(path: str) -> bool:
    """Whether a state lies there, whole and under its own name. Else it is removed, to be made again, and reported."""
    if not os.path.exists(path):
        return False
    if is_whole(path) and _own_name(path) == os.path.basename(path):
        return True
    _damaged.append(os.path.basename(path))
    with contextlib.suppress(OSError):
        os.unlink(path)
    return False


def keep(path: str, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a state. It holds its own name, so that one copied over another is noticed."""
    write_container(path, os.path.splitext(path)[1][1:], {**facts, NAME: os.path.basename(path)}, arrays)


def _own_name(path: str) -> object:
    """The name that a state says it has; None where it says none."""
    try:
        return read_facts(path).get(NAME)
    except InputError:
        return None


def take_damaged() -> tuple[str, ...]:
    """The states that this process has found damaged since it was last asked."""
    names = tuple(_damaged)
    _damaged.clear()
    return names


def state_path(work: str, kind: str, name: str) -> str:
    """Where a state lies in the work folder."""
    return os.path.join(work, "states", f"{name}.{kind}")
