"""What can be done wrong with an input's handle outside of any operator."""

from tests.engine.helpers import VALUE, simulated
from tests.errors import raises
from tokenring.engine import GraphError, InputHandle, Schema, SchemaError


def test_a_handle_feeds_one_input() -> None:
    """A second input would take the token of the first, and complete it at once."""
    with simulated() as group:
        (worker,) = group.workers
        with group.building(worker), worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE, "one")
            with raises(GraphError, "input 'two'", "input 'one'", "another InputHandle"):
                scope.new_input(VALUE, "two", handle)
            probe = stream.probe()
        handle.advance_to(3)
        assert probe.frontier == 3
        with (
            raises(GraphError, "input 'again'", "input 'one'", "another InputHandle"),
            group.building(worker),
            worker.dataflow() as scope,
        ):
            scope.new_input(VALUE, "again", handle)


def test_a_handle_has_the_schema_of_its_input() -> None:
    with simulated() as group:
        (worker,) = group.workers
        with (
            raises(SchemaError, "input 'one'", "Schema(other=int64)", "not Schema(value=int64)"),
            group.building(worker),
            worker.dataflow() as scope,
        ):
            scope.new_input(VALUE, "one", InputHandle(Schema("other")))
