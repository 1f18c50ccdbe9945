/* What everything stands on: arenas, arrays, texts, JSON, tables, control groups. */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libengine/util/util.h"
#include "tests/meta/count.h"
#include "colliding.h"

/* -- memory ------------------------------------------------------------------------ */

START_TEST(arenas)
{
    eu_arena arena = {0};
    unsigned char *last = NULL;
    for (size_t i = 0; i < 3000; i++) {
        size_t bytes = i * 7 % 5000;
        unsigned char *p = eu_arena_alloc(&arena, bytes);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        ck_assert(p != last);
        unsigned char any = 0;
        for (size_t b = 0; b < bytes; b++)
            any |= p[b];
        ck_assert_uint_eq(any, 0);
        memset(p, 0xff, bytes);
        last = p;
    }
    ck_assert_ptr_null(eu_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(eu_arena_alloc(&arena, SIZE_MAX - 15));
    ck_assert_ptr_null(eu_arena_array(&arena, SIZE_MAX / 4, 8));
    ck_assert_str_eq(eu_arena_string(&arena, "text"), "text");
    ck_assert_str_eq(eu_arena_format(&arena, "%s-%d", "a", 5), "a-5");
    ck_assert_int_eq(*(int *)eu_arena_copy(&arena, &(int){7}, sizeof(int)), 7);
    eu_arena_end(&arena);
    ck_assert_ptr_null(arena.blocks);
    eu_arena_end(&arena);
    ck_assert_ptr_nonnull(eu_arena_alloc(&arena, 1)); /* an ended one is an empty one */
    eu_arena_end(&arena);
}
END_TEST

START_TEST(arrays)
{
    EU_ARRAY(uint32_t) list = {0};
    for (uint32_t i = 0; i < 100000; i++)
        ck_assert(eu_array_add(&list, i * i));
    ck_assert_uint_eq(list.n, 100000);
    for (uint32_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(list.at[i], i * i);
    ck_assert(!eu_array_reserve(&list, SIZE_MAX / 4)); /* their bytes do not fit */
    ck_assert(!eu_array_reserve(&list, SIZE_MAX));
    ck_assert_uint_eq(list.at[99999], 99999u * 99999u);
    ck_assert(eu_array_resize(&list, 5));
    ck_assert_uint_eq(list.n, 5);
    eu_array_free(&list);
    ck_assert_ptr_null(list.at);
    void *nothing = eu_zeroed(0, 8), *empty = eu_zeroed(8, 0);
    ck_assert(nothing && empty);
    free(nothing);
    free(empty);
    ck_assert_ptr_null(eu_zeroed(SIZE_MAX / 4, 8));
}
END_TEST

START_TEST(sizes)
{
    uint64_t n = 7;
    ck_assert(eu_mul(1u << 31, 1u << 31, &n));
    ck_assert_uint_eq(n, UINT64_C(1) << 62);
    ck_assert(!eu_mul(UINT64_C(1) << 40, UINT64_C(1) << 40, &n));
    ck_assert(eu_add(UINT64_MAX - 1, 1, &n));
    ck_assert(!eu_add(UINT64_MAX, 1, &n));
    ck_assert_uint_eq(eu_round_up(0, 32), 0);
    ck_assert_uint_eq(eu_round_up(33, 32), 64);
    ck_assert_uint_eq(eu_round_up(10, 5), 10);
}
END_TEST

/* -- text ---------------------------------------------------------------------------- */

START_TEST(texts)
{
    eu_text t = {0};
    ck_assert_str_eq(eu_text_get(&t), "");
    for (int i = 0; i < 1000; i++)
        eu_text_format(&t, "%d,", i % 10);
    eu_text_add(&t, "end");
    eu_text_add_bytes(&t, "\0x", 2);
    ck_assert_uint_eq(t.n, 2005);
    ck_assert(!t.failed);
    char *taken = eu_text_take(&t);
    ck_assert(strncmp(taken, "0,1,2,3,4,", 10) == 0 && strcmp(taken + 2000, "end") == 0);
    free(taken);
    ck_assert_ptr_null(t.at);
    taken = eu_text_take(&t); /* of nothing: an empty text */
    ck_assert_str_eq(taken, "");
    free(taken);

    char small[8];
    t = EU_TEXT_IN(small);
    eu_text_add(&t, "abc");
    eu_text_format(&t, "-%d-", 12345);
    ck_assert_str_eq(small, "abc-123");
    eu_text_add(&t, "more");
    eu_text_format(&t, "%d", 1);
    ck_assert_str_eq(small, "abc-123");
    ck_assert(!t.failed);
    eu_copy(small, sizeof small, "too long for it");
    ck_assert_str_eq(small, "too lon");
    eu_copy(small, sizeof small, "");
    ck_assert_str_eq(small, "");
    eu_copy(NULL, 0, "nowhere");

    /* more than there can be: it fails, keeps what it had, and takes no more */
    t = (eu_text){0};
    eu_text_add(&t, "kept");
    eu_text_add_bytes(&t, "x", SIZE_MAX - 4);
    ck_assert(t.failed);
    eu_text_add(&t, "y");
    ck_assert_str_eq(eu_text_get(&t), "kept");
    ck_assert_ptr_null(eu_text_take(&t));
}
END_TEST

START_TEST(characters)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1}, {"\xc3\xa9", 2}, {"\xe2\x82\xac", 3}, {"\xf0\x9f\x98\x80", 4}, {"\xf4\x8f\xbf\xbf", 4},
        /* too long a form */
        {"\x80", 0}, {"\xc0\x80", 0}, {"\xc1\xbf", 0}, {"\xc3", 0}, {"\xc3(", 0}, {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0}, /* a surrogate */ {"\xf0\x80\x80\x80", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0},
        {"\xff", 0}, {"\xe2\x82", 0}, {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(eu_utf8_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
    ck_assert_uint_eq(eu_utf8_length("\xe2\x82\xac", 2), 0);
    ck_assert_uint_eq(eu_utf8_cut("a\xe2\x82\xac\xf0\x9f\x98", 7) + 8 * eu_utf8_cut("a\xe2\x82\xac", 4), 4 + 8 * 4);
}
END_TEST

/* In other locales: tests/tools/locale.sh. */
START_TEST(reals)
{
    static const struct { char style; int digits; double value; const char *text;
    } cases[] = {{'f', 9, 0.25, "0.250000000"}, {'f', 0, 3, "3"},
                 {'g', 6, 1e-6, "1e-06"},       {'g', 3, -1234.5, "-1.23e+03"},
                 {'g', 6, -0.5, "-0.5"},        {'g', 17, 1e300, "1.0000000000000001e+300"},
                 {'g', 6, INFINITY, "inf"},     {'g', 6, -INFINITY, "-inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        ck_assert_uint_eq(eu_real(text, sizeof text, cases[i].style, cases[i].digits, cases[i].value),
                          strlen(cases[i].text));
        ck_assert_str_eq(text, cases[i].text);
    }
    ck_assert(eu_same_name("IQ4_NL", "iq4_nl") && eu_same_name("", ""));
    ck_assert(!eu_same_name("iq4", "iq4_nl") && !eu_same_name("iq4_nl", "iq4") && !eu_same_name("a[", "a{"));
}
END_TEST

START_TEST(near_names)
{
    ck_assert_uint_eq(eu_distance("", ""), 0);
    ck_assert_uint_eq(eu_distance("abc", ""), 3);
    ck_assert_uint_eq(eu_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(eu_distance("thraeds", "threads"), 1); /* swapped */
    ck_assert_uint_eq(eu_distance("CPU", "cpu"), 0);
    char longer[200];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    ck_assert_uint_eq(eu_distance(longer, "x"), 62);
    unsigned best = UINT_MAX;
    ck_assert(!eu_nearer("threads", "kernels", &best));
    ck_assert(eu_nearer("treads", "threads", &best));
    ck_assert_uint_eq(best, 1);
    ck_assert(!eu_nearer("treads", "trades", &best)); /* no nearer than the one before */
    ck_assert(eu_nearer("treads", "treads", &best));
}
END_TEST

/* What people paste means what they expect, and nothing takes long. */
START_TEST(patterns)
{
    static const char name[] = "blk.12.ffn_up.weight", *const found[] = {
        "", "blk\\.\\d+\\.ffn_(?:up|down)\\.", ".*", "^blk.*weight$", "(?i)FFN", "\\bffn_up\\b", "ffn_(?!down)", "a{0,250}", "[[:digit:]]+"},
        *const absent[] = {"^ffn", "blk\\.(?:3[0-9])\\.", "\\d{3}", "up.weight.$", "blk\\.\\D"},
        *const wrong[] = {"[=cpu", "(((", "a)", "a\\", "*a", "(?<n", "((a{1,250}){1,250}){1,250}", "a{65536}", "(*UTF)a"};
    char why[128], many[200];
    eu_pattern *p;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        ck_assert_msg((p = eu_pattern_create(found[i], why, sizeof why)) != NULL, "%s: %s", found[i], why);
        ck_assert_msg(eu_pattern_found(p, name), "%s", found[i]);
        eu_pattern_destroy(p);
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        ck_assert_msg((p = eu_pattern_create(absent[i], why, sizeof why)) != NULL, "%s: %s", absent[i], why);
        ck_assert_msg(!eu_pattern_found(p, name) && eu_pattern_get_state(p) == EU_PATTERN_FINE, "%s", absent[i]);
        eu_pattern_destroy(p);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(eu_pattern_create(wrong[i], why, sizeof why) == NULL, "%s", wrong[i]);
        ck_assert_msg(strstr(why, ", at character ") != NULL, "%s: %s", wrong[i], why);
    }
    memset(many, 'a', sizeof many);
    memcpy(many + sizeof many - 2, "b", 2);
    ck_assert_ptr_nonnull(p = eu_pattern_create("(a+)+$", why, sizeof why));
    uint64_t begin = eu_now();
    ck_assert(!eu_pattern_found(p, many));
    ck_assert_int_eq(eu_pattern_get_state(p), EU_PATTERN_ENDLESS);
    ck_assert(!eu_pattern_found(p, "a")); /* it was given up for good */
    ck_assert_msg(eu_now() - begin < EU_SECOND, "%g s", (double)(eu_now() - begin) / EU_SECOND);
    eu_pattern_destroy(p);
    eu_pattern_destroy(NULL);
}
END_TEST

/* -- JSON ------------------------------------------------------------------------------ */

static void write_document(eu_json *j)
{
    eu_json_object(j, NULL, true);
    eu_json_text(j, "plain", "a \"b\" \\ c");
    eu_json_bytes(j, "bytes", "x\0\x1f\x7f\n\xc3\xa9\xff\xe2\x82", 10);
    eu_json_text(j, "none", NULL);
    eu_json_int(j, "least", INT64_MIN);
    eu_json_uint(j, "most", UINT64_MAX);
    eu_json_real(j, "half", 0.5, 6);
    eu_json_real(j, "nan", NAN, 6);
    eu_json_real(j, "infinite", -INFINITY, 6);
    eu_json_bool(j, "yes", true);
    eu_json_list(j, "empty", true);
    eu_json_end(j);
    eu_json_list(j, "rows", true);
    for (int i = 0; i < 2; i++) {
        eu_json_object(j, NULL, false);
        eu_json_int(j, "i", i);
        eu_json_list(j, "ids", false);
        eu_json_int(j, NULL, 1);
        eu_json_null(j, NULL);
        eu_json_end(j);
        eu_json_end(j);
    }
    eu_json_end(j);
    eu_json_end(j);
}

START_TEST(json)
{
    eu_text t = {0};
    eu_json j = {.write = eu_json_to_text, .user = &t};
    write_document(&j);
    ck_assert_str_eq(eu_text_get(&t),
                     "{\n"
                     "  \"plain\": \"a \\\"b\\\" \\\\ c\",\n"
                     "  \"bytes\": \"x\\u0000\\u001f\\u007f\\u000a\xc3\xa9\\ufffd\\ufffd\\ufffd\",\n"
                     "  \"none\": null,\n"
                     "  \"least\": -9223372036854775808,\n"
                     "  \"most\": 18446744073709551615,\n"
                     "  \"half\": 0.5,\n"
                     "  \"nan\": null,\n"
                     "  \"infinite\": null,\n"
                     "  \"yes\": true,\n"
                     "  \"empty\": [],\n"
                     "  \"rows\": [\n"
                     "    {\"i\": 0, \"ids\": [1, null]},\n"
                     "    {\"i\": 1, \"ids\": [1, null]}\n"
                     "  ]\n"
                     "}\n");
    eu_text_free(&t);
}
END_TEST

/* Strings of all bytes and lengths, past the writer's pieces, against the checker of its own. */
START_TEST(json_is_json)
{
    const char *build = getenv("top_builddir");
    char command[512];
    snprintf(command, sizeof command, "%s/tests/probe/json-check", build ? build : ".");
    if (access(command, X_OK) != 0)
        return; /* not built: run by hand, alone */
    strcat(command, " last > /dev/null");
    FILE *checker = popen(command, "w");
    ck_assert_ptr_nonnull(checker);
    eu_json j = {.write = eu_json_to_file, .user = checker};
    uint32_t random = 12345;
    char bytes[700];
    eu_json_list(&j, NULL, true);
    write_document(&j);
    for (size_t n = 0; n < sizeof bytes; n++) {
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = (char)(random >> 24);
        }
        eu_json_object(&j, NULL, n % 2);
        eu_json_bytes(&j, "last", bytes, n);
        eu_json_end(&j);
    }
    eu_json_end(&j);
    ck_assert_int_eq(pclose(checker), 0);
}
END_TEST

/* -- tables ------------------------------------------------------------------------------ */

/* Of the paper's reference program with one and three rounds; key 00 01 .. 0f, text 00 01 .. */
START_TEST(siphash)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } known[] = {
        {0, 0xabac0158050fc4dc}, {1, 0xc9f49bf37d57ca93}, {7, 0xd3927d989bb11140}, {8, 0x369095118d299a8e},
        {9, 0x25a48eb36c063de4}, {15, 0xd320d86d2a519956}, {16, 0xcc4fdd1a7d908b66}, {63, 0x9d199062b7bbb3a8},
    };
    const uint64_t seed[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    unsigned char text[64];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(eu_siphash(seed, text, known[i].n), known[i].hash);
}
END_TEST

typedef struct names {
    char (*at)[64];
    uint32_t n;
    uint64_t looked; /* at keys */
} names;

static eu_key name_key(const void *owner, uint32_t entry)
{
    names *list = (names *)(uintptr_t)owner;
    list->looked++;
    return (eu_key){list->at[entry], strlen(list->at[entry])};
}

static void names_make(names *list, uint32_t n)
{
    list->at = calloc(n, sizeof *list->at);
    ck_assert_ptr_nonnull(list->at);
    list->n = n;
    for (uint32_t i = 0; i < n; i++)
        snprintf(list->at[i], sizeof list->at[i], "blk.%u.weight", i);
}

START_TEST(tables)
{
    names list;
    names_make(&list, 50000);
    eu_map map = {.key_of = name_key};
    ck_assert_uint_eq(eu_map_find(&map, &list, "x", 1), EU_NONE);
    for (uint32_t i = 0; i < list.n; i++) {
        uint32_t first;
        ck_assert(eu_map_add(&map, &list, i, &first));
        ck_assert_uint_eq(first, i);
    }
    strcpy(list.at[49999], list.at[7]); /* the entry is found by its name no more, but another has it */
    for (uint32_t i = 0; i < list.n - 1; i++)
        ck_assert_uint_eq(eu_map_find(&map, &list, list.at[i], strlen(list.at[i])), i);
    ck_assert_uint_eq(eu_map_find(&map, &list, "blk.50000.weight", 16), EU_NONE);
    ck_assert_uint_eq(eu_map_find(&map, &list, "", 0), EU_NONE);
    ck_assert_uint_eq(map.n, 50000);
    eu_map_free(&map);

    /* of equal keys the first is found; reserved room makes adding certain */
    ck_assert(eu_map_reserve(&map, &list, 50000));
    size_t slots = map.n_slots;
    for (uint32_t i = 0; i < list.n; i++) {
        uint32_t first;
        ck_assert(eu_map_add(&map, &list, i, &first));
        ck_assert_uint_eq(first, i == 49999 ? 7 : i);
    }
    ck_assert_uint_eq(map.n_slots, slots);
    ck_assert_uint_eq(map.n, 49999);
    /* keys are looked at some times each, not all for each */
    list.looked = 0;
    for (uint32_t i = 0; i < list.n; i++)
        ck_assert_uint_ne(eu_map_find(&map, &list, list.at[i], strlen(list.at[i])), EU_NONE);
    ck_assert_uint_lt(list.looked, 5 * (uint64_t)list.n);

    /* tables of the same names have them in other places: the seed is random */
    eu_map other = {.key_of = name_key};
    ck_assert(eu_map_reserve(&other, &list, 50000));
    ck_assert(other.seed[0] != map.seed[0] && other.seed[1] != map.seed[1]);
    eu_map_free(&other);
    eu_map_free(&map);
    free(list.at);
}
END_TEST

/* Whoever chooses the names does not choose their places: no more looks at keys than for ordinary ones. */
START_TEST(flooded_table)
{
    enum { N = 160000 };
    names list = {.n = N};
    char (*bad)[COLLIDING_BYTES] = colliding_names(N, 32);
    ck_assert_ptr_nonnull(bad);
    list.at = calloc(N, sizeof *list.at);
    for (uint32_t i = 0; i < N; i++)
        strcpy(list.at[i], bad[i]);
    eu_map map = {.key_of = name_key};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t first;
        ck_assert(eu_map_add(&map, &list, i, &first));
        ck_assert_uint_eq(first, i);
    }
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(eu_map_find(&map, &list, bad[i], strlen(bad[i])), i);
    ck_assert_uint_lt(list.looked, 12 * (uint64_t)N);
    eu_map_free(&map);
    free(list.at);
    free(bad);
}
END_TEST

/* -- without memory -------------------------------------------------------------------------- */

/* Every container, asked for much while calls of the allocator are refused: says so, and keeps what it has. */
enum { REFUSED = 1, BROKEN = 2 };

static int use_containers(void)
{
    eu_arena arena = {0};
    EU_ARRAY(uint64_t) list = {0};
    eu_text text = {0};
    eu_map map = {.key_of = name_key};
    char letters[40][64] = {{0}};
    names some = {.at = letters, .n = 40};
    bool good = true, broken = false;
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t first = EU_NONE;
        letters[i][0] = (char)('A' + i);
        good &= eu_arena_alloc(&arena, 3000 * i) != NULL;
        good &= eu_arena_format(&arena, "%u", i) != NULL;
        good &= eu_array_add(&list, i);
        eu_text_format(&text, "%40u", i);
        size_t before = map.n;
        bool added = eu_map_add(&map, &some, i, &first);
        good &= added;
        broken |= map.n != before + added || (added && first != i) ||
                  (added && eu_map_find(&map, &some, letters[i], 1) != i);
    }
    for (size_t i = 1; i < list.n; i++)
        broken |= list.at[i] <= list.at[i - 1];
    good &= !text.failed;
    char *taken = eu_text_take(&text);
    broken |= taken && strlen(taken) != 1600;
    good &= taken != NULL;
    free(taken);
    eu_arena_end(&arena);
    eu_array_free(&list);
    eu_map_free(&map);
    return (good ? 0 : REFUSED) | (broken ? BROKEN : 0);
}

static int use_team(void)
{
    eu_team *team = eu_team_create(NULL, 0);
    bool good = team && eu_team_grow(team, 2) == 2;
    eu_team_end(team);
    return good ? 0 : REFUSED;
}

START_TEST(no_memory)
{
    if (!count_possible())
        return;
    for (int which = 0; which < 2; which++)
        for (uint64_t nth = 1;; nth++) {
            count_refuse(nth, nth % 2);
            count_start();
            int what = which ? use_team() : use_containers();
            count_stop();
            count_refuse(0, false);
            bool refused = count_refused();
            ck_assert(!(what & BROKEN));
            if (!refused) {
                ck_assert_int_eq(what, 0);
                ck_assert_uint_gt(nth, which ? 3 : 20);
                break;
            }
            if (!which) /* threads' stacks may do without */
                ck_assert_int_eq(what, REFUSED);
        }
}
END_TEST

/* -- control groups ---------------------------------------------------------------------------- */

static char base[64];

static void put_file(const char *path, const char *content)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", base, path);
    for (char *slash = whole + strlen(base) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    ck_assert_ptr_nonnull(f);
    fputs(content, f);
    fclose(f);
}

static void system_make(void)
{
    strcpy(base, "/tmp/test-util.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
}

static void system_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(control_groups)
{
    ck_assert_uint_ge(eu_cores(NULL, 0), 1);
    ck_assert_uint_ge(eu_core_count(), 1);
    ck_assert_uint_le(eu_core_count(), eu_cores(NULL, 0));
    ck_assert_uint_eq(eu_group_cores("/nowhere"), UINT32_MAX);

    system_make();
    put_file("/proc/self/cgroup", "0::/user/job\n");
    ck_assert_uint_eq(eu_group_cores(base), UINT32_MAX);
    put_file("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    ck_assert_uint_eq(eu_group_cores(base), UINT32_MAX);
    put_file("/sys/fs/cgroup/user/cpu.max", "350000 100000\n"); /* the group around it counts */
    ck_assert_uint_eq(eu_group_cores(base), 4);
    put_file("/sys/fs/cgroup/user/job/cpu.max", "20000 100000\n");
    ck_assert_uint_eq(eu_group_cores(base), 1);
    system_remove();

    system_make();
    put_file("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/box\n");
    put_file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    put_file("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(eu_group_cores(base), UINT32_MAX);
    put_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
    put_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(eu_group_cores(base), 2);
    ck_assert_uint_eq(eu_read_number(base, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", ""), 200000);
    ck_assert_uint_eq(eu_read_number(base, "absent", ""), UINT64_MAX);
    put_file("/meminfo", "MemTotal:  8 kB\nMemAvailable:   3 kB\n");
    ck_assert_uint_eq(eu_read_number(base, "meminfo", "MemAvailable:"), 3 * 1024);
    system_remove();
}
END_TEST

START_TEST(clocks)
{
    double seconds = eu_seconds();
    uint64_t now = eu_now();
    ck_assert_msg(fabs(seconds - (double)now / EU_SECOND) < 5, "%g s, %g s", seconds, (double)now / EU_SECOND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("util");
    TCase *t = tcase_create("util");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, clocks);
    tcase_add_test(t, arenas);
    tcase_add_test(t, arrays);
    tcase_add_test(t, sizes);
    tcase_add_test(t, texts);
    tcase_add_test(t, characters);
    tcase_add_test(t, reals);
    tcase_add_test(t, near_names);
    tcase_add_test(t, patterns);
    tcase_add_test(t, json);
    tcase_add_test(t, json_is_json);
    tcase_add_test(t, siphash);
    tcase_add_test(t, tables);
    tcase_add_test(t, flooded_table);
    tcase_add_test(t, no_memory);
    tcase_add_test(t, control_groups);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
