"""What Python calls, in LLVM's language: a function for each kernel, in CPython's stable ABI, which takes numbers and
arrays out of objects, calls the kernel, and makes an object of what it returns.

Of numpy two things are relied on, both in its own promise to compiled extensions: where an array keeps its data, shape,
kind and flags, and where the functions lie in its table.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenring.shm.kernels.entry import RAISED, Entry
from tokenring.shm.kernels.kernel import Kernel


def constant(name: str, text: str) -> str:
    """A line that declares a text, which a zero ends."""
    data = text.encode() + b"\0"
    said = "".join([chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}" for byte in data])
    return f'@{name} = private constant [{len(data)} x i8] c"{said}"\n'


_TEXTS = (
    constant("count.text", "%s takes %zd arguments, %zd were given")
    + constant("array.text", "%s: argument %zd must be a contiguous%s array of %s, of %d dimension(s)")
    + constant("tuple.text", "%s: argument %zd must be a tuple of %zd")
    + constant("array.writable", ", writable")
    + constant("array.nothing", "")
    + constant("array.whole", "int64")
    + constant("array.real", "float64")
    + constant("unknown.text", "a kernel ended with a status nobody knows: %d")
    + constant("module.name", "kernels")
    + constant("numpy.text", "numpy's binary interface is not that of numpy 2")
)

_OBJECTS = """
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_Format(ptr, ptr, ...)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare void @Py_IncRef(ptr)
@_Py_NoneStruct = external global i8
@PyExc_TypeError = external global ptr
declare hidden i1 @tokenring.array(ptr, i32, i32, i32, ptr, ptr, i64)
declare hidden void @tokenring.raised(i32, ptr)
declare hidden void @tokenring.count(ptr, i64, i64)
declare hidden i1 @tokenring.tuple(ptr, i64, ptr, i64)
declare hidden ptr @tokenring.made(ptr, ptr, ptr, i32, i32, i64, i64, i32)
"""


_ARRAY = "{{ ptr, ptr, i64, i64, ptr, [{0} x i64], [{0} x i64] }}"
_C_CONTIGUOUS_ALIGNED, _WRITABLE = 0x101, 0x400
_KINDS = {"int64": 7, "float64": 12}
_NUMBERS = {
    "int64": ("i64", "PyLong_AsLongLong", "icmp eq", "-1", "PyLong_FromLongLong"),
    "float64": ("double", "PyFloat_AsDouble", "fcmp oeq", "-1.0", "PyFloat_FromDouble"),
}
"""LLVM's name, what takes it out of an object, what that returns where it may have failed, and what makes an object."""


@dataclass
class _Body:
    """The text of a function as it grows."""

    lines: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    slots: int = 0
    places: int = 0

    def add(self, text: str) -> None:
        self.lines += [line.strip() for line in text.strip().splitlines()]


def call_text(number: int, kernel: Kernel, function: str, types: Any) -> str:
    """The function that Python calls as kernel `number`: `call.number`. types: numba's signature of it."""
    body = _Body()
    for at, one in enumerate(types.args):
        body.add(f"%at.{at} = getelementptr ptr, ptr %arguments, i64 {at}\n%given.{at} = load ptr, ptr %at.{at}")
        _take(body, number, at, f"%given.{at}", one)
    returned, given_back = _give_back(types.return_type)
    passed = ", ".join(["ptr %result", "ptr %raised", *body.passed])
    slots = "\n".join([f"%slot.{at} = alloca {{ ptr, i64, i64 }}" for at in range(body.slots)])
    takes = ", ".join(["ptr", "ptr", *[part.split()[0] for part in body.passed]])
    return f"""
{constant(f"name.{number}", kernel.name)}declare i32 @{function}({takes})
define hidden ptr @call.{number}(ptr %self, ptr %arguments, i64 %count) {{
%result = alloca {returned}
%raised = alloca ptr
{slots}
%right = icmp eq i64 %count, {len(types.args)}
br i1 %right, label %take, label %wrong
wrong:
call void @tokenring.count(ptr @name.{number}, i64 {len(types.args)}, i64 %count)
br label %none
none:
ret ptr null
take:
{chr(10).join(body.lines)}
store {returned} zeroinitializer, ptr %result
%status = call i32 @{function}({passed})
%is.done = icmp eq i32 %status, 0
%is.nothing = icmp eq i32 %status, -2
%is.well = or i1 %is.done, %is.nothing
br i1 %is.well, label %well, label %failed
failed:
%what = load ptr, ptr %raised
call void @tokenring.raised(i32 %status, ptr %what)
ret ptr null
well:
{given_back}
}}
{_entry_text(number, function) if isinstance(kernel, Entry) else ""}"""


def _entry_text(number: int, function: str) -> str:
    """The C function that an entry is called by."""
    return f"""
define hidden i64 @entry.{number}(i64 %first, i64 %second) {{
%result = alloca i64
%raised = alloca ptr
store i64 0, ptr %result
%status = call i32 @{function}(ptr %result, ptr %raised, i64 %first, i64 %second)
%is.done = icmp eq i32 %status, 0
%found = load i64, ptr %result
%said = select i1 %is.done, i64 %found, i64 {RAISED}
ret i64 %said
}}"""


def _take(body: _Body, number: int, at: int, given: str, one: Any) -> None:
    """Take the value of numba's type `one` out of an object."""
    place = body.places
    body.places += 1
    if (text := str(one)) in _NUMBERS:
        kind, function, compared, odd, _ = _NUMBERS[text]
        body.add(
            f"""%number.{place} = call {kind} @{function}(ptr {given})
            %odd.{place} = {compared} {kind} %number.{place}, {odd}
            br i1 %odd.{place}, label %ask.{place}, label %next.{place}
            ask.{place}:
            %error.{place} = call ptr @PyErr_Occurred()
            %is.error.{place} = icmp ne ptr %error.{place}, null
            br i1 %is.error.{place}, label %none, label %next.{place}
            next.{place}:"""
        )
        body.passed.append(f"{kind} %number.{place}")
    elif text in ("bool", "boolean"):
        body.add(
            f"""%truth.{place} = call i32 @PyObject_IsTrue(ptr {given})
            %odd.{place} = icmp slt i32 %truth.{place}, 0
            br i1 %odd.{place}, label %none, label %next.{place}
            next.{place}:
            %byte.{place} = trunc i32 %truth.{place} to i8"""
        )
        body.passed.append(f"i8 %byte.{place}")
    elif hasattr(one, "ndim"):
        _take_array(body, number, at, given, one, place)
    elif hasattr(one, "count"):
        body.add(
            f"""%whole.{place} = call i1 @tokenring.tuple(ptr {given}, i64 {one.count}, ptr @name.{number}, i64 {at})
            br i1 %whole.{place}, label %parts.{place}, label %none
            parts.{place}:"""
        )
        for part in range(one.count):
            body.add(f"%part.{place}.{part} = call ptr @PyTuple_GetItem(ptr {given}, i64 {part})")
            _take(body, number, at, f"%part.{place}.{part}", one.dtype)
    else:
        raise TypeError(f"argument {at} is of type {one}, which no kernel of a library takes")


def _take_array(body: _Body, number: int, at: int, given: str, one: Any, place: int) -> None:
    slot = f"%slot.{body.slots}"
    body.slots += 1
    kind = str(one.dtype)
    if kind not in _KINDS or one.ndim not in (1, 2) or one.layout != "C":
        raise TypeError(f"argument {at} is of type {one}, which no kernel of a library takes")
    flags = _C_CONTIGUOUS_ALIGNED | (_WRITABLE if one.mutable else 0)
    body.add(
        f"""%is.array.{place} = call i1 @tokenring.array(ptr {given}, i32 {one.ndim}, i32 {_KINDS[kind]}, i32 {flags}, \
ptr {slot}, ptr @name.{number}, i64 {at})
        br i1 %is.array.{place}, label %next.{place}, label %none
        next.{place}:
        %data.{place} = load ptr, ptr {slot}
        %rows.at.{place} = getelementptr i8, ptr {slot}, i64 8
        %rows.{place} = load i64, ptr %rows.at.{place}"""
    )
    array = ["ptr null", f"ptr {given}"]
    if one.ndim == 1:
        array += [f"i64 %rows.{place}", "i64 8", f"ptr %data.{place}", f"i64 %rows.{place}", "i64 8"]
    else:
        body.add(
            f"""%width.at.{place} = getelementptr i8, ptr {slot}, i64 16
            %width.{place} = load i64, ptr %width.at.{place}
            %items.{place} = mul i64 %rows.{place}, %width.{place}
            %stride.{place} = mul i64 %width.{place}, 8"""
        )
        array += [f"i64 %items.{place}", "i64 8", f"ptr %data.{place}", f"i64 %rows.{place}", f"i64 %width.{place}"]
        array += [f"i64 %stride.{place}", "i64 8"]
    body.passed += array


def _give_back(one: Any) -> tuple[str, str]:
    """How LLVM names what a kernel returns, and the code that makes an object of what it wrote to `%result`."""
    if str(one) == "none":
        return "ptr", "call void @Py_IncRef(ptr @_Py_NoneStruct)\nret ptr @_Py_NoneStruct"
    returned, lines, found = _object_of(one, "%result", "0")
    return returned, "\n".join([*lines, f"ret ptr {found}"])


def _object_of(one: Any, where: str, mark: str) -> tuple[str, list[str], str]:
    text = str(one)
    if text in _NUMBERS:
        kind, *_, made_by = _NUMBERS[text]
        return kind, [
            f"%value.{mark} = load {kind}, ptr {where}",
            f"%object.{mark} = call ptr @{made_by}({kind} %value.{mark})",
        ], f"%object.{mark}"  # fmt: skip
    if text in ("bool", "boolean"):
        return "i8", [
            f"%value.{mark} = load i8, ptr {where}",
            f"%wide.{mark} = zext i8 %value.{mark} to i64",
            f"%object.{mark} = call ptr @PyBool_FromLong(i64 %wide.{mark})",
        ], f"%object.{mark}"  # fmt: skip
    if hasattr(one, "ndim"):
        if str(one.dtype) not in _KINDS or one.ndim not in (1, 2) or one.layout != "C":
            raise TypeError(f"returns {one}, which no kernel of a library does")
        kind = _ARRAY.format(one.ndim)
        lines = [f"%array.{mark} = load {kind}, ptr {where}"]
        for name, place in (("info", 0), ("given", 1), ("data", 4)):
            lines.append(f"%{name}.back.{mark} = extractvalue {kind} %array.{mark}, {place}")
        lines.append(f"%rows.back.{mark} = extractvalue {kind} %array.{mark}, 5, 0")
        width = "1"
        if one.ndim == 2:
            lines.append(f"%width.back.{mark} = extractvalue {kind} %array.{mark}, 5, 1")
            width = f"%width.back.{mark}"
        lines.append(
            f"%object.{mark} = call ptr @tokenring.made(ptr %info.back.{mark}, ptr %given.back.{mark}, "
            f"ptr %data.back.{mark}, i32 {_KINDS[str(one.dtype)]}, i32 {one.ndim}, i64 %rows.back.{mark}, i64 {width}, "
            f"i32 {_C_CONTIGUOUS_ALIGNED | (_WRITABLE if one.mutable else 0)})"
        )
        return kind, lines, f"%object.{mark}"
    if hasattr(one, "count"):
        inner = [_object_of(one.dtype, f"%part.back.{mark}{part}", f"{mark}{part}") for part in range(one.count)]
        kind = f"[{one.count} x {inner[0][0]}]"
        lines = [f"%object.{mark} = call ptr @PyTuple_New(i64 {one.count})"]
        for part, (_, of_part, found) in enumerate(inner):
            lines.append(f"%part.back.{mark}{part} = getelementptr {kind}, ptr {where}, i64 0, i64 {part}")
            lines += of_part
            lines.append(f"%set.{mark}{part} = call i32 @PyTuple_SetItem(ptr %object.{mark}, i64 {part}, ptr {found})")
        return kind, lines, f"%object.{mark}"
    raise TypeError(f"returns {one}, which no kernel of a library does")


def calls_text(calls: list[str]) -> str:
    """A module of functions that Python calls."""
    return _OBJECTS + "\n".join(calls)


def module_text(kernels: int, entries: list[int], made_of: str) -> str:
    """The module that holds them, `kernels` of them: k0, k1 and so on. entries: those that have an address; made_of:
    what `made_of()` says."""
    names = ["begin", "address", "made_of", *[f"k{number}" for number in range(kernels)]]
    functions = ["@begin", "@address", "@made_of", *[f"@call.{number}" for number in range(kernels)]]
    flags = [_ONE_ARGUMENT, _ONE_ARGUMENT, _NO_ARGUMENT, *[_ARGUMENTS_IN_A_ROW] * kernels]
    texts = [constant(f"method.{name}", name) for name in names]
    methods = [
        f"{_METHOD} {{ ptr @method.{name}, ptr {function}, i32 {flag}, ptr null }}"
        for name, function, flag in zip(names, functions, flags, strict=True)
    ]
    declared = [f"declare hidden ptr @call.{number}(ptr, ptr, i64)" for number in range(kernels)]
    declared += [f"declare hidden i64 @entry.{number}(i64, i64)" for number in entries]
    addresses = ", ".join([f"ptr @entry.{at}" if at in entries else "ptr null" for at in range(kernels)])
    return (
        _TEXTS
        + _read("runtime.ll")
        + "\n".join([*texts, *declared])
        + f"""
@methods = internal global [{len(names) + 1} x {_METHOD}] [
{", ".join([*methods, f"{_METHOD} zeroinitializer"])}]
@addresses = internal constant [{kernels} x ptr] [{addresses}]
{constant("made.of.text", made_of)}{_read("module.ll").replace("KERNELS", str(kernels))}"""
    )


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text()


_METHOD = "{ ptr, ptr, i32, ptr }"
_ARGUMENTS_IN_A_ROW, _NO_ARGUMENT, _ONE_ARGUMENT = 0x80, 0x04, 0x08  # METH_FASTCALL, METH_NOARGS, METH_O

