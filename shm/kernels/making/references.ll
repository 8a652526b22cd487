; One reference more to memory that a kernel allocated, and one less, after which it is given back if that was the last.
; Kernels run one at a time in a process: under Python's lock, or in a worker's loop, which has it. So nothing is atomic.
; They are taken into their callers once numba's passes have removed pairs of calls, which know them by name: most is
; asked of arrays that own nothing, and goes.

declare void @NRT_MemInfo_call_dtor(ptr)

define linkonce_odr hidden void @NRT_incref(ptr %info) alwaysinline nounwind {
  %is.none = icmp eq ptr %info, null
  br i1 %is.none, label %done, label %add
add:
  %count = load i64, ptr %info
  %more = add i64 %count, 1
  store i64 %more, ptr %info
  br label %done
done:
  ret void
}

define linkonce_odr hidden void @NRT_decref(ptr %info) alwaysinline nounwind {
  %is.none = icmp eq ptr %info, null
  br i1 %is.none, label %done, label %take
take:
  %count = load i64, ptr %info
  %less = sub i64 %count, 1
  store i64 %less, ptr %info
  %is.last = icmp eq i64 %less, 0
  br i1 %is.last, label %last, label %done
last:
  call void @NRT_MemInfo_call_dtor(ptr %info)
  br label %done
done:
  ret void
}
