/* See store/epochs.h for the model. */
#include "heap_sampler/store/epochs.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/draw.h"

#include <math.h>
#include <string.h>

/* -1 / ln(1 - u * p), p being 1 - exp(-rate). Where little is sampled, which is
 * the rule, three terms of each series say it to nine digits, and a float holds
 * seven: that saves an exponential and a logarithm for each sample. */
static double
inverse_rate(double unit, double rate)
{
    if (rate < 0x1p-8) {
        double up = unit * rate * (1 - rate * (0.5 - rate * (1.0 / 6)));
        return 1 / (up * (1 + up * (0.5 + up * (1.0 / 3))));
    }
    return -1 / log1p(unit * expm1(-rate));
}

float
rb_hs_longest_interval(struct hs_random *random, double size, double drawn_at)
{
    float longest = (float)(size * inverse_rate(rb_hs_random_unit(random), size / drawn_at));
    /* It was drawn at this interval, whatever rounding says. */
    return longest < drawn_at ? nextafterf((float)drawn_at, HUGE_VALF) : longest;
}

hs_session_set
rb_hs_sessions_within(const uint64_t interval[HS_SESSIONS], hs_session_set sessions, float longest)
{
    hs_session_set within = 0;
    for (int s = 0; sessions >> s; s++) {
        if ((sessions & (1u << s)) && (double)interval[s] <= longest) within |= (hs_session_set)(1u << s);
    }
    return within;
}

uint32_t
rb_hs_epoch_of(struct hs_epochs *epochs, const uint64_t interval[HS_SESSIONS])
{
    const size_t size = sizeof(epochs->list->interval);
    uint32_t number = epochs->count;
    for (uint32_t i = 0; i < epochs->count; i++) {
        const struct hs_epoch *epoch = &epochs->list[i];
        if (memcmp(epoch->interval, interval, size) == 0) return i;
        if (i != epochs->current && !epoch->records) number = i;
    }
    if (number == epochs->count) {
        if (!rb_hs_grow(epochs->use, (void **)&epochs->list, &epochs->capacity, (uint64_t)number + 1,
                        sizeof(*epochs->list))) {
            return UINT32_MAX;
        }
        epochs->count++;
    }
    epochs->list[number].records = 0;
    memcpy(epochs->list[number].interval, interval, size);
    return number;
}

bool
rb_hs_epoch_enter(struct hs_epochs *epochs, const uint64_t interval[HS_SESSIONS])
{
    uint32_t number = rb_hs_epoch_of(epochs, interval);
    if (number == UINT32_MAX) return false;
    epochs->current = number;
    return true;
}

bool
rb_hs_lengthen(struct hs_epochs *epochs, float longest, hs_session_set *sessions, uint32_t *epoch)
{
    if (*epoch == epochs->current) return true;

    const struct hs_epoch *was = &epochs->list[*epoch], *wanted = &epochs->list[epochs->current];
    uint64_t longer[HS_SESSIONS];
    for (int s = 0; s < HS_SESSIONS; s++) {
        bool further = wanted->interval[s] && was->interval[s] > wanted->interval[s];
        longer[s] = further ? was->interval[s] : wanted->interval[s];
    }
    /* It is of the epoch alone, not of the record, which one it becomes: whether there is memory for
     * that must not depend on whether a session keeps the record, nor on which. */
    uint32_t number = rb_hs_epoch_of(epochs, longer);
    if (number == UINT32_MAX) return true;
    hs_session_set within = rb_hs_sessions_within(longer, *sessions, longest);
    if (!within) return false;
    epochs->list[*epoch].records--;
    epochs->list[number].records++;
    *sessions = within;
    *epoch = number;
    return true;
}

hs_session_set
rb_hs_epochs_differ(const struct hs_epochs *epochs, uint32_t one, uint32_t other, hs_session_set sessions)
{
    hs_session_set differ = 0;
    for (int s = 0; one != other && s < HS_SESSIONS; s++) {
        if (epochs->list[one].interval[s] != epochs->list[other].interval[s]) differ |= (hs_session_set)(1u << s);
    }
    return differ & sessions;
}
