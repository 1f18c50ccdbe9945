/* Fixture: another plugin of the same name, in another folder. */
#include "../fixtures/fixture.h"

static const eng_plugin_calls calls = {FIXTURE_CALLS};
static const eng_device_calls device_calls = {FIXTURE_DEVICE_CALLS};

ENG_PLUGIN_EXPORT(good) = {FIXTURE_DESCRIPTOR("good")};
