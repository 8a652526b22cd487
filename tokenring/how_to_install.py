"""How an extra of this package is installed: by the way that the package itself came."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from importlib import metadata

_NAME = "tokenring"


def how_to_install(extra: str, package: Path | None = None) -> str:
    """The command that adds an extra to the package in this folder, or to the one that runs."""
    package = package or Path(import_module(_NAME).__path__[0])
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file():
        return f"pip install -e {quote(f'{checkout}[{extra}]')}"
    from importlib import metadata

    found = next(iter(metadata.distributions(name=_NAME, path=[str(package.parent)])), None)
    said = found.read_text("direct_url.json") if found is not None else None
    if found is None or said is None:
        return f"pip install '{_NAME}[{extra}]'"
    return f"pip install {_from(said, extra) or _needs(found, extra)}"


def _from(direct_url: str, extra: str) -> str:
    """What pip is told of a package that no index has (PEP 610); "" if what it came from has gone."""
    import orjson

    origin = orjson.loads(direct_url)
    url = origin["url"]
    if url.startswith("file:") and "vcs_info" not in origin:
        path = unquote(urlsplit(url).path)
        return quote(f"{path}[{extra}]") if Path(path).exists() else ""
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return quote(f"{_NAME}[{extra}] @ {url}")


def _needs(found: metadata.Distribution, extra: str) -> str:
    """The packages of the extra themselves."""
    needed = [one.partition(";") for one in found.requires or ()]
    here = f"extra == '{extra}'"
    return " ".join([quote(name.strip()) for name, _, when in needed if here in when.replace('"', "'")])
