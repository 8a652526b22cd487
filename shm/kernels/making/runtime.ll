; What calls of kernels share: arguments that are arrays, arrays that are returned, errors; and what numba's runtime does
; for arrays that kernels make. In LLVM's language; calls.py puts texts and the table of kernels before it.
%object = type { i64, ptr }
@tokenring.numpy = hidden global ptr null
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @PyErr_Format(ptr, ptr, ...)
declare void @PyErr_SetString(ptr, ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyModule_Create2(ptr, i32)
@PyExc_TypeError = external global ptr
@PyExc_ImportError = external global ptr
@PyExc_SystemError = external global ptr
@PyTuple_Type = external global i8
@_Py_NoneStruct = external global i8


; TypeError: a kernel was called with another number of arguments.
define hidden void @tokenring.count(ptr %name, i64 %takes, i64 %given) cold noinline {
  %kind = load ptr, ptr @PyExc_TypeError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @count.text, ptr %name, i64 %takes, i64 %given)
  ret void
}

; Whether an object is a tuple of `columns` values; TypeError if not.
define hidden i1 @tokenring.tuple(ptr %object, i64 %columns, ptr %name, i64 %at) {
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr @PyTuple_Type)
  %is.tuple = icmp ne i32 %is, 0
  br i1 %is.tuple, label %ask, label %wrong
ask:
  %size = call i64 @PyTuple_Size(ptr %object)
  %right = icmp eq i64 %size, %columns
  br i1 %right, label %done, label %wrong
done:
  ret i1 true
wrong:
  %error = load ptr, ptr @PyExc_TypeError
  %place = add i64 %at, 1
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @tuple.text, ptr %name, i64 %place, i64 %columns)
  ret i1 false
}

; Raise what a kernel raised: `raised` leads to the exception's class and its text.
define hidden void @tokenring.raised(i32 %status, ptr %raised) cold noinline {
  %known = icmp sge i32 %status, 1
  br i1 %known, label %told, label %unknown
told:
  %what = load ptr, ptr %raised
  %class.at = load ptr, ptr %what
  %class = load ptr, ptr %class.at
  %text = getelementptr i8, ptr %what, i64 8
  call void @PyErr_SetString(ptr %class, ptr %text)
  ret void
unknown:
  %broken = load ptr, ptr @PyExc_SystemError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %broken, ptr @unknown.text, i32 %status)
  ret void
}

; An array's data and shape, written to `out`; false, and TypeError, if it is no array of this kind (7: int64, 12:
; float64) and number of dimensions, or lacks a flag.
define hidden i1 @tokenring.array(ptr %array, i32 %dimensions, i32 %kind, i32 %flags, ptr %out, ptr %name, i64 %at) {
  %type.at = getelementptr i8, ptr %array, i64 8
  %type = load ptr, ptr %type.at
  %table = load ptr, ptr @tokenring.numpy
  %arrays.at = getelementptr ptr, ptr %table, i64 2
  %arrays = load ptr, ptr %arrays.at
  %exactly = icmp eq ptr %type, %arrays
  br i1 %exactly, label %look, label %derived
derived:
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %arrays)
  %is.one = icmp ne i32 %is, 0
  br i1 %is.one, label %look, label %wrong
look:
  %dimensions.at = getelementptr i8, ptr %array, i64 24
  %found = load i32, ptr %dimensions.at
  %right.found = icmp eq i32 %found, %dimensions
  %flags.at = getelementptr i8, ptr %array, i64 64
  %has = load i32, ptr %flags.at
  %both = and i32 %has, %flags
  %right.flags = icmp eq i32 %both, %flags
  %descr.at = getelementptr i8, ptr %array, i64 56
  %descr = load ptr, ptr %descr.at
  %number.at = getelementptr i8, ptr %descr, i64 28
  %number = load i32, ptr %number.at
  %right.number = icmp eq i32 %number, %kind
  %is.longlong = icmp eq i32 %number, 9
  %wants.long = icmp eq i32 %kind, 7
  %right.longlong = and i1 %is.longlong, %wants.long
  %right.kind = or i1 %right.number, %right.longlong
  %order.at = getelementptr i8, ptr %descr, i64 26
  %order = load i8, ptr %order.at
  %right.order = icmp ne i8 %order, 62
  %right.1 = and i1 %right.found, %right.flags
  %right.2 = and i1 %right.kind, %right.order
  %right = and i1 %right.1, %right.2
  br i1 %right, label %take, label %wrong
take:
  %data.at = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %out
  %shape.at = getelementptr i8, ptr %array, i64 32
  %shape = load ptr, ptr %shape.at
  %first = load i64, ptr %shape
  %out.1 = getelementptr i8, ptr %out, i64 8
  store i64 %first, ptr %out.1
  %is.table = icmp eq i32 %dimensions, 2
  br i1 %is.table, label %second, label %done
second:
  %second.at = getelementptr i64, ptr %shape, i64 1
  %width = load i64, ptr %second.at
  %out.2 = getelementptr i8, ptr %out, i64 16
  store i64 %width, ptr %out.2
  br label %done
done:
  ret i1 true
wrong:
  %writable = and i32 %flags, 1024
  %is.writable = icmp ne i32 %writable, 0
  %more = select i1 %is.writable, ptr @array.writable, ptr @array.nothing
  %is.real = icmp eq i32 %kind, 12
  %of = select i1 %is.real, ptr @array.real, ptr @array.whole
  %error = load ptr, ptr @PyExc_TypeError
  %place = add i64 %at, 1
  call ptr (ptr, ptr, ...) @PyErr_Format(
    ptr %error, ptr @array.text, ptr %name, i64 %place, ptr %more, ptr %of, i32 %dimensions)
  ret i1 false
}

; Give back what an array kept that a kernel allocated.
define internal void @tokenring.let_go(ptr %capsule) {
  %info = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @tokenring.forget(ptr %info)
  ret void
}

; One reference less: several arrays may share what a kernel allocated.
define internal void @tokenring.forget(ptr %info) {
  %before = atomicrmw sub ptr %info, i64 1 acq_rel
  %is.last = icmp eq i64 %before, 1
  br i1 %is.last, label %last, label %done
last:
  call void @NRT_MemInfo_call_dtor(ptr %info)
  br label %done
done:
  ret void
}

; The array that a kernel returns: one that it was given, a part of one, one of its own memory, or of memory that
; somebody else owns. flags: as numpy has them.
define hidden ptr @tokenring.made(ptr %info, ptr %given, ptr %data, i32 %kind, i32 %dimensions, i64 %rows,
    i64 %width, i32 %flags) {
  %shape = alloca [2 x i64]
  %second = getelementptr i64, ptr %shape, i64 1
  %is.given = icmp ne ptr %given, null
  br i1 %is.given, label %compare, label %new
compare:
  %given.data.at = getelementptr i8, ptr %given, i64 16
  %given.data = load ptr, ptr %given.data.at
  %same.data = icmp eq ptr %given.data, %data
  %given.dimensions.at = getelementptr i8, ptr %given, i64 24
  %given.dimensions = load i32, ptr %given.dimensions.at
  %same.dimensions = icmp eq i32 %given.dimensions, %dimensions
  %given.shape.at = getelementptr i8, ptr %given, i64 32
  %given.shape = load ptr, ptr %given.shape.at
  %given.rows = load i64, ptr %given.shape
  %same.rows = icmp eq i64 %given.rows, %rows
  %is.table = icmp eq i32 %dimensions, 2
  %last = zext i1 %is.table to i64
  %given.width.at = getelementptr i64, ptr %given.shape, i64 %last
  %wanted.width = select i1 %is.table, i64 %width, i64 %rows
  %both.dimensions = and i1 %same.data, %same.dimensions
  %both.rows = and i1 %both.dimensions, %same.rows
  br i1 %both.rows, label %compare.width, label %new
compare.width:
  %given.width = load i64, ptr %given.width.at
  %same.width = icmp eq i64 %given.width, %wanted.width
  br i1 %same.width, label %same, label %new
same:
  call void @Py_IncRef(ptr %given)
  ret ptr %given
new:
  store i64 %rows, ptr %shape
  store i64 %width, ptr %second
  %table = load ptr, ptr @tokenring.numpy
  %arrays.at = getelementptr ptr, ptr %table, i64 2
  %arrays = load ptr, ptr %arrays.at
  %new.at = getelementptr ptr, ptr %table, i64 93
  %new.one = load ptr, ptr %new.at
  %array = call ptr %new.one(
    ptr %arrays, i32 %dimensions, ptr %shape, i32 %kind, ptr null, ptr %data, i32 0, i32 %flags, ptr null)
  %is.own = icmp ne ptr %info, null
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %lose, label %keep
lose:
  br i1 %is.own, label %lose.own, label %done
lose.own:
  call void @tokenring.forget(ptr %info)
  br label %done
keep:
  br i1 %is.own, label %own, label %ask
own:
  %capsule = call ptr @PyCapsule_New(ptr %info, ptr null, ptr @tokenring.let_go)
  br label %owned
ask:
  br i1 %is.given, label %lent, label %done
lent:
  call void @Py_IncRef(ptr %given)
  br label %owned
owned:
  %owner = phi ptr [ %capsule, %own ], [ %given, %lent ]
  %base.at = getelementptr ptr, ptr %table, i64 282
  %base = load ptr, ptr %base.at
  %set = call i32 %base(ptr %array, ptr %owner)
  br label %done
done:
  ret ptr %array
}

; What numba calls for arrays that kernels make: a count of references, who ends them, where the data is, its size.
define hidden ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %wide = zext i32 %alignment to i64
  %more = add i64 %wide, 48
  %all = add i64 %size, %more
  %base = call ptr @malloc(i64 %all)
  %is.none = icmp eq ptr %base, null
  br i1 %is.none, label %none, label %fill
none:
  ret ptr null
fill:
  %from = ptrtoint ptr %base to i64
  %beyond.head = add i64 %from, 47
  %beyond = add i64 %beyond.head, %wide
  %mask = sub i64 0, %wide
  %at = and i64 %beyond, %mask
  %data = inttoptr i64 %at to ptr
  store { i64, ptr, ptr, ptr, i64, ptr } { i64 1, ptr null, ptr null, ptr null, i64 0, ptr null }, ptr %base
  %data.at = getelementptr i8, ptr %base, i64 24
  store ptr %data, ptr %data.at
  %size.at = getelementptr i8, ptr %base, i64 32
  store i64 %size, ptr %size.at
  ret ptr %base
}

; The strides of a contiguous array in another shape; 0 if it is not contiguous.
define hidden i32 @numba_attempt_nocopy_reshape(
    i64 %from.dimensions, ptr %from.shape, ptr %from.strides,
    i64 %dimensions, ptr %shape, ptr %strides, i64 %item, i32 %is.fortran) {
begin:
  br label %check
check:
  %rest = phi i64 [ %from.dimensions, %begin ], [ %before, %agree ]
  %wanted = phi i64 [ %item, %begin ], [ %more, %agree ]
  %is.checked = icmp eq i64 %rest, 0
  br i1 %is.checked, label %test, label %look
look:
  %before = sub i64 %rest, 1
  %from.size.at = getelementptr i64, ptr %from.shape, i64 %before
  %from.size = load i64, ptr %from.size.at
  %from.stride.at = getelementptr i64, ptr %from.strides, i64 %before
  %from.stride = load i64, ptr %from.stride.at
  %is.wanted = icmp eq i64 %from.stride, %wanted
  %is.any = icmp ule i64 %from.size, 1
  %is.right = or i1 %is.wanted, %is.any
  br i1 %is.right, label %agree, label %other
agree:
  %more = mul i64 %wanted, %from.size
  br label %check
other:
  ret i32 0
test:
  %left = phi i64 [ %dimensions, %check ], [ %at, %next ]
  %stride = phi i64 [ %item, %check ], [ %wider, %next ]
  %is.over = icmp eq i64 %left, 0
  br i1 %is.over, label %done, label %next
next:
  %at = sub i64 %left, 1
  %stride.at = getelementptr i64, ptr %strides, i64 %at
  store i64 %stride, ptr %stride.at
  %size.at = getelementptr i64, ptr %shape, i64 %at
  %size = load i64, ptr %size.at
  %wider = mul i64 %stride, %size
  br label %test
done:
  ret i32 1
}

define hidden ptr @NRT_Allocate(i64 %size) {
  %memory = call ptr @malloc(i64 %size)
  ret ptr %memory
}

define hidden void @NRT_Free(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}

define hidden void @NRT_MemInfo_call_dtor(ptr %info) {
  call void @free(ptr %info)
  ret void
}
