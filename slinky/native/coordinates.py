"""Coordinates that a copy takes elements from, in C: along a dimension, many at once.

Idea. Along a dimension, the coordinate of a source grows evenly from place to place, up to an edge, or to where a
division rounds to the next number. So a *line* says what the coordinate is at the next places: stretches of as many
places each, in which it grows by a slope, and from one stretch to the next by a leap. What is done to coordinates
(sums, multiples, divisions, what stands beyond edges) is done to lines, each of which is cut to the places for which
that is a line again. Whoever goes along the dimension asks again behind the last of them. So an interior is one line,
and what is repeated, tiled or flattened is, too, where it begins with a whole stretch.

Invariant: a line has at least one place, and is right at all of its places.
"""

from __future__ import annotations

LINES = """\
#ifndef SLINKY_LINES
#define SLINKY_LINES
/* Coordinates at the next places of a dimension: so many stretches, of `run` places each. From place to place they grow
   by `slope`, from the beginning of a stretch to that of the next one by `leap`. */
typedef struct { int64_t value, slope, run, leap, stretches; } slinky_line;

/* How many places each stretch has, and how many stretches there are, for several lines. */
typedef struct { int64_t run, stretches; } slinky_shape;

/* Coordinates from one on, so far apart, and one coordinate again and again. */
static inline slinky_line slinky_places(int64_t first, int64_t step, int64_t count)
{
    const slinky_line a = {first, step, count, 0, 1};
    return a;
}
static inline slinky_line slinky_same(int64_t value, int64_t count)
{
    const slinky_line a = {value, 0, count, 0, 1};
    return a;
}

/* How a coordinate grows from stretch to stretch of this shape, which is one that the line has been met with. */
static inline int64_t slinky_leap(slinky_line a, slinky_shape s)
{
    return a.stretches > 1 && s.run == a.run ? a.leap : a.slope * s.run;
}

/* The places of a shape for which a line is one of that shape. */
static inline slinky_shape slinky_met(slinky_shape s, slinky_line a)
{
    const slinky_shape own = {a.run, a.stretches};
    if (own.run == s.run) {
        if (own.stretches < s.stretches) s.stretches = own.stretches;
        return s;
    }
    const slinky_shape shorter = own.run < s.run ? own : s;
    const slinky_shape found = {
        shorter.run, slinky_min(shorter.stretches, (own.run < s.run ? s.run : own.run) / shorter.run)
    };
    return found;
}

/* How far coordinates fall below the first one, and how far they rise above it. */
static inline int64_t slinky_fall(slinky_line a, slinky_shape s)
{
    return slinky_min(0, a.slope * (s.run - 1)) + slinky_min(0, slinky_leap(a, s) * (s.stretches - 1));
}
static inline int64_t slinky_rise(slinky_line a, slinky_shape s)
{
    return slinky_max(0, a.slope * (s.run - 1)) + slinky_max(0, slinky_leap(a, s) * (s.stretches - 1));
}
static inline int64_t slinky_lowest(slinky_line a)
{
    const slinky_shape own = {a.run, a.stretches};
    return a.value + slinky_fall(a, own);
}
static inline int64_t slinky_highest(slinky_line a)
{
    const slinky_shape own = {a.run, a.stretches};
    return a.value + slinky_rise(a, own);
}

/* Arithmetic. */
static inline slinky_line slinky_moved(slinky_line a, int64_t by)
{
    a.value += by;
    return a;
}
static inline slinky_line slinky_times(slinky_line a, int64_t by)
{
    a.value *= by;
    a.slope *= by;
    a.leap *= by;
    return a;
}
static inline slinky_line slinky_plus(slinky_line a, slinky_line b)
{
    const slinky_shape own = {a.run, a.stretches}, s = slinky_met(own, b);
    const slinky_line sum = {
        a.value + b.value, a.slope + b.slope, s.run, slinky_leap(a, s) + slinky_leap(b, s), s.stretches
    };
    return sum;
}

/* Coordinates divided and rounded down; the divisor is not 0. */
static inline slinky_line slinky_divided(slinky_line a, int64_t by)
{
    if (by < 0) {
        a = slinky_times(a, -1);
        by = -by;
    }
    const int64_t quotient = slinky_quotient(a.value, by), left = a.value - quotient * by;
    if (a.stretches > 1 && (a.slope % by || a.leap % by)) a.stretches = 1;
    a.value = quotient;
    if (a.slope % by == 0) {
        a.slope /= by;
        a.leap /= by;
        return a;
    }
    /* So many places round to the same; then so many again, if the first of them is the first that does. */
    const int64_t step = a.slope < 0 ? -a.slope : a.slope;
    const int64_t same = (a.slope > 0 ? by - 1 - left : left) / step + 1;
    const int is_even = by % step == 0 && same == by / step;
    a.leap = a.slope > 0 ? 1 : -1;
    a.slope = 0;
    if (same < a.run) {
        a.stretches = is_even ? a.run / same : 1;
        a.run = same;
    }
    return a;
}

/* At how many places a coordinate that lies between two numbers stays between them. */
static inline int64_t slinky_stay(int64_t value, int64_t slope, int64_t lo, int64_t hi)
{
    return slope > 0 ? (hi - value) / slope + 1 : slope < 0 ? (value - lo) / -slope + 1 : INT64_MAX;
}

/* At how many places a coordinate that does not lie there stays on that side. */
static inline int64_t slinky_away(int64_t value, int64_t slope, int64_t lo, int64_t hi)
{
    if (value < lo) return slope > 0 ? (lo - value - 1) / slope + 1 : INT64_MAX;
    return slope < 0 ? (value - hi - 1) / -slope + 1 : INT64_MAX;
}

/* Coordinates as far as they all lie between two numbers, or none does; which of the two it is. */
static inline slinky_line slinky_within(slinky_line a, int64_t lo, int64_t hi, int *is_inside)
{
    const int64_t lowest = slinky_lowest(a), highest = slinky_highest(a);
    *is_inside = lo <= lowest && highest <= hi;
    if (*is_inside || lo > hi || highest < lo || hi < lowest) return a;
    *is_inside = lo <= a.value && a.value <= hi;
    a.run = slinky_min(a.run, (*is_inside ? slinky_stay : slinky_away)(a.value, a.slope, lo, hi));
    a.stretches = 1;
    return a;
}

/* What stands for coordinates beyond the edges of a buffer: the nearest one; those of the other end; those before the
   edge, in reverse, with the one at the edge twice (its `turn` has all coordinates) or once (one less). If there are
   no coordinates between the edges, nothing does. */
static inline slinky_line slinky_nearest_line(slinky_line a, int64_t lo, int64_t hi)
{
    int is_inside;
    if (lo > hi) return a;
    a = slinky_within(a, lo, hi, &is_inside);
    return is_inside ? a : slinky_same(a.value < lo ? lo : hi, a.run * a.stretches);
}
static inline slinky_line slinky_wrapped_line(slinky_line a, int64_t lo, int64_t hi)
{
    if (lo > hi || (lo <= slinky_lowest(a) && slinky_highest(a) <= hi)) return a;
    const int64_t period = hi - lo + 1;
    a.value = lo + slinky_remainder(a.value - lo, period);
    a.slope %= period;
    a.stretches = 1;
    const int64_t stay = slinky_stay(a.value, a.slope, lo, hi), step = a.slope < 0 ? -a.slope : a.slope;
    if (stay < a.run) {
        if (period % step == 0 && stay == period / step) a.stretches = a.run / stay;
        a.run = stay;
        a.leap = 0;
    }
    return a;
}
static inline slinky_line slinky_turned_line(slinky_line a, int64_t lo, int64_t hi, int64_t turn)
{
    if (lo > hi || (lo <= slinky_lowest(a) && slinky_highest(a) <= hi)) return a;
    if (lo == hi) return slinky_same(lo, a.run * a.stretches);
    const int64_t turns = slinky_quotient(a.value - lo, turn), begin = lo + turns * turn;
    a.run = slinky_min(a.run, slinky_stay(a.value, a.slope, begin, begin + turn - 1));
    a.stretches = 1;
    if (turns % 2 == 0) return slinky_moved(a, -turns * turn);
    return slinky_moved(slinky_times(a, -1), lo + hi + turns * turn);
}
#endif
"""
"""Lines, and what is done to them."""
