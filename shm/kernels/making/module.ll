; The module that holds the kernels: its beginning, and what it offers beside them. KERNELS is how many there are.
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyUnicode_FromString(ptr)
@module = internal global { i64, ptr, ptr, i64, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr } {
  i64 1, ptr null, ptr null, i64 0, ptr null, ptr @module.name, ptr null, i64 -1, ptr @methods, ptr null, ptr null,
  ptr null, ptr null }

define ptr @PyInit_kernels() {
  %made = call ptr @PyModule_Create2(ptr @module, i32 3)
  ret ptr %made
}

; begin(capsule): where numpy's functions are.
define internal ptr @begin(ptr %self, ptr %capsule) {
  %table = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  %is.none = icmp eq ptr %table, null
  br i1 %is.none, label %none, label %ask
ask:
  %version.of = load ptr, ptr %table
  %version = call i32 %version.of()
  %is.two = icmp eq i32 %version, 33554432
  br i1 %is.two, label %well, label %other
other:
  %error = load ptr, ptr @PyExc_ImportError
  call void @PyErr_SetString(ptr %error, ptr @numpy.text)
  br label %none
none:
  ret ptr null
well:
  store ptr %table, ptr @tokenring.numpy
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}

; address(number): where an entry is; 0 if that kernel is none.
define internal ptr @address(ptr %self, ptr %number) {
  %at = call i64 @PyLong_AsLongLong(ptr %number)
  %is.there = icmp ult i64 %at, KERNELS
  %safe = select i1 %is.there, i64 %at, i64 0
  %where = getelementptr ptr, ptr @addresses, i64 %safe
  %found = load ptr, ptr %where
  %word = ptrtoint ptr %found to i64
  %said = call ptr @PyLong_FromLongLong(i64 %word)
  ret ptr %said
}

; made_of(): the hash of what the library was made of.
define internal ptr @made_of(ptr %self, ptr %nothing) {
  %said = call ptr @PyUnicode_FromString(ptr @made.of.text)
  ret ptr %said
}
