/* GGUF files: what is refused and how it is said. */
#include "config.h"

#include <string.h>

#include "gguf_file.h"

START_TEST(headers)
{
    static const struct {
        const char *bytes;
        int status;
        const char *text;
    } versions[] = {{"\0\0\0\0", ENG_ERR_UNSUPPORTED, "version 0"},
                    {"\1\0\0\0", ENG_ERR_UNSUPPORTED, "version 1"},
                    {"\4\0\0\0", ENG_ERR_UNSUPPORTED, "version 4"},
                    {"\0\0\0\3", ENG_ERR_UNSUPPORTED, "byte order"}};

    file.n = 0;
    refused(ENG_ERR_FORMAT, "empty");
    put(&file, "GGU", 3);
    refused(ENG_ERR_FORMAT, "not a GGUF file");
    put(&file, "Fxx", 3);
    refused(ENG_ERR_FORMAT, "header");
    put_header(&file, 0, 0);
    memcpy(file.data, "GGML", 4);
    refused(ENG_ERR_FORMAT, "not a GGUF file");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        put_header(&file, 0, 0);
        memcpy(file.data + 4, versions[i].bytes, 4);
        refused(versions[i].status, versions[i].text);
    }
    put_header(&file, 0, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "keys");
    put_header(&file, UINT64_C(1) << 61, 0);
    refused(ENG_ERR_FORMAT, "tensors");
    put_header(&file, 0, 2);
    put_u32_key(&file, "one.key.of.two", 1);
    refused(ENG_ERR_FORMAT, "ends inside");
}
END_TEST

START_TEST(no_files)
{
    eng_gguf *g = NULL;

    ck_assert_int_eq(eng_gguf_open("there/is/no/such/file.gguf", &g), ENG_ERR_NOTFOUND);
    ck_assert_int_eq(eng_gguf_open(".", &g), ENG_ERR_IO);
    ck_assert(strstr(eng_last_error(), "folder"));
    ck_assert_int_eq(eng_gguf_open(NULL, &g), ENG_ERR_INVALID);
    eng_gguf_close(NULL);
}
END_TEST

START_TEST(keys)
{
    put_header(&file, 0, 1);
    put_u32_key(&file, "", 1);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "empty name");
    put_header(&file, 0, 2);
    put_u32_key(&file, "twice", 1);
    put_u32_key(&file, "twice", 1);
    refused(ENG_ERR_FORMAT, "twice");
    put_header(&file, 0, 1);
    put_string(&file, "odd");
    put_u32(&file, 13);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "type 13");
    put_header(&file, 0, 1);
    put_string(&file, "~od\x7f\n\x1f d"); /* characters that a terminal might take for more */
    put_u32(&file, 13);
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "key \"~od??? d\"");
    put_header(&file, 0, 1);
    put_string(&file, "text");
    put_u32(&file, 8);
    put_u64(&file, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "announces");
    put_header(&file, 0, 1);
    put_u64(&file, UINT64_MAX - 7); /* the name of the key */
    put_u64(&file, 0);
    refused(ENG_ERR_FORMAT, "announces");
}
END_TEST

START_TEST(arrays)
{
    static const struct {
        uint32_t element;
        uint64_t n;
        const char *text;
    } cases[] = {{9, 1, "array of type 9"},
                 {99, 1, "array of type 99"},
                 {4, 1000, "announces"},
                 {10, UINT64_C(1) << 61, "announces"},
                 {8, UINT64_MAX / 8 + 2, "ends inside"},
                 {8, 3, "ends inside"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_header(&file, 0, 1);
        put_string(&file, "list");
        put_u32(&file, 9);
        put_u32(&file, cases[i].element);
        put_u64(&file, cases[i].n);
        put_string(&file, "x");
        refused(ENG_ERR_FORMAT, cases[i].text);
    }
}
END_TEST

START_TEST(alignments)
{
    put_header(&file, 0, 1);
    put_text_key(&file, "general.alignment", "32");
    refused(ENG_ERR_FORMAT, "expected u32");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 48);
    refused(ENG_ERR_FORMAT, "power of two");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 0);
    refused(ENG_ERR_FORMAT, "power of two");
    put_header(&file, 0, 1);
    put_u32_key(&file, "general.alignment", 1u << 31);
    accepted();
    put_header(&file, 1, 1); /* what is behind a header that is filled up to 2 GiB */
    put_u32_key(&file, "general.alignment", 1u << 31);
    put_tensor(&file, "far", 0, 0, (const uint64_t[]){4}, 1);
    put(&file, file.data, 64);
    refused(ENG_ERR_FORMAT, "truncated");
    put_header(&file, 0, 1);
    put_u32_key(&file, "split.count", 3);
    refused(ENG_ERR_FORMAT, "split.no");
    put_header(&file, 0, 1);
    put_u32_key(&file, "split.count", 1);
    accepted();
}
END_TEST

/* One tensor with 4096 bytes of data behind. */
static void one_tensor(const char *name, uint32_t type, uint64_t offset, uint32_t rank, uint64_t n0, uint64_t n1)
{
    static const uint8_t zeros[4096];
    uint64_t ne[8] = {n0, n1, 1, 1, 1, 1, 1, 1};

    put_header(&file, 1, 0);
    put_tensor(&file, name, type, offset, ne, rank);
    put_padding(&file, 32);
    put(&file, zeros, sizeof zeros);
}

START_TEST(shapes)
{
    one_tensor("five", 0, 0, 5, 2, 2);
    refused(ENG_ERR_FORMAT, "5 dimensions");
    one_tensor("minus", 0, 0, 2, 4, UINT64_MAX);
    refused(ENG_ERR_FORMAT, "extent -1");
    one_tensor("wraps", 0, 0, 2, UINT64_C(1) << 32, UINT64_C(1) << 32);
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("hidden", 0, 0, 3, UINT64_C(1) << 62, 4); /* the product alone is 2^64 */
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("past", 0, 0, 2, UINT64_C(1) << 20, (UINT64_C(1) << 42) + 1); /* its bytes are 2^64 and few more */
    refused(ENG_ERR_FORMAT, "larger than any file");
    one_tensor("removed", 4, 0, 2, 32, 1);
    refused(ENG_ERR_UNSUPPORTED, "type 4");
    one_tensor("future", 1000, 0, 2, 32, 1);
    refused(ENG_ERR_UNSUPPORTED, "type 1000");
    one_tensor("ragged", 2, 0, 2, 33, 1);
    refused(ENG_ERR_FORMAT, "multiple of 32");
    one_tensor("", 0, 0, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "empty name");
    one_tensor("nul", 0, 0, 1, 4, 1);
    file.data[24 + 8 + 1] = 0;
    refused(ENG_ERR_FORMAT, "NUL");
}
END_TEST

START_TEST(places)
{
    static const uint64_t ne[1] = {16};

    one_tensor("askew", 0, 4, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "alignment");
    one_tensor("beyond", 0, 4096, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("far", 0, UINT64_MAX - 31, 1, 4, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("large", 0, 0, 1, 1025, 1);
    refused(ENG_ERR_FORMAT, "truncated");
    one_tensor("exact", 0, 0, 1, 1024, 1);
    accepted();
    put_header(&file, 2, 0);
    put_tensor(&file, "one", 0, 0, ne, 1);
    put_tensor(&file, "other", 0, 32, ne, 1);
    put_padding(&file, 32);
    put(&file, file.data, 256);
    refused(ENG_ERR_FORMAT, "overlaps");
    put_header(&file, 2, 0);
    put_tensor(&file, "same", 0, 0, ne, 1);
    put_tensor(&file, "same", 0, 64, ne, 1);
    put_padding(&file, 32);
    put(&file, file.data, 256);
    refused(ENG_ERR_FORMAT, "there twice");
}
END_TEST

void gguf_refused(TCase *all)
{
    tcase_add_test(all, headers);
    tcase_add_test(all, no_files);
    tcase_add_test(all, keys);
    tcase_add_test(all, arrays);
    tcase_add_test(all, alignments);
    tcase_add_test(all, shapes);
    tcase_add_test(all, places);
}
