"""requirements.lock: names and versions only, complete for pyproject.toml, on each Python and platform."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
with (ROOT / "pyproject.toml").open("rb") as stream:
    PROJECT = tomllib.load(stream)
PINS = [Requirement(line) for line in LOCK.splitlines() if line.strip() and not line.startswith("#")]

# As markers see them. Wheels for each of these pairs were resolved when the lock was made.
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "darwin": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "win32": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
LINE = re.compile(r"[a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.+!]*( ; [a-zA-Z_0-9 .'<>=!*()]+)?")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def requirements():
    """Everything that pyproject.toml asks for: (where, requirement)."""
    project = PROJECT["project"]
    groups = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    groups |= {f"group {name}": specs for name, specs in PROJECT["dependency-groups"].items()}
    groups["build-system"] = PROJECT["build-system"]["requires"]
    return [(where, Requirement(spec)) for where, specs in groups.items() for spec in specs]


def pinned(python, platform):
    """Name to version, for one Python on one platform."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", **PLATFORMS[platform]}
    environment |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    found = {}
    for pin in PINS:
        if pin.marker is None or pin.marker.evaluate(environment):
            (exact,) = pin.specifier
            assert canonicalize_name(pin.name) not in found, f"{pin.name} is pinned twice"
            found[canonicalize_name(pin.name)] = Version(exact.version)
    return found


def test_each_line_is_a_name_a_version_and_perhaps_a_marker():
    for number, text in enumerate(LOCK.splitlines(), 1):
        if number > 1:
            assert LINE.fullmatch(text), f"line {number}: {text}"
    assert LOCK.startswith("# Made by `make lock`")
    assert not re.search(r"://|--|@|/|\\", LOCK), "an address, an option or a path"


def test_the_check_of_a_line_can_fail():
    for bad in ("click>=8", "click", "click==8 --hash=sha256:0", "click @ file:///x", "-e .", "--option x"):
        assert not LINE.fullmatch(bad)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_is_pinned_in_its_range(python, platform):
    versions = pinned(python, platform)
    for where, requirement in requirements():
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} ({where}) is not in the lock: make lock"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement} ({where}), locked {version}"


def test_the_supported_range_of_langgraph_is_the_stated_one():
    (langgraph,) = (r for where, r in requirements() if r.name == "langgraph")
    accepted = [v for v in ("0.6.11", "1.0.0", "1.2.24", "1.3.0") if langgraph.specifier.contains(v)]
    assert accepted == ["1.0.0", "1.2.24"]


def environment_yml():
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def test_environment_yml_installs_the_locked_versions():
    dependencies = environment_yml()["dependencies"]
    (by_pip,) = (entry["pip"] for entry in dependencies if isinstance(entry, dict))
    assert by_pip == ["-r requirements.lock", "-e ."]
    # A package that conda brought in another version would be installed twice, or fight with pip's.
    by_conda = {re.split("[=<>]", entry)[0] for entry in dependencies if isinstance(entry, str)}
    twice = (by_conda - {"graphviz"}) & set(pinned("3.12", "linux"))
    assert not twice, twice


def test_environment_yml_has_a_python_that_the_project_and_the_lock_support():
    (python,) = (e for e in environment_yml()["dependencies"] if isinstance(e, str) and e.startswith("python="))
    version = python.removeprefix("python=")
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(version)
    assert version in PYTHONS


def test_environment_yml_brings_graphviz_and_no_compiler():
    dependencies = environment_yml()["dependencies"]
    assert "graphviz" in dependencies
    assert not [e for e in dependencies if isinstance(e, str) and re.search("compiler|gcc|gxx|clang|cython", e)]
    assert environment_yml()["channels"] == ["conda-forge", "nodefaults"]
