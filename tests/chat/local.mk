# Templates of conversations.
chat_files = tests/chat/files.c tests/chat/files.h
check_PROGRAMS += tests/chat/test-templates tests/chat/test-model
TESTS += tests/chat/test-templates tests/chat/test-model
valgrind_tests += tests/chat/test-templates
tests_chat_test_templates_SOURCES = %D%/test-templates.c $(chat_files) tests/meta/count.c tests/meta/count.h tests/tap.c tests/tap.h
tests_chat_test_templates_LDADD = libengine-lm-core.la libengine-core.la
tests_chat_test_model_SOURCES = %D%/test-model.c tests/tap.c tests/tap.h
tests_chat_test_model_LDADD = libengine-lm.la libengine.la
check_PROGRAMS += tests/chat/test-given
TESTS += tests/chat/test-given
valgrind_tests += tests/chat/test-given
tests_chat_test_given_SOURCES = %D%/test-given.c $(chat_files) tests/tap.c tests/tap.h
tests_chat_test_given_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_chat_test_given_LDADD = libengine-lm.la libengine-util.la libengine.la $(JANSSON_LIBS)
