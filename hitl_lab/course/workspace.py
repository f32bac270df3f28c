"""A learner's own copy of the notebooks: made, brought up to date, and never overwritten where they worked in it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hitl_lab.course
from hitl_lab.errors import HitlLabError

MANIFEST = ".hitl-lab.json"
_FORMAT = 1
_PACKAGE = Path(hitl_lab.course.__file__).parent


class WorkspaceError(HitlLabError):
    """A workspace cannot be made or used there, or a notebook is not known."""


@dataclass(frozen=True)
class Report:
    """What `start` did, by file name relative to the workspace.

    copied: new files. updated: files the learner had not changed, replaced by a newer version.
    kept: files the learner changed, left alone. offered: pairs (theirs, the newer version put beside it).
    notes: other things worth saying, as sentences.
    """

    folder: Path
    copied: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    offered: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Your notebooks are in {self.folder}"]
        if self.copied:
            lines.append(f"new: {', '.join(self.copied)}")
        if self.updated:
            lines.append(f"brought up to date, you had not changed them: {', '.join(self.updated)}")
        lines += [
            f"{theirs} has a newer version. Yours is untouched; the new one is {beside}"
            for theirs, beside in self.offered
        ]
        return "\n".join([*lines, *self.notes])


def source_folder() -> Path:
    """The folder the notebooks are copied from: the checkout's, or the one inside an installed package.

    Raises WorkspaceError if neither is there.
    """
    packaged = _PACKAGE / "_notebooks"
    checkout = _PACKAGE.parent.parent / "notebooks"
    for folder in (packaged, checkout):
        if folder.is_dir():
            return folder
    raise WorkspaceError(
        f"hitl_lab came without its notebooks: neither {packaged} nor {checkout} exists. Install hitl_lab again."
    )


def start(directory: str | os.PathLike[str], *, source: Path | None = None) -> Report:
    """Copy the notebooks into `directory`, or bring the copies there up to date.

    A file the learner changed is never written to: a newer version goes beside it as ``NAME.new.ipynb``. A file the
    learner deleted comes back. Their own files are not touched.

    Args:
        directory: the workspace; made if missing.
        source: where to copy from. Default: `source_folder()`.

    Raises:
        WorkspaceError: the folder cannot be made or written, or is the folder of the originals.
    """
    source = source_folder() if source is None else source
    folder = _open_folder(Path(directory), source)
    manifest = _Manifest.load(folder)
    copied, updated, kept, offered = [], [], [], []
    try:
        for name in _originals(source):
            fresh, theirs = source / name, folder / name
            wanted = _checksum(fresh)
            if not theirs.exists():
                _copy(fresh, theirs)
                copied.append(name)
            elif (current := _checksum(theirs)) == wanted:
                pass
            elif current == manifest.files.get(name):
                _copy(fresh, theirs)
                updated.append(name)
            else:
                kept.append(name)
                # The manifest still names the version they began with, or the one that was offered last.
                if manifest.offered.get(name, manifest.files.get(name)) != wanted:
                    beside = _put_beside(fresh, theirs, manifest)
                    offered.append((name, beside.relative_to(folder).as_posix()))
                    manifest.offered[name] = wanted
                continue
            manifest.files[name] = wanted
            manifest.offered.pop(name, None)
        manifest.save()
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return Report(folder, tuple(copied), tuple(updated), tuple(kept), tuple(offered), tuple(manifest.notes))


def reset(
    notebook: str, directory: str | os.PathLike[str] | None = None, *, source: Path | None = None
) -> tuple[Path, Path | None]:
    """Put a fresh copy of one notebook into the workspace and keep the old one beside it.

    Args:
        notebook: its name, or the beginning of it that no other has: ``"02"`` is enough.
        directory: the workspace. Default: `find()`.
        source: where to copy from. Default: `source_folder()`.

    Returns:
        The fresh notebook, and where the old one is now: None if there was none, or it was as fresh.

    Raises:
        WorkspaceError: no workspace, no such notebook, several that begin so, or the folder cannot be written.
    """
    source = source_folder() if source is None else source
    folder = find() if directory is None else _open_folder(Path(directory), source, make=False)
    name = _resolve(notebook, [name for name in _originals(source) if name.endswith(".ipynb")])
    fresh, theirs = source / name, folder / name
    manifest = _Manifest.load(folder)
    old = None
    try:
        if theirs.exists() and _checksum(theirs) != _checksum(fresh):
            old = _free_name(theirs, "old")
            theirs.rename(old)
        _copy(fresh, theirs)
        manifest.files[name] = _checksum(fresh)
        manifest.offered.pop(name, None)
        manifest.save()
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return theirs, old


def find(start_at: Path | None = None) -> Path:
    """The workspace in use: the current folder, a folder above it, or ``my-notebooks`` inside it.

    Args:
        start_at: the folder to begin in. Default: the current one.

    Raises:
        WorkspaceError: there is none.
    """
    here = (start_at or Path.cwd()).resolve()
    for folder in (here, here / "my-notebooks", *here.parents):
        if (folder / MANIFEST).is_file():
            return folder
    raise WorkspaceError(f"{here} is no workspace and holds none. Go to yours, or make one: hitl-lab start")


@dataclass
class _Manifest:
    """What was copied: file name to checksum. `offered` names newer versions already put beside a changed file."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)
    offered: dict[str, str] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, folder: Path) -> _Manifest:
        path = folder / MANIFEST
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            tables = [data[key] for key in ("files", "offered", "beside")]
            if data["format"] != _FORMAT or not all(
                isinstance(k, str) and isinstance(v, str) for table in tables for k, v in table.items()
            ):
                raise ValueError
        except FileNotFoundError:
            return cls(folder)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Without its checksums every file counts as changed by the learner: the safe side.
            kept = _free_name(path, "unreadable")
            path.rename(kept)
            note = f"{MANIFEST} could not be read; it is now {kept.name}. Files that differ count as yours."
            return cls(folder, notes=[note])
        return cls(folder, *tables)

    def save(self) -> None:
        data = {"format": _FORMAT, "files": self.files, "offered": self.offered, "beside": self.beside}
        _write(self.folder / MANIFEST, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def _originals(source: Path) -> Iterator[str]:
    """Names of the files to copy: the notebooks, and what they show from ``assets``."""
    for path in sorted([*source.glob("*.ipynb"), *source.glob("assets/**/*")]):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(source).parts):
            yield path.relative_to(source).as_posix()


def _open_folder(folder: Path, source: Path, *, make: bool = True) -> Path:
    folder = folder.expanduser().resolve()
    original = source.resolve()
    if folder == original or original in folder.parents:
        raise WorkspaceError(f"{folder} holds the originals of the course. Choose another folder for your own copies.")
    if not make:
        return find(folder) if folder.is_dir() else _no_workspace(folder)
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder} is a file. Name a folder for the notebooks: hitl-lab start FOLDER")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return folder


def _no_workspace(folder: Path) -> Path:
    raise WorkspaceError(f"{folder} is no folder. Make a workspace there first: hitl-lab start FOLDER")


def _cannot_write(folder: Path, error: OSError) -> WorkspaceError:
    reason = error.strerror or str(error)
    return WorkspaceError(f"Cannot write in {folder}: {reason}. Name a folder of yours: hitl-lab start FOLDER")


def _resolve(wanted: str, names: list[str]) -> str:
    stem = Path(wanted).name.removesuffix(".ipynb")
    found = [name for name in names if name.removesuffix(".ipynb") == stem] or [
        name for name in names if stem and name.startswith(stem)
    ]
    if len(found) == 1:
        return found[0]
    problem = "Several notebooks begin with" if found else "There is no notebook"
    raise WorkspaceError(f"{problem} {wanted!r}. Choose from: {', '.join(found or names)}")


def _put_beside(fresh: Path, theirs: Path, manifest: _Manifest) -> Path:
    """Copy `fresh` next to `theirs`, over an older offer only if the learner did not work in that one."""
    usual = theirs.with_name(f"{theirs.stem}.new{theirs.suffix}")
    key = usual.relative_to(manifest.folder).as_posix()
    if usual.exists() and _checksum(usual) != manifest.beside.get(key):
        usual = _free_name(theirs, "new")
        key = usual.relative_to(manifest.folder).as_posix()
    _copy(fresh, usual)
    manifest.beside[key] = _checksum(fresh)
    return usual


def _free_name(path: Path, word: str) -> Path:
    candidate, number = path.with_name(f"{path.stem}.{word}{path.suffix}"), 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}.{word}-{number}{path.suffix}")
    return candidate


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _copy(original: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, original.read_bytes())


def _write(target: Path, content: bytes) -> None:
    # Through a temporary file: a full disk or a killed process leaves the old file whole.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        # mkstemp makes files that only their owner may read; a shared course folder needs the usual mode.
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
