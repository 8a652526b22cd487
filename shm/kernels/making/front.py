"""What numba makes of a kernel for any processor: LLVM's code, a module for each function, not optimised, not linked.

Numba's own machinery would optimise each function for the processor it runs on, with copies of all that it calls, add
ways in from Python, and keep exceptions as pickles. All of that is replaced here, for the whole process: it is one that
makes the library and then ends.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import event
from numba.core.callconv import CPUCallConv
from numba.core.lowering import Lower
from numba.core.pythonapi import PythonAPI
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrtdynmod
from numba.extending import overload
from numba.np import arrayobj

from tokenring.shm.kernels.callees import Callee, CalleeLibrary
from tokenring.shm.kernels.compilation import QuietCompiler, stand_for
from tokenring.shm.kernels.entry import Entry
from tokenring.shm.kernels.kernel import Kernel, numba_comes
from tokenring.shm.kernels.levels import be_for_any_processor
from tokenring.shm.kernels.signatures import resolved

_BYTE, _HALF = ir.IntType(8), ir.IntType(32)


class _Function(CalleeLibrary):
    """The code of one function, apart from what it calls."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True


class _Compiler(QuietCompiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *more: Any) -> None:
        super().__init__(typingctx, targetctx, _Function(targetctx.codegen(), "function"), *more)


class _Dispatcher(Callee):
    compiler = _Compiler


_dispatchers: dict[Callable[..., Any], _Dispatcher] = {}


def _dispatcher(kernel: Kernel) -> _Dispatcher:
    """Numba's dispatcher of a kernel, one for each function."""
    found = _dispatchers.get(kernel.py_func)
    if found is None:
        found = _dispatchers[kernel.py_func] = _Dispatcher(kernel.py_func, is_kept=False)
    return found


def _constant_of(self: Any, raised: tuple[type[BaseException], tuple[Any, ...], Any]) -> Any:
    """Where numba would pickle what is raised: the address of the exception's class, and what it says."""
    kind, arguments, _ = raised
    said = ", ".join(map(str, arguments)).encode() + b"\0"
    name = f"PyExc_{kind.__name__}"
    if name not in self.module.globals:
        ir.GlobalVariable(self.module, _BYTE.as_pointer(), name)
    text = ir.Constant(ir.ArrayType(_BYTE, len(said)), bytearray(said))
    told = ir.Constant.literal_struct([self.module.globals[name], text])
    where = self.context.insert_unique_const(self.module, f".raised.{kind.__name__}.{said.hex()}", told)
    nothing = ir.Constant(_BYTE.as_pointer(), None)
    none = ir.Constant(_HALF, 0)
    whole = ir.Constant.literal_struct([where.bitcast(_BYTE.as_pointer()), none, nothing, nothing, none])
    return self.context.insert_unique_const(self.module, f".raising.{kind.__name__}.{said.hex()}", whole)


def _raise_as_declared(
    self: Any, builder: Any, exc: Any, exc_args: Any, nb_types: Any, loc: Any = None, func_name: Any = None
) -> None:
    """Exceptions that say values of the moment say that there is one."""
    said = tuple(["a value" if isinstance(one, ir.Value) else one for one in exc_args])
    self.set_static_user_exc(builder, exc, said, loc, func_name)


def _raise_of_shapes(given: Any, wanted: Any) -> None:
    """What numba calls where an array is assigned to a part of another shape."""


@overload(_raise_of_shapes)
def _compiled_raise_of_shapes(given: Any, wanted: Any) -> Callable[..., None]:
    def impl(given: Any, wanted: Any) -> None:
        raise ValueError("cannot assign an array of another shape")

    return impl


def _nothing(*_: Any) -> None: ...


def prepare() -> None:
    """Have numba compile for any processor from now on, in this process."""
    numba_comes()
    stand_for(Kernel, _dispatcher)
    CPUDispatcher.targetdescr.target_context.codegen()._library_class = _Function
    PythonAPI.serialize_object = _constant_of
    CPUCallConv.set_dynamic_user_exc = _raise_as_declared
    nrtdynmod._define_nrt_incref = nrtdynmod._define_nrt_decref = _nothing  # ours are taken in later
    arrayobj.raise_with_shape_context = _raise_of_shapes  # numba's says them, with strings, lists and logarithms
    Lower.create_cpython_wrapper = Lower.create_cfunc_wrapper = _nothing
    event.broadcast = _nothing  # of what nobody listens to here
    be_for_any_processor()


def compile_kernel(kernel: Kernel) -> tuple[str, Any]:
    """The name of a kernel's function in LLVM's code, and its library, which leads to all that it calls."""
    compiled = _Dispatcher(kernel.py_func, is_kept=False) if isinstance(kernel, Entry) else _dispatcher(kernel)
    signature = resolved(kernel.signature)
    compiled.compile(signature)
    found = compiled.overloads[signature.args]
    return found.fndesc.llvm_func_name, found.library


def linked(libraries: list[Any], callers: list[Any], wanted: set[str]) -> Any:
    """One module of `callers`, libraries and all that they call; only functions that are wanted can be seen by other
    object files."""
    modules = [*callers, *[library._final_module for library in _with_callees(libraries)]]
    for module in modules:
        for function in module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "weak_odr"
    while len(modules) > 1:  # in pairs: linking into one that grows takes the square of their number
        for target, other in zip(modules[::2], modules[1::2], strict=False):
            target.link_in(other)
        modules = modules[::2]
    (whole,) = modules
    for function in whole.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in wanted else "internal"
            if function.name in wanted:
                function.visibility = "hidden"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return whole


def _with_callees(libraries: list[Any]) -> list[Any]:
    found: dict[int, Any] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting += library._linking_libraries
    return list(found.values())
