/* The axes of a context: names with numbers from 1. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

void eng_axes_init(eng_axis_table *axes)
{
    memset(axes, 0, sizeof *axes);
    pthread_mutex_init(&axes->lock, NULL);
}

void eng_axes_free(eng_axis_table *axes)
{
    for (uint32_t i = 0; i < axes->n; i++)
        free(axes->names[i]);
    free(axes->names);
    pthread_mutex_destroy(&axes->lock);
}

static uint32_t axis_add(eng_axis_table *axes, const char *name)
{
    if (!eu_reserve(axes->names, axes->room, (size_t)axes->n + 1) || !(axes->names[axes->n] = strdup(name)))
        return ENG_AXIS_NONE;
    return ++axes->n;
}

uint32_t eng_axes_number(eng_axis_table *axes, const char *name)
{
    if (!name || !*name)
        return ENG_AXIS_NONE;
    uint32_t number = ENG_AXIS_NONE;
    pthread_mutex_lock(&axes->lock);
    for (uint32_t i = 0; i < axes->n && !number; i++)
        if (strcmp(axes->names[i], name) == 0)
            number = i + 1;
    if (!number)
        number = axis_add(axes, name);
    pthread_mutex_unlock(&axes->lock);
    return number;
}

const char *eng_axes_name(eng_axis_table *axes, uint32_t axis)
{
    const char *name = "";
    pthread_mutex_lock(&axes->lock);
    if (axis >= 1 && axis <= axes->n)
        name = axes->names[axis - 1]; /* stays where it is as long as the table */
    pthread_mutex_unlock(&axes->lock);
    return name;
}

uint32_t eng_context_axis(eng_context *context, const char *name)
{
    if (!context || !name || !*name) {
        eng_fail(ENG_ERR_INVALID, "eng_context_axis" ENG_CAUSE "context is NULL, or the axis has no name");
        return ENG_AXIS_NONE;
    }
    uint32_t number = eng_axes_number(&eng_base_of(context)->axes, name);
    if (number == ENG_AXIS_NONE)
        eng_fail_memory();
    return number;
}

const char *eng_axis_name(eng_context *context, uint32_t axis)
{
    return context ? eng_axes_name(&eng_base_of(context)->axes, axis) : "";
}
