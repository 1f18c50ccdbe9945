# Made by tests/layering/file-lists.sh --write from what the folder has.
conformance_case_files = \
	tests/conformance/gen_add_id.c \
	tests/conformance/gen_argsort.c \
	tests/conformance/gen_attention.c \
	tests/conformance/gen_convert.c \
	tests/conformance/gen_cumsum.c \
	tests/conformance/gen_element.c \
	tests/conformance/gen_matrix.c \
	tests/conformance/gen_norm.c \
	tests/conformance/gen_recurrent.c \
	tests/conformance/gen_rope.c \
	tests/conformance/gen_rows.c \
	tests/conformance/gen_shape.c \
	tests/conformance/gen_view.c
