"""NVIDIA's side of the lab: the apt repository, what was installed from it before, and an old toolkit.

The machine it leaves is the story's: CUDA 12.8 unpacked by hand under
/usr/local, two config-common packages of other releases, and a repository from which 13.0 can be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab import host
from tests.lab.steps import packages
from tests.lab.steps.packages import Package, Release

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
REPOSITORY = Path("srv/cuda-repo")
#: Releases of which only the config-common packages are on the machine, as in the story.
LEFT_BEHIND = {"12.9": "12.9.79", "13.2": "13.2.75"}
OLD = Release("12.8", {"nvidia-cuda-runtime-cu12": "12.8.90", "nvidia-cuda-nvcc-cu12": "12.8.93"})
#: cuda.h's codes: what a stub to link against returns, and what a driver without a GPU returns.
STUB_LIBRARY, NO_DEVICE = 34, 100
DRIVER = "580.95.05"
SOURCES = "deb [trusted=yes] file:/srv/cuda-repo ./\n"


def build(root: Path) -> None:
    """Make the repository in `root`, configure apt for it, and leave the story's machine."""
    with _wheels(root, packages.RELEASE) as wheels:
        stub = wheels / "driver-stub/libcuda.so"
        header = wheels / "nvidia-cuda-runtime/include/cuda.h"
        _driver(root, header, stub, STUB_LIBRARY)
        library = root / f"usr/lib/x86_64-linux-gnu/libcuda.so.{DRIVER}"
        _driver(root, header, library, NO_DEVICE)
        library.with_name("libcuda.so.1").symlink_to(library.name)
        target = root / REPOSITORY
        target.mkdir(parents=True)
        newest = max(LEFT_BEHIND.values())
        left = [each for number, version in LEFT_BEHIND.items() for each in packages.config_common(number, version)]
        made = {each.name: each for each in [*packages.toolkit(), *left, packages.common(newest)]}
        for package in made.values():
            _make_deb(package, wheels, target)
    _index(target)
    with _wheels(root, OLD) as wheels:
        _old_toolkit(root / OLD.prefix, wheels)
    (root / "etc/apt/sources.list.d/cuda.list").write_text(SOURCES)
    with host.chroot(root):
        host.run_in(root, "apt-get", "update", "-q")
        names = [f"cuda-toolkit-{number.replace('.', '-')}-config-common" for number in LEFT_BEHIND]
        host.run_in(root, "apt-get", "install", "-q", "-y", *names)
        host.run_in(root, "ldconfig")


@contextmanager
def _wheels(root: Path, release: Release) -> Iterator[Path]:
    """The release's wheels, unpacked outside of the root: one folder each, without nvidia/cuXY/ above."""
    with tempfile.TemporaryDirectory(dir=root.parent, prefix="wheels-") as folder:
        pinned = [f"{name}=={version}" for name, version in release.wheels.items()]
        inside = root / "tmp/wheels"
        with host.installer(root) as pip:
            host.run_in(root, *pip, "download", "-q", "--no-deps", "-d", "/tmp/wheels", *pinned)
        for name in release.wheels:
            (wheel,) = inside.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
            unpacked = Path(folder) / "unpacked"
            host.run("python3", "-m", "zipfile", "-e", str(wheel), str(unpacked))
            (tree,) = (path for path in (unpacked / "nvidia").iterdir() if path.is_dir())
            tree.rename(Path(folder) / name)
            shutil.rmtree(unpacked)
        shutil.rmtree(inside)
        yield Path(folder)


def _driver(root: Path, header: Path, library: Path, status: int) -> None:
    """Compile a libcuda whose functions return `status`, with the root's own gcc."""
    library.parent.mkdir(parents=True, exist_ok=True)
    source, built = root / "tmp/libcuda.c", root / "tmp/libcuda.so"
    text = subprocess.run(
        ["python3", str(HOOKS / "driver_stub.py"), str(header), str(status)], stdout=subprocess.PIPE, check=True
    ).stdout
    source.write_bytes(text)
    soname = "-Wl,-soname,libcuda.so.1"
    host.run_in(root, "gcc", "-shared", "-fPIC", "-O1", soname, "-o", "/tmp/libcuda.so", "/tmp/libcuda.c")
    shutil.move(built, library)
    source.unlink()


def _make_deb(package: Package, wheels: Path, target: Path) -> None:
    release = _release_of(package)
    with tempfile.TemporaryDirectory(dir=wheels) as folder:
        tree = Path(folder)
        tree.chmod(0o755)
        prefix = tree / release.prefix if release else tree
        for pattern, where in package.files:
            _place(wheels, pattern, prefix / where)
        for inside in package.folders:
            (prefix / inside).mkdir(parents=True, exist_ok=True)
        for link, to in package.links:
            (prefix / link).parent.mkdir(parents=True, exist_ok=True)
            (prefix / link).symlink_to(to)
        for name, text in package.texts.items():
            file = tree / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        _control(package, tree)
        # Uncompressed: the files are large, live for one test, and were compressed once already.
        host.run("dpkg-deb", "--root-owner-group", "-Znone", "-b", str(tree), str(target))


def _release_of(package: Package) -> Release | None:
    """The release in a package's name (cuda-nvcc-13-0 -> 13.0); None for names without one."""
    parts = package.name.removesuffix("-config-common").rsplit("-", 2)[1:]
    return Release(".".join(parts), {}) if all(part.isdigit() for part in parts) else None


def _place(wheels: Path, pattern: str, where: Path) -> None:
    """Hard-link the files that `pattern` names (`a/b/**`: the tree below a/b) into the folder `where`."""
    wheel_folder, _, last = pattern.rpartition("/")
    base = wheels / wheel_folder
    found = sorted(base.rglob("*") if last == "**" else base.glob(last))
    files = [path for path in found if path.is_file() and ".alt." not in path.name]
    if not files:
        raise FileNotFoundError(f"{pattern}: no such file in the wheels")
    for path in files:
        file = where / path.relative_to(base)
        file.parent.mkdir(parents=True, exist_ok=True)
        # What zipfile unpacks has lost its mode; NVIDIA's programs have no suffix and lie in bin/.
        path.chmod(0o755 if "/bin/" in f"{path.parent}/" and path.suffix in {"", ".sh"} else 0o644)
        os.link(path, file)


def _control(package: Package, tree: Path) -> None:
    size = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    fields = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": "amd64" if package.files else "all",
        "Section": "devel",
        "Priority": "optional",
        "Maintainer": "cudatools <cudatools@nvidia.com>",
        "Installed-Size": str(size // 1024 + 4),
        "Depends": ", ".join(package.depends),
        "Description": package.summary,
    }
    debian = tree / "DEBIAN"
    debian.mkdir()
    (debian / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items() if value))
    for name, text in package.scripts.items():
        (debian / name).write_text(text)
        (debian / name).chmod(0o644 if name == "triggers" else 0o755)


def _index(target: Path) -> None:
    with (target / "Packages").open("w") as listing:
        argv = ["dpkg-scanpackages", "-m", "."]
        subprocess.run(argv, cwd=target, stdout=listing, stderr=subprocess.DEVNULL, check=True)


def _old_toolkit(prefix: Path, wheels: Path) -> None:
    """CUDA 12.8 as a run file leaves it: real headers, libraries and ptxas, and nvcc's stand-in."""
    target = prefix / packages.TARGET
    runtime, compiler = wheels / "nvidia-cuda-runtime-cu12", wheels / "nvidia-cuda-nvcc-cu12"
    shutil.copytree(runtime / "include", target / "include")
    shutil.copytree(runtime / "lib", target / "lib")
    shutil.copytree(compiler / "include", target / "include", dirs_exist_ok=True)
    for name in ("bin", "nvvm"):
        shutil.copytree(compiler / name, prefix / name)
    for program in (prefix / "bin").iterdir():
        program.chmod(0o755)
    shutil.copy(HOOKS / "nvcc-12.8", prefix / "bin/nvcc")
    (target / "lib/libcudart.so").symlink_to("libcudart.so.12")
    for link, to in packages.LINK_TO_TARGET:
        (prefix / link).symlink_to(to)
    (prefix / "version.json").write_text(
        '{\n   "cuda" : {\n      "name" : "CUDA SDK",\n      "version" : "12.8.1"\n   }\n}\n'
    )
