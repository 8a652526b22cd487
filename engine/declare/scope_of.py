"""What declares streams of a class: how functions of a scope say that they give back streams of the scope's class."""

from typing import Any, Protocol

from tokenring.engine.columns import Schema
from tokenring.engine.declare.builder import OperatorBuilder
from tokenring.engine.declare.stream import Made_co
from tokenring.engine.graph import Constructor, Notify
from tokenring.engine.running import InputHandle


class ScopeOf(Protocol[Made_co]):
    """A Scope, or a subclass whose streams are of a class of their own."""

    depth: int

    @property
    def root(self) -> Any:
        """See Scope."""

    def describe(self) -> str:
        """The scope in words."""

    @property
    def way_out(self) -> str:
        """See Scope."""

    def new_input(
        self, schema: Schema, name: str = "input", handle: InputHandle | None = None
    ) -> tuple[InputHandle, Made_co]:
        """See Scope."""

    def source(self, name: str, schemas: Schema | tuple[Schema, ...], constructor: Constructor) -> tuple[Made_co, ...]:
        """See Scope."""

    def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> OperatorBuilder[Made_co]:
        """See Scope."""
