"""The library of kernels, made when the package is built: numba's LLVM code of all kernels, machine code for each level
of processor, what Python calls, and one shared library of it all."""

from tokenring.shm.kernels.making.library import make_library, this_level

__all__ = ["make_library", "this_level"]
