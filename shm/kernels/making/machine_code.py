"""Machine code of modules, for each level: optimised as numba does it, but for what a processor can do; and linked to
shared libraries."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import config
from numba.core.codegen import _parse_refprune_flags
from numba.core.llvm_bindings import create_pass_builder

from tokenring.shm.errors import KernelError
from tokenring.shm.kernels.levels import CAN_PACK, Level

TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
_EVERY_X86_64 = ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87")
_PACKS = "avx512f"


def _target_machine(level: Level) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()  # for cpuid
    target = binding.Target.from_triple(TRIPLES[level.machine])
    return target.create_target_machine(
        cpu=level.tuned_for, features=_features(level), opt=config.OPT, reloc="pic", codemodel="default"
    )


def _features(level: Level) -> str:
    """What code of a level may use, as LLVM takes it: not what else the processor has that it is tuned for."""
    has = [f"+{name}" for name in level.needs]
    if level.machine == "x86_64" and level.tuned_for not in (level.name, "x86-64"):
        if platform.machine() != level.machine:
            raise KernelError(f"kernels for {level.name} are made on {level.machine}, where LLVM says what there is")
        has += [f"-{name}" for name in binding.get_host_cpu_features() if name not in (*level.needs, *_EVERY_X86_64)]
    return ",".join(has)


def optimised(code: bytes, level: Level) -> bytes:
    """The object file of a module, given as LLVM's bitcode, for a level."""
    machine = _target_machine(level)
    module = binding.parse_bitcode(code)
    module.triple = TRIPLES[level.machine]
    module.data_layout = str(machine.target_data)
    packs = int(_PACKS in level.needs)
    if CAN_PACK in [variable.name for variable in module.global_variables]:
        module.link_in(binding.parse_assembly(f'@"{CAN_PACK}" = constant i8 {packs}'))
        module.get_global_variable(CAN_PACK).linkage = "internal"
    # The passes that numba runs (numba/core/codegen.py, _optimize_functions and _optimize_final_module).
    builder = create_pass_builder(
        machine, opt=config.OPT, loop_vectorize=config.LOOP_VECTORIZE, slp_vectorize=config.SLP_VECTORIZE
    )
    of_function = builder.getFunctionPassManager()
    of_function.add_refprune_pass(_parse_refprune_flags())
    for function in module.functions:
        if not function.is_declaration:
            of_function.run(function, builder)
    builder = create_pass_builder(machine, opt=0, loop_vectorize=False, slp_vectorize=False)
    passes = builder.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    passes.add_refprune_pass(_parse_refprune_flags())
    passes.run(module, builder)
    builder = create_pass_builder(
        machine, opt=config.OPT, loop_vectorize=config.LOOP_VECTORIZE, slp_vectorize=config.SLP_VECTORIZE
    )
    passes = builder.getModulePassManager()
    passes.add_refprune_pass(_parse_refprune_flags())
    passes.run(module, builder)
    _take_in_references(module, machine)
    return bytes(machine.emit_object(module))


def _take_in_references(module: Any, machine: Any) -> None:
    """Have functions count references themselves, now that no pass has to know calls of it."""
    if "NRT_decref" not in [function.name for function in module.functions]:
        return
    module.link_in(binding.parse_assembly((Path(__file__).parent / "references.ll").read_text()))
    builder = create_pass_builder(machine, opt=config.OPT, loop_vectorize=False, slp_vectorize=False)
    passes = binding.newpassmanagers.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def object_of(text: str, level: Level) -> bytes:
    """The object file of a module, given in LLVM's language."""
    return optimised(binding.parse_assembly(text).as_bitcode(), level)


def has_linker() -> bool:
    """Whether the machine has a linker for its own processor."""
    return bool(shutil.which("ld.lld") or shutil.which("ld"))


def _linkers(machine: str) -> list[list[str]]:
    found = []
    if shutil.which("ld.lld"):
        found.append(["ld.lld"])
    for name in (f"{machine}-linux-gnu-ld", *(["ld"] if os.uname().machine == machine else [])):
        if shutil.which(name):
            found.append([name])
    found.append([sys.executable, "-m", "ziglang", "ld.lld"])
    return found


def link(objects: Sequence[Path], to: Path, machine: str) -> None:
    """Link object files to a shared library. KernelError if there is no linker, or it fails."""
    emulation = {"x86_64": "elf_x86_64", "aarch64": "aarch64linux"}[machine]
    options = ["-m", emulation, "-shared", "-Bsymbolic", "--hash-style=gnu", "--gc-sections", "--build-id=none"]
    page_bytes = 65536 if machine == "aarch64" else 4096
    options += ["-z", "relro", "-z", "now", "-z", "noexecstack", "-z", f"max-page-size={page_bytes}", "-o", str(to)]
    said = ""
    for linker in _linkers(machine):
        done = subprocess.run(
            [*linker, *options, *map(str, objects)],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode == 0:
            return
        said += f"\n{' '.join(linker)}: {done.stderr.strip()[-1000:]}"
    raise KernelError(
        f"no linker could make {to.name} for {machine}: install binutils, or `pip install ziglang`{said}"
    )
