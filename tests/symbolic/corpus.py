"""The questions that schedules ask, each with the answer a person expects.

`facts |- goal` must be proved; `facts |/ goal` has a counterexample and must not be. `v in a..b` stands for
`a <= v` and `v <= b`. Small letters are variables, capitals scalars of the pipeline; `inp`, `mid`, `out` are
dimensions of buffers, with `min`, `max`, `extent` and `fold`. Facts are separated by `;`.
"""

QUESTIONS = """
# Windows of stencils stay in their inputs
y in out.min..out.max; inp.min <= out.min - 1 |- inp.min <= y - 1
y in out.min..out.max; out.max + 1 <= inp.max |- y + 1 <= inp.max
y in out.min..out.max; inp.min <= out.min |/ inp.min <= y - 1
y in out.min..out.max; inp.min <= 2*out.min - 1 |- inp.min <= 2*y - 1
y in out.min..out.max; 2*out.max + 1 <= inp.max |- 2*y + 1 <= inp.max
y in out.min..out.max; 2*out.max <= inp.max |/ 2*y + 1 <= inp.max
y in out.min..out.max; inp.min <= out.min - 6; k in -2..2 |- inp.min <= y + 3*k
y in out.min..out.max; inp.min <= out.min - 5; k in -2..2 |/ inp.min <= y + 3*k
y in out.min..out.max; k in -R..R; inp.min <= out.min - R |- inp.min <= y + k
y in out.min..out.max; k in -R..R; out.max + R <= inp.max |- y + k <= inp.max
y in out.min..out.max; k in -R..R; D >= 1; inp.min <= out.min - D*R |- inp.min <= y + D*k
y in out.min..out.max; k in -R..R; D >= 1; out.max + D*R <= inp.max |- y + D*k <= inp.max
y in out.min..out.max; inp.min <= S*out.min - R; S >= 1 |- inp.min <= S*y - R
y in out.min..out.max; S*out.max + R <= inp.max; S >= 1 |- S*y + R <= inp.max
y in out.min..out.max; k in 0..K - 1; S >= 1; S*out.max + K - 1 <= inp.max |- S*y + k <= inp.max
y in out.min..out.max; inp.min <= -out.max; -out.min <= inp.max |- (inp.min <= -y) & (-y <= inp.max)
y in out.min..out.max; x in out.min..y; inp.min <= out.min - 1 |- inp.min <= x - 1
y in out.min - 1..out.max + 1; inp.min <= out.min - 2; out.max + 2 <= inp.max |- (inp.min <= y - 1) & (y + 1 <= inp.max)
y in out.min - 1..out.max + 1; inp.min <= out.min - 2; out.max + 1 <= inp.max |/ (inp.min <= y - 1) & (y + 1 <= inp.max)
inp.min <= mid.min - 1; mid.min <= out.min - 1; y >= out.min |- inp.min <= y - 2
inp.min <= a - 1; a <= b - 1; b <= c - 1; c <= d - 1; d <= y |- inp.min <= y - 4
eq(inp.min, out.min); y >= out.min + 2 |- inp.min <= y - 2
eq(inp.min, 0); y >= 1 |- inp.min <= y - 1
eq(inp.min, 4*K); out.min >= 4*K + 4; y >= out.min |- inp.min <= y - 4

# Pieces of what is read at a rate that a scalar says
x in out.min..out.max; S >= 1 |- S*x <= S*max(x, out.min)
x in out.min..out.max; S >= 1 |- S*max(x, out.min) <= S*min(out.max, x + 3)
x in out.min..out.max; S >= 1; a <= S*out.min; S*out.max <= b |- S*max(x, out.min) <= S*min(out.max, x + 3)
x in out.min..out.max; S >= 1; K >= 1 |- S*min(out.max, x + K - 1) <= S*x + S*K - S
x in out.min..out.max |/ S*x <= S*max(x + 1, out.min)
x in out.min..out.max; S >= 0 |/ S*x + 1 <= S*max(x + 1, out.min)
x in out.min..out.max; S >= 1; D >= 1 |- (S*x) // D <= (S*max(x, out.min)) // D
S >= 1; D >= 1 |- S*(x // D) <= S*((x + 3) // D)
S >= 1 |- S*(x // 4) <= S*((x + 3) // 4)
D >= 1 |/ S*(x // D) <= S*((x + 3) // D)

# What a window holds, and what is new in it
y0 <= y |- max(y + 1, y0 - 1) <= y + 1
y0 <= y; S in 1..3 |- y - 1 <= (y - S + 1) + 1
y0 <= y; S in 1..4 |/ y - 1 <= (y - S + 1) + 1
S >= 1; S <= 2*R + 1 |- y - R <= (y - S + R) + 1
S >= 1; R >= 0 |- max(y - S + R + 1, y - R) <= y + R
S >= 1; R >= 0; y0 <= y |- max(y - S + R + 1, y0 - R) <= y + R
S >= 1; y >= y0 |- max(y0 - 1, y - S + 2) <= y + 1
S >= 1; y >= y0 + S |- y0 + 1 <= y - S + 1
y >= y0 |- min(y - 1, y0 - 1) >= y0 - 1
y >= y0; y <= y1 |- (max(y - 1, y0) >= y0) & (min(y + 1, y1) <= y1)
y in y0..y1 |- max(y - 1, y0) <= min(y + 1, y1)
y >= y0 |- eq(max(y, y0), y)
y >= y0 |- eq(min(y - 1, y0 - 1), y0 - 1)
y >= y0 |/ eq(max(y - 1, y0), y - 1)
y0 <= y |- max(y + 1, y0 - 1) - min(y - 1, y0 - 1) >= 2
|- (y + 1) - (y - 1) + 1 <= 3
|/ (y + 1) - (y - 1) + 1 <= 2
R in 0..4 |- (y + R) - (y - R) + 1 <= 9
S in 1..4; R >= 0 |- (y + S - 1 + R) - (y - R) + 1 <= 2*R + 4
|- (2*y + 3) - (2*y - 1) + 1 <= 5
S >= 1 |- (S*y + S - 1) - S*y + 1 <= S
S >= 1 |/ (S*y + S) - S*y + 1 <= S

# Ends of windows do not run backwards
S >= 1 |- y - 1 <= (y + S) - 1
S >= 1 |- 2*y + 1 <= 2*(y + S) + 1
S >= 0; D >= 0 |- D*y <= D*(y + S)
S >= 1 |- y//2 <= (y + S)//2
S >= 1 |- (y + 3)//4 <= (y + S + 3)//4
S >= 1; D >= 1 |- y//D <= (y + S)//D
a <= b |- a//3 <= b//3
a <= b; K >= 1 |- a//K <= b//K
a <= b |/ a//3 <= b//3 - 1
a <= b - 3 |- a//3 <= b//3 - 1
a <= b - K; K >= 1 |- a//K <= b//K - 1
a <= b; c <= d |- min(a, c) <= min(b, d)
a <= b; c <= d |- max(a, c) <= max(b, d)
a <= b |/ min(a, c) <= min(b, d)
a <= b |- max(min(a, n), m) <= max(min(b, n), m)
S >= 1 |- min(y + 1, n) <= min(y + S + 1, n)
S >= 1; m <= n |- max(m, min(y - 1, n)) <= max(m, min(y + S - 1, n))
S >= 1 |/ -y <= -(y + S)
S >= 1 |/ y % 8 <= (y + S) % 8
S in 1..8 |- (y + S)//8 - y//8 <= 1
S in 1..9 |/ (y + S)//8 - y//8 <= 1

# Splits without a tail
eq(N % 8, 0); o in 0..N//8 - 1; i in 0..7 |- 8*o + i <= N - 1
o in 0..N//8 - 1; i in 0..7 |- 8*o + i <= N - 1
o in 0..N//8; i in 0..7 |/ 8*o + i <= N - 1
o in 0..N//8 - 1; i in 0..7 |- 8*o + i >= 0
o in 0..N - 1; i in 0..7 |- 8*o + i <= 8*N - 1
o in a..b; i in 0..7; inp.min <= 8*a; 8*b + 7 <= inp.max |- (inp.min <= 8*o + i) & (8*o + i <= inp.max)
K >= 1; o in 0..N - 1; i in 0..K - 1 |- K*o + i <= K*N - 1
K >= 1; o in 0..N//K - 1; i in 0..K - 1 |- K*o + i <= N - 1
K >= 1; o in 0..N//K; i in 0..K - 1 |/ K*o + i <= N - 1
K >= 1; o >= 0; i >= 0 |- K*o + i >= 0
y in 0..8*N - 1 |- y//8 <= N - 1
y in 0..8*N |/ y//8 <= N - 1
y in 0..N - 1; eq(N % 8, 0) |- y//8 <= N//8 - 1
y in 0..K*N - 1; K >= 1 |- y//K <= N - 1

# Splits with a tail
o in 0..(N - 1)//8 |- 8*o <= N - 1
o in 0..(N + 7)//8 - 1 |- 8*o <= N - 1
o in 0..(N + 8)//8 - 1 |/ 8*o <= N - 1
o in 0..(N - 1)//8; i in 0..7 |/ 8*o + i <= N - 1
o in 0..(N - 1)//8; i in 0..min(7, N - 1 - 8*o) |- 8*o + i <= N - 1
o in 0..(N - 1)//8; i in 0..7 |- min(8*o + i, N - 1) <= N - 1
o in 0..(N - 1)//8 |- 8*o <= min(8*o + 7, N - 1)
|- 8*((N - 1)//8) + 7 >= N - 1
|- 8*((N + 7)//8) >= N
|/ 8*(N//8) >= N
N >= 1; y in 0..N - 1 |- y//8 <= (N - 1)//8
N >= 8 |- N - 8*(N//8) <= 7
N >= 8 |- 8*(N//8) >= 8
K >= 1; o in 0..(N - 1)//K |- K*o <= N - 1
K >= 1 |- K*((N + K - 1)//K) >= N
K >= 1 |- K*((N - 1)//K) + K >= N
K >= 1; y in 0..N - 1 |- y//K <= (N - 1)//K
K >= 1; o in 0..N//K - 1 |- K*(o + 1) <= N
y in 8*(N//8)..N - 1 |- y - 8*(N//8) <= 6
y in 8*(N//8)..N - 1; eq(N % 8, 0) |- y <= 0 - 1

# Shifted tiles: the last one begins earlier
N >= 8; o in 0..(N - 1)//8; i in 0..7 |- min(8*o, N - 8) + i <= N - 1
N >= 8; o in 0..(N - 1)//8; i in 0..7 |- min(8*o, N - 8) + i >= 0
N >= 7; o in 0..(N - 1)//8; i in 0..7 |/ min(8*o, N - 8) + i >= 0
N >= K; K >= 1; o >= 0; i in 0..K - 1 |- (0 <= min(K*o, N - K) + i) & (min(K*o, N - K) + i <= N - 1)

# Splits of splits
o in 0..N//32 - 1; m in 0..3; i in 0..7 |- 32*o + 8*m + i <= N - 1
o in 0..N//8 - 1; m in 0..2; i in 0..3 |/ 8*o + 4*m + i <= N - 1
o in 0..(N - 1)//32; m in 0..3; i in 0..7 |- min(32*o + 8*m + i, N - 1) <= N - 1
o in 0..(N - 1)//32; m in 0..min(3, (N - 1 - 32*o)//8) |- 32*o + 8*m <= N - 1
o in 0..7; m in 0..7; i in 0..7 |- 64*o + 8*m + i <= 511
y in 0..511 |- (y//8)//8 <= 7
|- eq((y//4)//8, y//32)
|- eq((y//8)*8 + y % 8, y)
|- eq((y//32)*32 + (y % 32)//8*8 + y % 8, y)
A >= 1; B >= 1; o in 0..N - 1; m in 0..A - 1; i in 0..B - 1 |- (A*o + m)*B + i <= A*B*N - 1
i in 0..7 |- (8*o + i)//8 <= o
i in 0..7 |- (8*o + i)//8 >= o
i in 0..8 |/ (8*o + i)//8 <= o
K >= 1; i in 0..K - 1 |- eq((K*o + i)//K, o)
i in 0..7 |- eq((8*o + i) % 8, i)

# Down- and upsampling
y in out.min..out.max; inp.min <= out.min//2 |- inp.min <= y//2
y in out.min..out.max; (out.max + 1)//2 <= inp.max |- (y + 1)//2 <= inp.max
y in out.min..out.max; out.max//2 <= inp.max |/ (y + 1)//2 <= inp.max
|- (y + 1)//2 - y//2 <= 1
|- (y + 1)//2 - y//2 >= 0
|- (y + 8)//2 - y//2 <= 4
|- (y + 7)//2 - y//2 <= 4
|/ (y + 7)//2 - y//2 <= 3
|- 2*(y//2) <= y
|- 2*(y//2) + 1 >= y
|- 2*(y//2) - 1 >= y - 2
|- y//2 - y//4 >= y//4
|- 4*(y//4) <= 2*(y//2)
|- (2*y + 1)//2 >= y
|- (2*y + 1)//2 <= y
|- 2*((y + 1)//2) >= y
S >= 1 |- (y + S - 1)//2 - y//2 <= S//2
S >= 1 |- (y + S)//2 - y//2 <= (S + 1)//2
S >= 1 |/ (y + S)//2 - y//2 <= S//2
y in 2*m..2*n + 1 |- (m <= y//2) & (y//2 <= n)
y in a..b; m <= a//2 - 1; b//2 + 1 <= n |- (m <= y//2 - 1) & (y//2 + 1 <= n)
y//4 >= n |- y >= 4*n
y >= 4*n |- y//4 >= n
y//4 <= n |- y <= 4*n + 3
y//4 <= n |/ y <= 4*n + 2
x in 0..2*N - 1 |- x//2 in 0..N - 1
|- (3*y)//2 - (3*y - 3)//2 <= 2
|- (3*y + 1)//3 <= y
|- -((-y)//2) >= y//2
|- -((-y)//2) - y//2 <= 1

# Clamps
m <= n |- (m <= max(m, min(y, n))) & (max(m, min(y, n)) <= n)
m <= n |- min(max(y, m), n) >= m
|/ min(max(y, m), n) >= m
m <= n |- eq(max(m, min(y, n)), min(n, max(y, m)))
m <= n; y in m..n |- eq(max(m, min(y, n)), y)
|- min(a, b) <= a
|- min(a, b) <= max(a, b)
|- min(a, b) + max(a, b) <= a + b
|- min(a, b) + max(a, b) >= a + b
|- max(a, b) - min(a, b) >= 0
|- max(a - b, b - a) >= 0
|- max(min(a, b), c) >= min(a, max(b, c))
|- min(a, max(b, c)) <= max(min(a, b), c)
inp.extent >= 1 |- max(inp.min, min(y, inp.max)) <= inp.max
|/ max(inp.min, min(y, inp.max)) <= inp.max
y <= max(a, b); a <= n; b <= n |- y <= n
min(a, b) <= y; y <= n; n <= a - 1 |- b <= y
max(a, b) <= n |- (a <= n) & (b <= n)
a <= n; b <= n; c <= n; d <= n |- max(a, b, c, d) <= n
m <= y - 1; m <= x |- m <= min(x, y - 1, y)
y in max(a, b)..min(c, d) |- (a <= c) & (b <= d) & (a <= d)
max(a, 0)//8 <= n - 1 |- a <= 8*n - 1

# The first iteration
y >= y0 |- select(y <= y0, y0 - 1, y + 1) <= y + 1
y >= y0 |- select(y <= y0, y - 1, y + 1) >= y - 1
y >= y0 |- select(y <= y0, y - 1, y + 1) >= y0 - 1
y >= y0 |- eq(select(y <= y0, y0 - 1, y + 1), select(eq(y, y0), y - 1, y + 1))
y >= y0; S >= 1 |- select(y <= y0, y0 - 1, y - S + 2) <= y + 1
y >= y0 + 1 |- select(y <= y0, y0 - 1, y + 1) >= y0 + 2
y >= y0 |/ select(y <= y0, y0 - 1, y + 1) >= y0
|- select(a <= b, a, b) <= min(a, b)
|- select(a <= b, a, b) <= a
|- select(a <= b, b, a) >= max(a, b)
eq(select(y <= 3, 1, 0), 1) |- y <= 3
(a <= 3) | (a >= 9); a >= 4 |- a >= 9
(a <= 3) | (b <= 3); a >= 4 |- b <= 3
(a <= 3) | (b <= 3) |- min(a, b) <= 3
(a <= b) | (c <= b) |/ a <= b
~((a <= b) & (b <= c)); a <= b |- c <= b - 1
(y <= 0) | (y >= 1) |- y <= y
|- (y <= 3) | (y >= 4)
|- (a <= b) | (b <= a)
|/ (a <= b - 1) | (b <= a - 1)
y in 0..9; ~eq(y, 9) |- y <= 8
ne(a, b); a <= b |- a <= b - 1

# Alignment
|- (x//8)*8 <= x
|- x - (x//8)*8 <= 7
K >= 1 |- (x//K)*K <= x
K >= 1 |- x - (x//K)*K <= K - 1
K >= 1 |- (x//K)*K + K >= x + 1
|/ (x//8)*8 >= x
eq(x % 8, 0) |- eq((x//8)*8, x)

# Facts are used in divisors, and in factors
M >= 1 |- eq(a//max(M, 1), a//M)
|/ eq(a//max(K, 2), a//max(K, 1))
M >= 1 |- eq(a % max(M, 1), a % M)
M >= 1 |- max(M, 1)*(a//max(M, 1)) <= a
M >= 1; a//M >= 3 |- a//max(M, 1) >= 3
E >= 1; A >= 1 |- eq(a//max(1, min(E, A)), a//min(E, A))
E >= 1 |- a % max(1, min(E, A)) <= max(1, min(E, A)) - 1
E >= 1; A >= 1 |- a % max(1, min(E, A)) <= E - 1
inp.extent >= 1; out.extent >= 1 |- inp.extent*out.extent >= 1
inp.extent >= 1; out.extent >= 1; mid.extent >= 1 |- inp.extent*out.extent*mid.extent >= 1
inp.extent >= 1; out.extent >= 1; mid.extent >= 1; y >= 0 |- y//(inp.extent*out.extent*mid.extent) >= 0
inp.extent >= 1 |/ inp.extent*out.extent >= 1
inp.extent >= 1; out.extent >= 1 |/ inp.extent*out.extent >= 2
eq(x % 8, 0); x <= 15; x >= 9 |- x <= 8
eq(x % 8, 0) |- eq(x % 4, 0)
eq(x % 4, 0) |/ eq(x % 8, 0)
eq(x % 8, 0); eq(y % 8, 0); x <= y - 1 |- x <= y - 8
eq(x % 6, 0); eq(x % 4, 0); x in 1..12 |- eq(x, 12)
eq(x, 8*a); eq(x, 8*b + 4) |- x <= x - 1
eq(2*a, 3*b) |- eq(a % 3, 0)
x % 8 <= 0 |- x//8*8 >= x
|- (x % 8 >= 0) & (x % 8 <= 7)
K >= 1 |- (x % K >= 0) & (x % K <= K - 1)
|- ((x + 7)//8)*8 - x <= 7
x in 8*a..8*a + 7 |- eq(x//8, a)
eq(inp.min % 4, 0); y >= inp.min |- (y//4)*4 >= inp.min
y >= inp.min |/ (y//4)*4 >= inp.min
y <= n; eq((n + 1) % 4, 0) |- (y//4)*4 + 3 <= n

# Steps and radii that are known only when the pipeline runs
S >= 1; R >= 0 |- S*((2*R + S - 1)//S) >= 2*R
S >= 1; R >= 0 |- S*((2*R)//S) <= 2*R
S >= 1; R >= 0 |- S*((2*R + S - 1)//S) <= 2*R + S - 1
S >= 1; R >= 0 |/ S*((2*R)//S) >= 2*R
S >= 1; R >= 0 |- (2*R + S - 1)//S >= 0
S >= 1; R >= 1 |- (2*R + S - 1)//S >= 1
S >= 1; R >= 0 |- y0 - S*((2*R + S - 1)//S) <= y0 - 2*R
S >= 1; R >= 0; y >= y0 |- y - S*((2*R + S - 1)//S) <= y
S >= 1; R >= 0 |- S*R >= R
S >= 1; R >= 0 |- S*R >= 0
S >= 1; R >= 0; D >= 1 |- S*R*D >= R
S >= 2; R >= 1 |- S*R >= S + R - 1
S >= 0; R >= 0 |/ S*R >= R
S >= 1 |- S*S >= S
|- x*x >= 0
S >= 1; a <= b |- S*a <= S*b
S >= 1; a <= b - 1 |- S*a + S <= S*b
S >= 1; a <= b |/ S*a <= S*b - 1
S >= 1; D >= 1; N >= 0 |- N//S//D <= N
S >= 1; N >= 0 |- N//S <= N
S >= 1; N >= 1 |- (N - 1)//S <= N - 1
S >= 1; N >= 1; o in 0..(N - 1)//S |- S*o <= N - 1
S >= 1; o in 0..T - 1 |- y0 + S*o <= y0 + S*(T - 1)
S >= 1; o in 0..T - 1 |- y0 <= y0 + S*o
N >= 1; o in 0..(N - 1)//16; S >= 1 |- 16*o + S >= 1

# Buffers
|- inp.min <= inp.max + 1
|/ inp.min <= inp.max
|- inp.extent >= 0
|- inp.fold >= 1
inp.extent >= 3 |- inp.min + 2 <= inp.max
y in inp.min..inp.max |- inp.extent >= 1
y in inp.min..inp.max |- y - inp.min <= inp.extent - 1
inp.fold >= 3 |- (y + 1) - (y - 1) + 1 <= inp.fold
eq(inp.extent, out.extent); eq(inp.min, out.min) |- eq(inp.max, out.max)
inp.extent <= 0; y in inp.min..inp.max |- eq(1, 0)
y <= 3; y >= 4 |- inp.min <= inp.max - 5
2*a + 2*b <= 7; a + b >= 4 |- eq(1, 0)
3*a + 3*b <= 7; a + b >= 3 |- eq(1, 0)
"""

BOUNDS = """
# expression for variables in their ranges = the interval a person would give
y - 1 for y in m..n = m - 1..n - 1
2*y + 1 for y in m..n = 2*m + 1..2*n + 1
-y for y in m..n = -n..-m
y - x for y in m..n, x in a..b = m - b..n - a
y//2 for y in m..n = m//2..n//2
(y + 1)//2 for y in 0..7 = 0..4
y % 8 for y in 0..7 = 0..7
y % 8 for y in m..n = 0..7
y % 8 for y in 2..5 = 2..5
y - 8*(y//8) for y in m..n = 0..7
(y + 1)//2 - y//2 for y in m..n = 0..1
(y + S - 1)//2 - y//2 for y in m..n = (S - 1)//2..S//2
(y + S)//2 - y//2 for y in m..n = S//2..(S + 1)//2
(y + 8)//2 - y//2 for y in m..n = 4..4
(y + 7)//4 - y//4 for y in m..n = 1..2
(y + 3)//4 - (y - 3)//4 for y in m..n = 1..2
(y + S)//4 - y//4 for y in m..n = S//4..(S + 3)//4
(2*y + 3)//4 - y//2 for y in m..n = 0..1
min(y, 5) for y in m..n = min(m, 5)..min(n, 5)
max(min(y, N - 1), 0) for y in m..n = max(min(m, N - 1), 0)..max(min(n, N - 1), 0)
min(y, 5) - y for y in 0..9 = -4..0
min(8*o + 7, N - 1) - 8*o for o in 0..(N - 1)//8 = (N - 1) % 8..min(7, N - 1) given N >= 1
min(y + 1, n) - y for y in m..n = 0..min(1, n - m) given m <= n
max(y, x) for y in 0..3, x in 2..9 = 2..9
select(y <= 3, y, 3) for y in 0..9 = 0..3
select(y <= m, m - 1, y + 1) for y in m..n = m - 1..n + 1 given m <= n
select(y <= m, 3, 5) for y in m..n = 3..5 given m <= n
select(a <= b, y, y + 1) for y in 0..9 = select(a <= b, 0, 1)..select(a <= b, 9, 10)
select(a <= b, select(a <= 0, y, 3), 7) for y in 3..9 = select(a <= b, 3, 7)..select(a <= b, select(a <= 0, 9, 3), 7)
K*y for y in m..n = K*m..K*n given K >= 0
K*o + i for o in 0..N - 1, i in 0..K - 1 = 0..K*N - 1 given K >= 1
y//K for y in 0..N = 0..N//K given K >= 1
y % K for y in m..n = 0..K - 1 given K >= 1
y % inp.extent for y in m..n = 0..inp.extent - 1 given inp.extent >= 1
3*(y % inp.extent) + 1 for y in m..n = 1..3*inp.extent - 2 given inp.extent >= 1
y % (inp.extent*out.extent) for y in m..n = 0..inp.extent*out.extent - 1 given (inp.extent >= 1) & (out.extent >= 1)
(y + K)//K - y//K for y in m..n = 1..1 given K >= 1
y*y for y in 0..5 = 0..25
(y//4)*4 for y in 0..31 = 0..28
8*o + i - 8*((8*o + i)//8) for o in 0..3, i in 0..7 = 0..7
min(y + 1, n) - max(y - 1, m) + 1 for y in m..n = min(2, n - m + 1)..min(3, n - m + 1) given m <= n
select(y <= 3, 3 - y, y - 4) for y in 0..9 = 0..5
select(y <= m + 1, y, m) for y in m..n = m..min(m + 1, n) given m <= n
max(y - 1, m) - y for y in m..n = -1..0 given m <= n - 1
y + x - y for y in 0..9 = x..x
"""
