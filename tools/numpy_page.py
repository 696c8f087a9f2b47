"""The page on NumPy functions that are traced, made of the tables that calls are dispatched on.

python -m tools.numpy_page > docs/numpy.md
"""

from __future__ import annotations

import numpy as np

from slinky.frontend import composed as composed  # the table is filled there
from slinky.frontend import functions as functions
from slinky.frontend import rearranging as rearranging
from slinky.frontend.tables import DATA_DEPENDENT, ROUNDED_COMPLEX, TABLE, WRITING, exactness_of, name_of

PAGE = """# NumPy functions as pipelines

Nothing needs to be described where there is a function of arrays already. `sl.jit` calls it once with *lazy arrays*,
which note what is done to them, makes a pipeline of that, schedules it, and runs it from then on:

```python
import numpy as np
import slinky as sl


@sl.jit(smallest=0)
def sharpen(image, amount=1.5):
    padded = np.pad(image, 1, mode="edge")
    soft = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
    return np.clip(image + amount * (image - soft), 0, 1)
```

```python
>>> photo = np.random.default_rng(0).random((300, 200), np.float32)
>>> sharp = sharpen(photo)
>>> bool(np.array_equal(sharp, sharpen.__wrapped__(photo)))
True
>>> p = sharpen.pipeline(photo)  # an ordinary pipeline: print it, check it, schedule it by hand
>>> p.find("padded").func()
'padded'
>>> np.array_equal(sharpen.pipeline(photo, 2.0)(photo, amount=0.5), sharpen(photo, 0.5))
True

```

Funcs are called like the variables that hold what they make, where there are such; floats that were given are scalars
of the pipeline, by their names, which a run is told and a schedule need not be; others are constants. Arrays are taken
in the order of the arguments, but for those that are not read. One trace serves all sizes.
`sharpen.explain(photo)` says what became of the function: its operations, what runs whole, what the trace is good for
and which lines asked, what stands against keeping it, the schedule, and who runs it. Kernels of yours (`@sl.stencil`)
and the filters of `sl.ndimage` take part like NumPy's functions.

## Whether pieces are faster

`smallest` is the number of bytes below which the function is called as it is; all else runs by pieces, then. Without
it, the function is called as it is where NumPy is predicted to be about as fast: where all that it makes on the way
stays in the caches, or where the schedule saves less than a fifth of the time. Several threads share functions such as
`np.sin`, which are faster by pieces then. Small arrays of which it makes large ones, such as one for all pairs, run by
pieces, too.

So do grids that a function makes of numbers alone, whether it has small arguments or no arrays at all: where two calls
have taken 10 ms, the next one with the same numbers is traced, if the function has not changed what it reads. Then what
`np.zeros`, `ones`, `empty`, `full`, `arange`, `linspace`, `meshgrid`, `mgrid`, `ogrid`, `indices` and `fromfunction`
make is lazy from 64 KB on, and lines of 256 numbers, so that no grid is ever there in full. Its trace is kept for the
same integers, and any floats.

```python
>>> @sl.jit
... def ripples(n, decay=0.3):
...     x, y = np.meshgrid(np.linspace(-9, 9, n), np.linspace(-9, 9, n))
...     r = np.hypot(x, y)
...     return np.sin(3 * r) * np.exp(-decay * r)
>>> ripples(500).shape
(500, 500)
>>> print(ripples.explain(500))  # doctest: +ELLIPSIS
ripples is traced: 8 operations: ...

```

Where loops in C are predicted to save as much, with the microseconds that it takes to enter them and to leave them for
a function of NumPy's, it runs as it is, or by pieces, until it has moved to C, and is left to NumPy again only if there
is no C for it. Where the caches hold all that it makes on the way, nothing is scheduled before that, but for filters
that threads had better share, and what is, is so in the background: a first call takes little more than the function
and its trace.

Where pieces give the bits that NumPy gives, results share memory as NumPy's do, and all arrays that it makes take 64
MB at most, what is predicted is also measured, and a likely gain of a twentieth is worth a try. The first calls go to
the function as it is and to its pieces in turn, 3 to 8 to each (one, where pieces are ten times as fast and the
function takes 50 ms), and whoever is faster goes on, for all sizes from one power of two to the next; when a schedule
has moved to C, they are compared once more. So it does not matter whether a call is one of these. With `native=True`
and no `smallest`, C takes part from the first call on: what C does to NumPy's bits is measured; what it rounds
otherwise, such as `exp`, always runs in C; and where it has nothing to do, such as in a sum that stands alone, what is
predicted decides. `explain` says what was measured:

```text
by pieces: measured 110 us as it is, 54.4 us by pieces
```

Where it makes more than 64 MB, pieces run, and the function as it is has a turn only if they are suspected: if two
calls in a row, after the first one, take longer than NumPy is predicted to take. Then it runs as it is once, or up to
three times where that is close, and whoever is faster goes on. It never does where all arrays that it makes take more
than a quarter of the machine's memory, nor with `max_bytes` or `smallest`.

## Lazy arrays

`sl.lazy(array)` makes one outside of `jit`. Work happens where a value is asked for, and no more than that needs:

```python
>>> image = sl.lazy(photo)
>>> soft = (image[1:] + image[:-1]) / 2
>>> np.asarray(soft[100:110, 20:30]).shape
(10, 10)

```

Windows of other places and sizes run the same pipeline, so that a viewer that pans builds nothing anew. An array that
could still be written to is copied first (`copy=False` promises that nobody does).

They have the namespace of the array API standard: `xp = x.__array_namespace__()` is NumPy's functions, whose results
are lazy arrays, so that libraries written for arrays of anybody work on them. In a traced function it is the NumPy that
the function sees.

```python
>>> xp = image.__array_namespace__()
>>> xp.sum(xp.astype(image, xp.float64) > 0.5, axis=0)
<LazyArray int64[200] of sum>

```

Of the 1,366 tests of the standard's own suite that are not skipped, this namespace passes 1,328, and NumPy 2.4 itself
1,320, in the run that was counted. Of those that NumPy passes, two failed here: a sign of zero in `expm1` of complex
numbers, and a write to what `asarray(x, copy=False)` gives, which may share memory and is refused.
In a clone of `data-apis/array-api-tests`:

```text
export ARRAY_API_TESTS_MODULE="exec('import slinky, numpy; xp = slinky.lazy(numpy.zeros(1)).__array_namespace__()')"
pytest array_api_tests --max-examples 5 --disable-deadline
```

## Containers, threads and processes

Arrays of xarray and pandas may be arguments: results of as many axes get the labels of the first one, along the axes
that are as long. They have rules of their own: arithmetic aligns labels, reductions leave NaNs out, `df.std()` goes
along columns and divides by one less than there are. Where they meet as they are, in arithmetic of elements, filters,
and functions such as `np.pad` that look at the elements alone, these rules do not matter. What NumPy gives as an array
whatever it is given (`np.where`, `np.nan_to_num`) is one here, too. Elsewhere:

* *Arrays of xarray*: the function is traced with arrays of xarray in which lazy arrays stand for the elements. So
  xarray itself aligns labels, finds the axis that a name means, leaves NaNs out and puts labels on results, and what it
  asks NumPy for is what runs by pieces, exactly as the table below says: `a - a.mean("time")`, `isel`, `sel`, `diff`,
  `where`, `fillna`, `cumsum`, `rolling`, `coarsen`, `groupby`. Such a trace is good for the same shapes, labels,
  names and attributes, and the same options of xarray. What asks for values (`interp`, `float(a.max())`, Bottleneck and
  Numbagg where xarray uses them), gives other containers, computes coordinates or changes an argument is called as it
  is, and so is a function that calls xarray's own functions (`xr.dot`, `xr.concat`), and a method whose object holds
  an array of xarray's that it speaks of.
* *Tables of pandas* hold nothing but arrays that are there. Where one is sliced, turned or reduced, where labels differ
  or columns have several dtypes, the function is called as it is. So it is where a number beside one has another dtype
  by pandas' rules than by NumPy's: `t * np.float64(2)` of float32 stays float32, `np.maximum(t, 0.5)` is float64.
  What comes of columns with several names has none; where a result comes of some of them alone, the function is called
  as it is. So it is for tables with `attrs`, or of classes made of pandas'.
* Where a Dask array is inside, the function is called as it is; so it is where it looks at what it was given
  (`isinstance(x, pd.DataFrame)`, `hasattr(x, "dims")`, `x.columns` of a table).

`explain` says which it is. To run by pieces what these rules do not matter to, hand over the arrays: `f(x.to_numpy())`.

A traced function may be called in several threads, stands inside `xr.apply_ufunc` and `dask.array.map_blocks`, and is
pickled by its name, as functions are, for `joblib` and other processes.

## What a trace is good for

A trace is made again for other ranks, dtypes and other arguments, and whenever a global, closure or default that the
function reads has changed; numbers among the arguments need no new pipeline. Of sizes it keeps what was asked (`if
len(x) > 3`, `range(n)`, one element against many, slices that reach beyond the end, lengths beside bytes that do not
hold them, errors that are caught and tell a length): calls that would answer otherwise get a trace of their own, as
does each shape of arrays of more than eight axes.

Floats among the arguments, Python's and the scalars `np.float64` and `np.float32`, are told at each call: what the
function computes of them, by arithmetic, functions of `math` or ufuncs, is computed anew, and one trace serves all of
them. Of these, too, it keeps what was asked (`if amount > 1`, `int(radius)`); and where something else takes a float,
its value (the `sigma` of a filter, a text, a library). A function that catches other errors than those of arithmetic,
or fails where something stands for its floats, is traced for each value.

```python
>>> for amount in (0.25, 1.5, 3.75):
...     sharp = sharpen(photo, amount)
>>> @sl.jit(smallest=0)
... def brighten(image, gain):
...     return image * gain if gain > 1 else image
>>> print(brighten.explain(photo, 1.5))  # doctest: +ELLIPSIS
brighten is traced: 1 operation: multiply
good where (gain > 1) is True, asked in ...

```

**Objects of classes of your own** (the `self` of a method, a dataclass, one in a list, a global) are looked into:
arrays and floats that they hold are told at each call like arguments, and what else they hold decides which trace is
good. Their methods and properties are read as functions that are called are; those of their attributes that no code
speaks of do not matter.

```python
>>> class Camera:
...     def __init__(self, dark, gain):
...         self.dark, self.gain = dark, gain
...     def lit(self, image):
...         return image - self.dark
...     @sl.jit(smallest=0)
...     def correct(self, image):
...         return np.clip(self.lit(image) * self.gain, 0, 1)
>>> camera = Camera(photo / 8, 1.5)
>>> bright = camera.correct(photo)
>>> camera.gain, camera.dark = 2.5, photo / 4  # the same trace
>>> print(camera.correct.explain(photo).splitlines()[0])
correct is traced: 3 operations: subtract, multiply, clip

```

**Methods may change their object**, as those of simulations do: attributes that a method sets of its own object, or a
traced function of an object that it is given, are results of the trace, and are set when all is computed; so are arrays
of objects that are written to, which stay the arrays that they are. A call that fails has changed nothing by then: the
function is called as it is, and leaves what it leaves in NumPy. `explain` says what is set.

```python
>>> class Membrane:
...     def __init__(self, height, speed=0.3):
...         self.height, self.before = height, height.copy()
...         self.speed, self.time, self.steps = speed, 0.0, 0
...     @sl.jit(smallest=0)
...     def advance(self, dt=0.1):
...         u = self.height
...         new = 2 * u - self.before
...         new[1:-1, 1:-1] += self.speed**2 * (
...             u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
...         )
...         self.before, self.height = u, new
...         self.time += dt
...         self.steps += 1
>>> membrane = Membrane(photo.astype(float))
>>> for _ in range(3):
...     membrane.advance()  # one trace
>>> membrane.steps
3
>>> print(membrane.advance.explain())  # doctest: +ELLIPSIS
advance is traced: 10 operations: ...
sets before
sets height
sets steps
sets time
...

```

Integers may be added to (`self.steps += 1`), but not asked for where they are others in each call (`if self.steps %
10`): then the function is called as it is, for each call would need a trace of its own. So it is where it changes a
list or a dictionary of an object, where its class does something by itself when attributes are set (`__setattr__`, a
property), where it sets attributes of anything else than a parameter, or to several views of one array; and where it
writes to an array that shares memory with another one that it comes to.

`sl.jit(camera.correct)`, `sl.jit(functools.partial(f, sigma=2))` and `sl.jit(Model())` work as well. Functions that
are given (`f(image, np.sqrt)`) and members of enumerations are what they are; a function that is made for each call
has a trace for each call. An object is left alone, and the function is traced at each call, where something that it
holds and the code speaks of is not known (a deque, a generator, a method of another object, itself), it asks for
attributes by names that its code does not have (`getattr`, `vars`), has a `__del__`, a method that remembers
(`functools.lru_cache`), or a class of C's or of a library; or where it is copied by `copy.copy`, asked for its hash,
or given beside something else that is not known. Classes of your own may be called, and objects that were made be
returned. What else cannot be watched makes it trace at each call, too; the pipeline is then found again by its
structure. Where each call makes a trace, the function is called as it is once, and stays so where that is faster.

**Small arrays whose values are asked for** (the kernel of `sl.ndimage.convolve(image, kernel)`, `float(weights[0])`)
are constants of a trace: up to 4096 bytes, beside an array that is eight times larger, and up to 128 KB, beside one of
64 times. The next call with other values makes another trace; 64 are kept. So are masks and indices that come of these
alone: `x[month == 3].mean(axis=0)` takes rows by pieces, as by a mask that is known (`x[:, LAND]`,
`x[[True, False, True]]`), and `out[month == 3] = rows` writes these rows alone: assignments in a loop, one after the
other, are one copy of all of their rows.

The function runs once for each call that traces it, and not at all for others. So a function that sets something else
than attributes of what it is given (`global last`, `nonlocal`, `Model.count += 1`), as its code or that of functions
that it calls says, is called as it is; so is one that is found to keep an array that it computes (`cache[key] = ...`,
`self.keep(...)`): an array of its values takes the place of the lazy one where that can be found (not in tuples), and
the next call is not traced. Only where tracing breaks off (an error, `x.strides`) is a function run again from its
beginning, and what it did until then is done twice, that once. An array that shares memory with an argument, and that
the function has another way (a global, in a closure), is not to be written to in it: what is computed of the argument
is computed after that.

* **Values that are asked for** while tracing (`float(x.max())`, `if x.any():`, masks as indices, `np.asarray`) are
  computed at once, and the function goes on. It is traced at each call then, and a `ForcedValueWarning` says where,
  once (where warnings are errors, each call raises it, and gives nothing). What is computed for a value is known
  again: a loop that asks for one in each iteration is scheduled once, and moves to C while it runs. So values are asked
  for where a table is looked up that is in an object that is left alone. (`TABLE[x]` with a global, a variable of a
  function around it, an attribute of a module or of an object, or `np.arange(256) ** 0.5`, goes by pieces, and so does
  `np.eye(10)[x]`.) Where a function warns of something by itself (`warnings.warn`), it is traced at each call, too, so
  that this is heard each time.
* **Elements under a mask** that go back to an array in the same statement, by operators and ufuncs alone
  (`x[m] *= 2`, `out[m] = np.log(x[m]) + 1`), with numbers and others under the same mask, ask for nothing: they are
  computed with `where=m`, by pieces. What is assigned to is read there, too, or a variable of the function itself.
  Under `exact=True`, what NumPy rounds otherwise where elements lie beside each other asks for the mask.
* **What is not understood** runs whole, on full arrays, each time; `explain` names it, with its line. With
  `sl.jit(strict=True)` it is a `TracingError` instead.
* **Other arrays** that the function comes to by a name of its own (a global, a variable of a function around it, an
  attribute of a module or an object) are told at each call, as its arguments are, if they take more than 64 KB:
  `image - DARK` has one trace for all darks. Smaller ones are constants, and are compared. An array in a default, or
  that comes in another way, is taken as it is where it is used, and copied if somebody may write to it later; it
  makes the function be traced at each call, if it is large.
* **Refused** are random numbers, where what draws them is called, by whatever name (a generator that the function has
  as an argument or a global, where it is named), and writing to an argument: copy it first, as in `y = x.copy()`, or
  give it away, as below. (Functions that write to what they are given, such as `np.put`, and `x.flat`, end the trace
  instead, and do to an argument what they do in NumPy.) Code in place on other arrays (`y += 1`, `y[1:-1] = b`,
  `np.add(a, b, out=y)`) is understood.
* Where a function asks whether arrays are the same (`a is b`), it is called as it is with arrays that are; so it is
  where it returns a list or dictionary that something else holds.
* Arrays of other classes and dtypes (masked arrays, objects, dates, other byte orders), arrays without elements, and
  functions that return anything but arrays, numbers, and tuples, lists, dictionaries or objects of them: the function
  is called as it is. Objects are those of classes of your own that the function makes, and that nothing else knows.
* Attributes of arrays that are about memory (`strides`, `flags`, `view`), or are assigned to (`y.shape = 4, 3`), end
  the trace: the function is called as it is. So it is where it raises an error while it is traced, so that errors, and
  what they say, are those without slinky. What the values raise (`table[index]` beyond its end, a matrix that has no
  inverse) comes when all is computed; a function that catches errors is then called as it is.
* What no result depends on is not computed, and raises no errors.
* Arrays of NumPy come back: of `np.memmap`, too, parts of which NumPy gives as `memmap`s.
* Side effects, such as printing, happen when it is traced. SciPy's functions and others that call `np.asarray` force
  their arguments, if these are known to be in C order; else the function is called as it is. `np.zeros(x.shape)`,
  `np.arange(x.shape[0])` and their like are lazy in the traced function and in those that it calls, also of other
  modules but for those of libraries that are known here: where NumPy, or a function of it, is a global, a variable of
  a function around them, an attribute of a module, or imported within; else they ask for the shape, and the trace is
  good for arrays of this shape. `np.zeros((1000, 1000))`, and `ones`, `empty` and `full` of numbers, are lazy from 64
  KB on, unless the function fails with these.
  `np.array([x, y])` and reductions of such lists (`np.max([x, y], axis=0)`, `np.median`, `np.add.reduce`, ...) are lazy
  there, too, where there are no more than 64 elements in a list; else they force these. So are sorts, sums that grow,
  percentiles, norms, products, copies and others (`np.argmin([x, y], axis=0)`, `np.linalg.norm([x, y], axis=0)`,
  `np.transpose([x, y])`, `np.dot([x, y], z)`, `np.where([m, n], [x, y], 0)`), and ufuncs where they are called as an
  attribute of NumPy: `np.radians([x, y])`. Extrema and truths along a list (`np.maximum.reduce([x, y])`,
  `np.all([m, n], axis=0)`) are computed two by two: no array of all is made.
  `np.c_[x, y]` and `np.r_[x, y]` are lazy as well.

`np.errstate` holds as where the call, or the operation, stands (in C, not always for values that `np.where` and its
like do not take: [native.md](native.md#exceptions)). What stands in a block that ignores errors is one func with what
stands there, too, and not with what is around it; in C it is as fast as without. NumPy's loops warn once for each
piece with an error, not once for each operation, which Python's usual filters show once. A function that says what
becomes of warnings (`warnings.catch_warnings`) is called as it is. Results are NumPy's in dtype and shape, and arrays
of their own in C order, but for [arrays in columns](#arrays-in-columns). A result that is a slice, a transpose or the
like of an argument is a view of it here, too; reshapes, parts of a split and diagonals are arrays of their own, and so
are several results that are views of one array that is computed, and arrays from outside that are returned. Arrays of
their own can be written to, also where NumPy gives what cannot: diagonals, `np.broadcast_to`, imaginary parts of real
numbers.

The memory of a result of 4 MB or more serves a later one when nobody sees it any more (on Linux): a system clears all
memory that it hands out, which takes longer than much that is computed. It is told to the system as free meanwhile
(`MADV_FREE`), which takes it when there is need; at most 1 GiB is kept so, and an eighth of what the machine has. Such
results do not own their memory (`result.base` is what does), so that `result.resize` refuses them. What a function
gives the first time for arrays of some sizes has memory of its own.

## Steps that repeat

A loop of steps (`for _ in range(steps):`, a simulation) is traced to as many operations as all of its steps have. Where
they make more than 32 funcs, they are cut into *stretches* that are the same again and again. Each is scheduled, and
compiled, once, however many steps there are, and runs as often as it comes; what goes from one to the next lies in a
few arrays, which are used in turn. When a stretch has run for a while, it moves to C, in the midst of a call, too.

```python
>>> @sl.jit(smallest=0, machine=sl.Machine(), workers=1, native=False)
... def spread(u, steps):
...     for step in range(steps):
...         around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
...         u = u + (around - 4 * u) / (8 + step / 10)
...     return u
>>> warm = spread(photo, 500)
>>> [line for line in spread.explain(photo, 500).splitlines() if "stretch" in line]
['500 times, a stretch of 9 operations: pad, add, pad, add, around, multiply, subtract, divide, u']

```

Steps are the same if they differ in floats alone, or in numbers that are added, subtracted, multiplied, divided by or
compared to find an extremum (`u + weights[k]`): other slices in each step, for one, make other stretches. A function
may have several loops, and loops in loops. All of its different stretches together have 200 funcs at most, and 16,384
operations are traced: else the function is called as it is. So it is, for arrays of these sizes, if it has more than
1,024 operations, whose results take less than 2 MB in the mean (4 MB if it is traced at each call): to trace one takes
0.2 ms, about as long as NumPy takes for it; a function of fewer steps that is called more often has no such limit.
`pipeline` gives what is scheduled as a whole, of 200 funcs at most. With `max_bytes`, all is.

## Arguments that are written to

`sl.jit(donate="state")` gives an argument away (or several: a list of names): the function may write to it, and what
it writes ends up in the caller's array.

```python
@sl.jit(smallest=0, donate="state")
def step(state, rate):
    state[1:-1] += rate * (state[:-2] - 2 * state[1:-1] + state[2:])
```

```python
>>> heat = np.array([0.0, 0, 8, 0, 0])
>>> step(heat, 0.25)
>>> heat
array([0., 2., 4., 2., 0.])

```

By pieces, it is written when all is computed: where the function raises an error, the array is as it was. (Where the
function is called as it is, it is as far as the function came, as without slinky.) A part that the pipeline does not
read, such as all of an `out` that is only filled, is computed there; other parts are computed beside it, and copied. An
array that shares memory with another argument, or that cannot be written to, is given to the function as it is.

## Arrays in columns

Arrays of 1 MB or more may lie in columns, one after the other, as those of Fortran and of MATLAB's files, tables of
pandas, and transposes do. Where all large ones that a function reads lie so, it runs on their transposes: loops and
strips go along memory, as they do for rows. So run arithmetic, views, padding and other copies, reductions and running
sums along axes, sorts, filters and kernels of your own; a kernel's function is given transposes of pieces that lie in
rows. A function is called as it is if something in it is not known with its axes in reverse (products of matrices,
reshapes, transforms and others), or if of its large arrays some lie in rows and some in columns; `explain` says what
stands against it.

Results lie in columns, too, if NumPy is known to give such: ufuncs, `np.where`, `astype`, reductions, sorts and
`np.concatenate` do for nothing but such arrays. (They are transposes of arrays that own the memory.) All else is in C
order; so are all results of a function that asks for that order (`np.ascontiguousarray`, `x.copy()`, `order="C"`), or
writes to arrays that it has made otherwise.

```python
>>> table = np.asfortranarray(np.arange(200000.0).reshape(400, 500))
>>> smooth = sl.jit(lambda x: (x[:-2] + x[1:-1] + x[2:]) / 3)
>>> smooth(table).flags.f_contiguous
True
>>> "its arrays lie in columns, so it runs on their transposes" in smooth.explain(table)
True

```

## In C

What has run for a while moves to C, compiled in the background, without a change in any bit:
[native.md](native.md#while-a-program-runs). `sl.jit(native=True)` waits for the compiler instead, and takes more to C;
`native=False` never starts one. A function that has moved there in one process begins there in the next:
[automatic.md](automatic.md#in-the-next-process).

## What is understood

*Exact*: the same bits by pieces. *Exact along whole axes*: the same bits where an axis is read whole, of arrays in C
order along their last axis; in other layouts NumPy itself adds floats in another order. *Tolerance*: nearly the same.
`sl.jit(exact=True)` cuts only the first two: what is within a tolerance runs as one piece (`explain` names it), and
results are NumPy's in every bit, but for the last ones of products of complex numbers where an operand is a large array
without a name (`z * z.conj()`): NumPy then multiplies in the other order, in the memory of that. Nor is it the same by
pieces where NumPy's own answer goes by where in an array an element is: which of two zeros `fmax`, `fmin` and extrema
along axes give, and what becomes of floats that are no `uint32`. Where NumPy's bits
depend on the layout of arrays that are not in C order (transposed, flipped, strided ones in front of a sum), the
function is called as it is. So it is, always, where elements are asked
for in the order in which they lie in memory (`ravel("K")`, `reshape(order="A")`) and that is not known to be C order.
Indexing by slices with any step, integers, new axes and `...`, and all views below, cost nothing: they become part of
what is read. So do windows that slide, in sums, products (`einsum`, `tensordot`) and whatever else is done with them.
Arithmetic of elements that are seen through windows, and reduced along these, is computed once for each element.
Arrays of integers as indices choose elements along their axes, by pieces; where other axes lie between these, whole.
So do integers that are computed, where they choose a scalar: `x[np.argmax(x)]`; of others, values are asked for.

*As NumPy's code does it*: Python code of NumPy's that calls functions which are understood. That code is traced, of the
version that runs; so what it asks of sizes is asked. Where it asks for values, or warns, the function runs whole.

Parts of an array that are assigned to, one after the other, are copied once, where it is read as a whole; what reads a
part reads what was assigned to it. Arithmetic that is rolled by at most four elements, along an axis of 64 or more, is
computed so much beyond its ends: the roll is a slice of it, as those of stencils are.

Sums and means of all of an array of floats, or along its first axes, go by pieces of what they reduce, too, and so do
extrema, `any`, `all`, and sums of integers along any axes: what is computed for them alone need never be there in full.
Histograms go by pieces of what they count, too, where edges are known: of numbers of bins in a range, or given.
NumPy adds the floats of an array in C order by halves of halves, of which slinky keeps those that are complete, so
that results have NumPy's bits, in whatever pieces; along first axes, it adds row after row, but where there is just one
column. Which of the two it is depends on which axes have more than one element, so the trace of one column is another
one, and pieces of one column are added as the array is that they are cut from. That holds for sums, products, means,
variances and norms of floats in C order along any axis, and along several ones in Python plans; `exact=True` cuts those
along the last axis, along all of them, and, of float32 and float64, along others where the last axis stays and has more
elements than one; all else is one piece. With `where=`, pieces are of what stays alone, and
NumPy reduces them: `np.mean(x, axis=0, where=x > 0)` makes its mask by the same pieces.
"""


def page() -> str:
    """The text of the page."""
    ufuncs = sorted(
        (n for n in np.__all__ if isinstance(getattr(np, n), np.ufunc) and getattr(np, n).signature is None),
        key=str.lower,
    )
    rows = {}
    for entry in sorted(TABLE.values(), key=lambda entry: entry.name.lower()):
        rows[entry.name] = f"| `{entry.name}` | {entry.how} | {entry.exactness} |"
    exact = [name for name in ufuncs if exactness_of(getattr(np, name)) == "exact"]
    others = [name for name in ufuncs if name not in exact]
    parts = [
        PAGE,
        "All ufuncs on elements, with `out=`, `where=` and `dtype=`, their `reduce`, `reduceat`, `accumulate` and "
        "`outer`.",
        f"Exact: {_listed(exact)}.\n",
        f"Tolerance, for NumPy has several loops of them, for contiguous and other arrays: {_listed(others)}; "
        f"of complex numbers, also {_listed(sorted(ROUNDED_COMPLEX))}.\n",
        "| function | how | by pieces |\n|---|---|---|",
        "\n".join(rows.values()) + "\n",
        "What these give depends on values, so that they force them: "
        f"{_listed(sorted(map(name_of, DATA_DEPENDENT - TABLE.keys())))}.\n",
        "These stay whole, for nobody says that they could be cut: `apply_along_axis` of a function that is not "
        "NumPy's (it may keep something; `@sl.rowwise` says of one that it does not), `piecewise` of functions that do "
        "more than operators, ufuncs and numbers (`lambda v: v - v.min()` looks at all that a condition chooses), and "
        "`linalg.lstsq`, `linalg.eig` and their like, whose results have shapes or dtypes that depend on values. So do "
        "all functions that are not in the table.\n",
        f"With these, which write to what they are given, the function is called as it is: "
        f"{_listed(sorted(map(name_of, WRITING)))}, and `ufunc.at`; so it is where `fill_diagonal`, `place` or "
        "`putmask` write to an argument, or anything but a number (`putmask` also an array of the same shape and "
        "dtype).",
    ]
    return "\n".join(parts)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(page())
