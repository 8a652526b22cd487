"""What numba loads of a kernel that is on disk: its machine code at once, LLVM's code of it when somebody asks for it.

Numba parses LLVM's code of each, to be taken in by functions that may be compiled later, and to learn its symbols,
which takes longer than the rest. The symbols stand in the machine code, too.
"""

import struct
from typing import Any, Self

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary

_ELF = b"\x7fELF\x02\x01"  # of 64 bits, little-endian
_SYMBOL_TABLE = 2  # the type of a section of ELF


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library whose code for others is parsed when it is asked for."""

    _shared_code: bytes | None = None
    _parsed: Any = None

    @property
    def _shared_module(self) -> Any:
        if self._parsed is None and self._shared_code is not None:
            self._parsed = binding.parse_bitcode(self._shared_code)
        return self._parsed

    @_shared_module.setter
    def _shared_module(self, module: Any) -> None:
        self._parsed = module

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Self:
        name, kind, data = state
        if kind != "object" or not data[0].startswith(_ELF):
            return super()._unserialize(codegen, state)
        machine_code, shared_code = data
        self: Self = cls(codegen, name)
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._shared_code = shared_code
        self._finalize_final_module()
        codegen._engine._defined_symbols |= defined_symbols(machine_code)
        return self


def defined_symbols(machine_code: bytes) -> set[str]:
    """The names of what an object file (ELF, 64 bits, little-endian) defines."""
    (sections_at,) = struct.unpack_from("<Q", machine_code, 40)
    size, count = struct.unpack_from("<HH", machine_code, 58)
    found: set[str] = set()
    for number in range(count):
        at = sections_at + number * size
        (kind,) = struct.unpack_from("<I", machine_code, at + 4)
        if kind != _SYMBOL_TABLE:
            continue
        start, length = struct.unpack_from("<QQ", machine_code, at + 24)
        (names_section,) = struct.unpack_from("<I", machine_code, at + 40)
        names_at, names_length = struct.unpack_from("<QQ", machine_code, sections_at + names_section * size + 24)
        names = machine_code[names_at : names_at + names_length]
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", machine_code[start : start + length]):
            if name and section:
                found.add(names[name : names.index(b"\0", name)].decode())
    return found
