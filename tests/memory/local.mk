# Where tensors lie: in the host's memory, in layouts of the devices' own.
check_PROGRAMS += tests/memory/test-keep tests/memory/test-slots
TESTS += tests/memory/test-keep tests/memory/test-slots
# what is right is computed on the cpu device
if ENABLE_CPU
check_PROGRAMS += tests/memory/test-data tests/memory/test-layout
TESTS += tests/memory/test-data tests/memory/test-layout
endif
memory_rig = %D%/rig.c %D%/rig.h tests/tap.c tests/tap.h
tests_memory_test_data_SOURCES = %D%/test-data.c $(memory_rig)
tests_memory_test_data_LDADD = libengine.la
tests_memory_test_keep_SOURCES = %D%/test-keep.c tests/tap.c tests/tap.h
tests_memory_test_keep_LDADD = libengine.la
tests_memory_test_slots_SOURCES = %D%/test-slots.c $(memory_rig)
tests_memory_test_slots_LDADD = libengine.la
tests_memory_test_layout_SOURCES = %D%/test-layout.c $(memory_rig)
tests_memory_test_layout_LDADD = libengine.la
EXTRA_DIST += tests/matrix.h
