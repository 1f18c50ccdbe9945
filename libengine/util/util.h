/*
 * What the core, the plugins, libengine-lm and the tools have in common: a static library, linked
 * into each of them, whose names (eu_*) none of them exports.  Nothing in it knows a device, and nothing in it
 * reports an error: it says that something failed, and the caller says what.
 */
#ifndef LIBENGINE_UTIL_H
#define LIBENGINE_UTIL_H

#include "amx.h"
#include "arena.h"
#include "array.h"
#include "clock.h"
#include "cores.h"
#include "folders.h"
#include "gate.h"
#include "gathers.h"
#include "json.h"
#include "map.h"
#include "pack.h"
#include "plain.h"
#include "pattern.h"
#include "row.h"
#include "shape.h"
#include "size.h"
#include "team.h"
#include "text.h"
#include "thread.h"
#include "trial.h"
#include "type.h"

#endif
