"""The source files of the product, parsed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("shared/placet", *(f"services/placet_{s}" for s in ("runner", "broker", "notifier")))


@dataclass(frozen=True)
class Source:
    """One module."""

    path: Path

    @cached_property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    def functions(self) -> Iterator[tuple[str, int]]:
        """Each function's name and how many lines it has, its docstring and signature included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def sources() -> list[Source]:
    """Every module of the product, by path."""
    return [Source(p) for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
