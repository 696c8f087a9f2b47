"""What functions in C are given by Python: arrays as NumPy keeps them, and numbers, all in one row of 64 bits each."""

from __future__ import annotations

ARRIVALS = """\
/* An array as NumPy keeps it, and what a function is given. */
typedef struct { intptr_t references; void *type; char *data; int rank; intptr_t *extents, *strides; } object;
typedef union { const object *array; int64_t integer; uint64_t natural; double number; } given;

/* Whether elements of an array lie at multiples of so many bytes; how it is laid out. */
static inline int slinky_take(const object *from, int most, uintptr_t size, array *to)
{
    uintptr_t places = (uintptr_t)from->data;
    if (from->rank > most) return 0;
    to->data = from->data;
    for (int d = 0; d < from->rank; d++) {
        to->extents[d] = from->extents[d];
        to->strides[d] = from->strides[d];
        places |= (uintptr_t)from->strides[d];
    }
    return places % size == 0;
}

/* Whether elements of an array follow each other along a dimension, so many bytes apart: as one alone always does. */
static inline int slinky_follow(array *a, int d, int64_t size)
{
    if (a->extents[d] < 2) a->strides[d] = size;
    return a->strides[d] == size;
}
"""
