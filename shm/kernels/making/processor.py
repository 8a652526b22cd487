"""The module that says what this processor can do, in LLVM's language: it runs on the least of its kind."""

from tokenring.shm.kernels.making.calls import constant

_HEAD = constant("method.name", "words") + constant("module.name", "processor") + """
declare ptr @PyModule_Create2(ptr, i32)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @getauxval(i64)
@methods = internal global [2 x { ptr, ptr, i32, ptr }] [
  { ptr, ptr, i32, ptr } { ptr @method.name, ptr @words, i32 4, ptr null }, { ptr, ptr, i32, ptr } zeroinitializer]
@module = internal global { i64, ptr, ptr, i64, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr } {
  i64 1, ptr null, ptr null, i64 0, ptr null, ptr @module.name, ptr null, i64 -1, ptr @methods, ptr null, ptr null,
  ptr null, ptr null }

define ptr @PyInit_processor() {
  %made = call ptr @PyModule_Create2(ptr @module, i32 3)
  ret ptr %made
}

define internal void @put(ptr %tuple, i64 %at, i64 %word) {
  %object = call ptr @PyLong_FromUnsignedLongLong(i64 %word)
  %done = call i32 @PyTuple_SetItem(ptr %tuple, i64 %at, ptr %object)
  ret void
}
"""
_CPUID = 'call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"'


def _ask(number: int, leaf: int) -> str:
    """Ask cpuid for a leaf, where there is one: else it answers another's."""
    return f"""
  %most.{number} = {_CPUID}(i32 {leaf & -1 << 31}, i32 0)
  %last.{number} = extractvalue {{ i32, i32, i32, i32 }} %most.{number}, 0
  %has.{number} = icmp uge i32 %last.{number}, {leaf}
  %said.{number} = {_CPUID}(i32 {leaf}, i32 0)"""


def _word(at: int, number: int, register: int) -> str:
    return f"""
  %part.{at} = extractvalue {{ i32, i32, i32, i32 }} %said.{number}, {register}
  %known.{at} = select i1 %has.{number}, i32 %part.{at}, i32 0
  %word.{at} = zext i32 %known.{at} to i64
  call void @put(ptr %all, i64 {at}, i64 %word.{at})"""


_X86 = f"""
; words(): of cpuid's leaf 1 ecx, of 7 ebx and ecx, of 0x80000001 ecx; which state the system keeps.
define internal ptr @words(ptr %self, ptr %nothing) {{
  %all = call ptr @PyTuple_New(i64 5)
  {_ask(1, 1)}{_ask(7, 7)}{_ask(8, 0x80000001)}
  {_word(0, 1, 2)}{_word(1, 7, 1)}{_word(2, 7, 2)}{_word(3, 8, 2)}
  %bit = and i64 %word.0, 134217728
  %keeps = icmp ne i64 %bit, 0
  br i1 %keeps, label %ask, label %done
ask:
  %pair = call {{ i32, i32 }} asm sideeffect "xgetbv", "={{ax}},={{dx}},{{cx}}"(i32 0)
  %low = extractvalue {{ i32, i32 }} %pair, 0
  %kept = zext i32 %low to i64
  br label %done
done:
  %state = phi i64 [ 0, %0 ], [ %kept, %ask ]
  call void @put(ptr %all, i64 4, i64 %state)
  ret ptr %all
}}
"""
_ARM = """
; words(): AT_HWCAP and AT_HWCAP2, which the system says.
define internal ptr @words(ptr %self, ptr %nothing) {
  %all = call ptr @PyTuple_New(i64 2)
  %first = call i64 @getauxval(i64 16)
  call void @put(ptr %all, i64 0, i64 %first)
  %second = call i64 @getauxval(i64 26)
  call void @put(ptr %all, i64 1, i64 %second)
  ret ptr %all
}
"""
PROCESSOR = {"x86_64": _HEAD + _X86, "aarch64": _HEAD + _ARM}
"""Of each machine."""
