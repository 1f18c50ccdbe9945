/* The last failure in its parts, as hosts are given it. */
#include "config.h"

#include "base.h"

int eng_last_error_info(eng_error *error)
{
    if (!error)
        return eng_fail(ENG_ERR_INVALID, "eng_last_error_info" ENG_CAUSE "error is NULL");
    const eng_failure *last = eng_failure_last();
    eng_error own = {.size = sizeof own, .status = last->status, .code = last->code, .index = last->index,
                     .subject = last->subject, .cause = last->cause, .advice = last->advice};
    return eng_give(error, &own, sizeof own, "eng_error");
}
