"""What a stored result depends on in the code: the modules that make it, with all of the package that they import.

A result's key holds the digest of their syntax trees, so that no number has to be raised by hand when one of them
changes, and a comment or a docstring changes nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code_digest(module: str, package: Path = PACKAGE) -> str:
    """Digest of the code of a module and of all that it imports from its own package, wherever in the code it does.

    Args:
        module: its full name, such as ``__name__``.
        package: folder of the package.
    """
    digest = hashlib.sha256()
    for name in sorted(dependencies(module, package)):
        digest.update(f"{name}\n{_code(module_file(name, package))}\n".encode())
    return digest.hexdigest()


def dependencies(module: str, package: Path = PACKAGE) -> set[str]:
    """The module, the modules of the package that it imports, those that they import, and the packages they lie in."""
    found, waiting = set[str](), {module}
    while waiting:
        name = waiting.pop()
        found.add(name)
        parents = {name.rpartition(".")[0]} - {""}  # Python runs a package before what lies in it
        waiting |= (imported(name, package) | parents) - found
    return found


def imported(module: str, package: Path = PACKAGE) -> set[str]:
    """Modules of the package that a module imports: at its top, inside a function, or for types alone.

    Those for types count, since packages that load their parts only when these are asked for name them there.
    """
    found = set[str]()
    for node in _imports(_tree(module_file(module, package))):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        else:
            # ``from a import b`` imports the module ``a.b`` where there is one, and otherwise takes ``b`` out of ``a``.
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [name if module_file(name, package).is_file() else str(node.module) for name in inside]
        found |= {name for name in named if module_file(name, package).is_file()}
    return found - {module}


def module_file(module: str, package: Path = PACKAGE) -> Path:
    """Where a module's source lies, whether there is one or not; outside the package there is none."""
    first, *rest = module.split(".")
    path = package.joinpath(*rest) if first == package.name else package / "no" / module
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            yield inner
        elif isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case):  # an expression holds none
            yield from _imports(inner)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _code(path: Path) -> str:
    """A file's syntax tree without docstrings, as text."""
    tree = _tree(path)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, _DOCUMENTED) and body and ast.get_docstring(node, clean=False) is not None:
            del body[0]
    return ast.dump(tree)
