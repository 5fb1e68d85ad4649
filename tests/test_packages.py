"""Each installed package has one pinned version, the dashboard needs no PyTorch, and the library needs nothing."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def pinned(file: str) -> dict[str, str]:
    """The requirements of a file, keyed by package name, including the files that it refers to."""
    found: dict[str, str] = {}
    for line in (ROOT / file).read_text().splitlines():
        if line.startswith("-r "):
            found |= pinned(str(Path(file).parent / line.removeprefix("-r ")))
        elif line and not line.startswith(("#", "-")):
            found[name_of(line)] = line.partition(";")[0].strip()
    return found


CONSTRAINTS = pinned("constraints.txt")


def test_every_installed_package_has_its_version() -> None:
    """Exempt are pip and the packages pinned in the Makefile: nginx, and the tools of two of its commands."""
    asked = set(re.findall(r"([\w-]+)==", (ROOT / "Makefile").read_text()))
    here = {name_of(one.name): one.version.partition("+")[0] for one in distributions()}
    names = here.keys() - {"pip", "bertcalc", "setuptools", *map(name_of, asked)}
    assert names - CONSTRAINTS.keys() == set()
    assert {name: f"{name}=={here[name]}" for name in names} == {name: CONSTRAINTS[name].lower() for name in names}


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-lite.txt", "requirements-dev.txt"])
def test_constraints_are_what_is_required(file: str) -> None:
    assert "-c constraints.txt" in (ROOT / file).read_text() or "-r requirements.txt" in (ROOT / file).read_text()
    for name, requirement in pinned(file).items():
        version = requirement.rpartition("==")[2]
        assert CONSTRAINTS[name].rpartition("==")[2] == version


def test_no_file_names_a_host_of_packages_that_is_asked() -> None:
    for file in ROOT.glob("*.txt"):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        assert not [line for line in lines if "://" in line or line.startswith(("-i", "--"))], file.name


def test_the_extras_have_what_the_files_have() -> None:
    extras = {extra: {name_of(one) for one in ones} for extra, ones in PROJECT["optional-dependencies"].items()}
    assert extras["dashboard"] == pinned("requirements-lite.txt").keys()
    assert extras["dashboard"] | extras["verify"] == pinned("requirements.txt").keys()
    assert "dependencies" not in PROJECT


def test_the_library_is_installed_with_nothing(tmp_path: Path) -> None:
    source, wheels, site = tmp_path / "source", tmp_path / "wheels", tmp_path / "site"
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bertcalc", source / "bertcalc", ignore=hidden)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    program = "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; "
    program += "import runpy; sys.argv[1:] = ['bert-large-uncased']; runpy.run_module('bertcalc', run_name='__main__')"
    command = [sys.executable, "-S", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert "335,141,888" in run.stdout
    typed = site / "bertcalc"
    assert (typed / "py.typed").is_file()
    assert (typed / "discover" / "results" / "formulas.json").is_file()
    assert not (site / "pages").exists()
    assert "Requires-Dist" not in re.sub(r"Requires-Dist: .*; .*extra ==.*", "", _metadata(site))


def _metadata(site: Path) -> str:
    [file] = site.glob("bertcalc-*.dist-info/METADATA")
    return file.read_text()
