"""Makes the library of the samples in a folder: numba compiles for any processor from then on, in a process of its
own."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.imports import ROOT
from tests.shm.kernels.little import best_levels
from tests.shm.kernels.making.samples import SAMPLES
from tokenring.shm.kernels import Kernel
from tokenring.shm.kernels.making import make_library

if __name__ == "__main__":
    kernels = [Kernel(function, signature) for function, signature in SAMPLES]
    make_library(kernels, best_levels(2), ROOT / "tokenring", Path(sys.argv[1]), processes=1)
