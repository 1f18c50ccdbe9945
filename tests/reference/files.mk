# Made by tests/layering/file-lists.sh --write from what the folder has.
reference_files = \
	tests/reference/add_id.c \
	tests/reference/argsort.c \
	tests/reference/attention.c \
	tests/reference/cumsum.c \
	tests/reference/element.c \
	tests/reference/encode.c \
	tests/reference/eval.c \
	tests/reference/grids.c \
	tests/reference/grids.h \
	tests/reference/matrix.c \
	tests/reference/norm.c \
	tests/reference/recurrent.c \
	tests/reference/ref.h \
	tests/reference/rope.c \
	tests/reference/shape.c \
	tests/reference/tensor.c \
	tests/reference/types.c \
	tests/reference/view.c
