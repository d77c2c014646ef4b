"""Calls libscoring.so from Python with nothing but ctypes: what it answers without a GPU, what it
refuses, and, where there is a GPU, real scores.

    python3 ctypes_test.py [LIBRARY]

LIBRARY defaults to $SCORING_LIBRARY, then to the one that `cargo xtask compile` makes. Prints
`N passed, N failed`; exit code 1 if any failed, 2 if the library is not there.
"""

import array
import ctypes
import json
import math
import os
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "parity" / "python"))
sys.path.insert(0, str(HERE))

import kernel_library as kl  # noqa: E402

FIXTURES = HERE.parent / "fixtures"
DEFAULT_LIBRARY = HERE.parents[2] / "target" / "dist" / "scoring" / "libscoring.so"

I32, I64, F32, PTR = ctypes.c_int32, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p


class Params(ctypes.Structure):
    """cs_score_params, field for field."""

    _fields_ = (
        [("struct_size", ctypes.c_uint32)]
        + [(name, I32) for name in ("dtype", "similarity", "layout", "path", "top_k")]
        + [(name, I64) for name in ("questions", "max_k", "sum_k", "table_rows", "dim")]
        + [(name, I64) for name in ("query_stride", "candidate_stride", "question_stride")]
        + [(name, F32) for name in ("scale", "temperature", "eps", "reserved")]
        + [(name, PTR) for name in ("queries", "candidates", "offsets", "indices", "mask", "bias")]
        + [(name, PTR) for name in ("scales", "temperatures")]
        + [(name, PTR) for name in ("query_inverse_norms", "candidate_inverse_norms")]
        + [(name, PTR) for name in ("probabilities", "logits", "log_probabilities", "log_sum_exp")]
        + [(name, PTR) for name in ("argmax", "top_values", "top_indices", "expected_index")]
        + [(name, PTR) for name in ("status", "workspace")]
        + [("workspace_bytes", ctypes.c_size_t)]
    )


DOT, COSINE = 0, 1
DENSE, SHARED = 0, 2


def params(**fields):
    """A call of 2 questions by 3 candidates of 4 elements; no pointer is set."""
    values = dict(
        struct_size=ctypes.sizeof(Params), similarity=COSINE, layout=DENSE, questions=2, max_k=3,
        dim=4, scale=1.0, temperature=1.0, eps=1e-12,
    )
    values.update(fields)
    return Params(**values)


# Addresses that a refused call never follows, far from each other.
PLACES = dict(queries=0x10000000, candidates=0x20000000, probabilities=0x30000000)
NAN, INF = math.nan, math.inf

# (fields, status, the argument that its text names)
REFUSED = [
    (dict(struct_size=8), 6002, "struct_size"),
    (dict(dtype=9), 4003, "dtype"),
    (dict(similarity=-1), 4004, "similarity"),
    (dict(layout=4), 4005, "layout"),
    (dict(path=5), 4006, "path"),
    (dict(top_k=33), 2007, "top_k"),
    (dict(questions=-1), 2008, "questions"),
    (dict(questions=2**31), 2008, "questions"),
    (dict(max_k=0), 2009, "max_k"),
    (dict(dim=0), 2012, "dim"),
    (dict(dim=-4), 2012, "dim"),
    (dict(query_stride=3), 5013, "query_stride"),
    (dict(candidate_stride=-4), 5014, "candidate_stride"),
    (dict(scale=0.0), 3016, "scale"),
    (dict(scale=INF), 3016, "scale"),
    (dict(temperature=NAN), 3017, "temperature"),
    (dict(temperature=-1.0), 3017, "temperature"),
    (dict(temperature=1e-39), 3017, "temperature"),
    (dict(eps=-1e-12), 3018, "eps"),
    (dict(eps=NAN), 3018, "eps"),
    (dict(queries=None), 1019, "queries"),
    (dict(candidates=None), 1020, "candidates"),
    (dict(queries=0x10000001), 10019, "queries"),
    (dict(probabilities=0x30000002), 10029, "probabilities"),
    (dict(probabilities=0x20000000), 7029, "probabilities"),
    (dict(logits=0x30000000), 7030, "logits"),
    (dict(max_k=5000), 9038, "workspace"),
]


class Tests:
    """Counts what passes and what fails."""

    def __init__(self, library):
        self.library = library
        self.passed = self.failed = 0

    def that(self, what, holds, detail=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what} {detail}")

    def equal(self, what, was, must_be):
        self.that(what, was == must_be, f"was {was!r}, must be {must_be!r}")

    def near(self, what, was, must_be, bound=1e-6):
        close = len(was) == len(must_be) and all(
            abs(a - b) <= bound for a, b in zip(was, must_be)
        )
        self.that(what, close, f"was {list(was)[:8]}, must be {list(must_be)[:8]}")

    def score(self, call, stream=None):
        return self.library.status("cs_score", ctypes.byref(call), stream)


def without_a_gpu(tests):
    library = tests.library
    try:
        info = library.check()
        tests.that("build_info names the backend", info.get("name") == "scoring", info)
    except AssertionError as error:
        tests.that("answers as every library must", False, error)
    tests.that("success has a text", bool(library.error_string(0)))
    texts = {code: library.error_string(code) for _, code, _ in REFUSED}
    tests.equal("codes have texts of their own", len(set(texts.values())), len(texts))
    for fields, code, argument in REFUSED:
        what = f"{fields} is refused"
        call = params(**{**PLACES, **fields})
        tests.equal(what, tests.score(call), code)
        tests.that(f"status {code} names {argument}", argument in texts[code], texts[code])
    tests.equal("null params are refused", library.status("cs_score", None, None), 1001)

    seed = [PTR(PLACES[name]) for name in ("queries", "candidates", "probabilities")]
    one, entry = ctypes.c_float(1.0), "cs_score_candidates"
    for k, d, scale, temperature, code in (
        (256, 4, 1.0, 1.0, 2009),
        (0, 4, 1.0, 1.0, 2009),
        (3, 0, 1.0, 1.0, 2012),
        (3, 4, 0.0, 1.0, 3016),
        (3, 4, 1.0, -1.0, 3017),
    ):
        status = library.status(entry, *seed, None, k, d, F32(scale), F32(temperature), 1, None)
        tests.equal(f"{entry} k={k} d={d} scale={scale} T={temperature}", status, code)
    status = library.status(entry, None, *seed[1:], None, 3, 4, one, one, 1, None)
    tests.equal(f"{entry} null query", status, 1019)

    describe = library.function("cs_device_status_string")
    describe.restype, describe.argtypes = ctypes.c_char_p, [ctypes.c_uint32]
    words = [describe(word) for word in (0, 1 << 24, 2 << 24, 3 << 24, 0xFFFFFFFF)]
    tests.that("every status word has a text", all(words), words)
    tests.equal("causes have texts of their own", len(set(words[:4])), 4)

    size = library.function("cs_score_workspace_bytes")
    size.restype, size.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    refused = params(**PLACES, dim=0, max_k=5000)
    tests.equal("a refused call wants no workspace", size(ctypes.byref(refused)), 0)


def without_a_device(tests):
    """A legal call where there is none: a CUDA error, no crash, not a success."""
    status = tests.score(params(**PLACES))
    tests.that("a legal call without a device is a CUDA error", 0 < status < 1000, status)


def softmax(logits):
    top = max(logits)
    terms = [math.exp(x - top) for x in logits]
    return [x / sum(terms) for x in terms]


def floats(values):
    return array.array("f", values)


def small_problem(tests, gpu):
    queries = floats([1, 2, 3, 4, 1, 0, 0, 0])
    candidates = floats([1, 2, 3, 4, 4, 3, 2, 1, -1, 0, 0, 1] + [2, 0, 0, 0, 1, 1, 1, 1, 0, 5, 0, 0])
    cosines = [[1.0, 20 / 30, 3 / math.sqrt(60)], [1.0, 0.5, 0.0]]
    q, c = gpu.upload(queries), gpu.upload(candidates)
    p, logits, top, best = (gpu.allocate(24), gpu.allocate(24), gpu.allocate(16), gpu.allocate(8))
    call = params(
        queries=q, candidates=c, probabilities=p, logits=logits, top_indices=top, argmax=best,
        top_k=2, scale=3.0, temperature=2.0,
    )
    tests.library.call("cs_score", ctypes.byref(call), gpu.stream)
    gpu.synchronize()
    want = [[x * 1.5 for x in row] for row in cosines]
    general = gpu.download(p, "f", 6)
    tests.near("logits", gpu.download(logits, "f", 6), sum(want, []))
    tests.near("probabilities", general, sum(map(softmax, want), []))
    tests.equal("top indices", list(gpu.download(top, "i", 4)), [0, 1, 0, 1])
    tests.equal("argmax", list(gpu.download(best, "i", 2)), [0, 0])

    again, scale, temperature = gpu.allocate(24), F32(3.0), F32(2.0)
    tests.library.call(
        "cs_score_candidates_batch", q, c, again, None, 2, 3, 4, scale, temperature, 1, gpu.stream
    )
    gpu.synchronize()
    tests.equal("the batch entry gives the same bits", gpu.download(again, "f", 6), general)
    alone = gpu.allocate(12)
    tests.library.call(
        "cs_score_candidates", q, c, alone, None, 3, 4, scale, temperature, 1, gpu.stream
    )
    gpu.synchronize()
    tests.equal("one question alone gives the same bits", gpu.download(alone, "f", 3), general[:3])

    untouched = gpu.upload(floats([7.0] * 6))
    status = tests.score(
        params(queries=q, candidates=c, probabilities=untouched, temperature=0.0), gpu.stream
    )
    gpu.synchronize()
    tests.equal("a refused call answers its code", status, 3017)
    tests.equal("and writes nothing", list(gpu.download(untouched, "f", 6)), [7.0] * 6)


def many_candidates(tests, gpu):
    """Beyond one node: the workspace that the library asks for is enough."""
    k = 5000
    q, c = gpu.upload(floats([1.0])), gpu.upload(floats([i % 7 for i in range(k)]))
    p, best = gpu.allocate(4 * k), gpu.allocate(4)
    call = params(
        questions=1, max_k=k, dim=1, similarity=DOT, queries=q, candidates=c, probabilities=p,
        argmax=best,
    )
    size = tests.library.function("cs_score_workspace_bytes")(ctypes.byref(call))
    tests.that("5000 candidates want a workspace", size > 0, size)
    call.workspace, call.workspace_bytes = gpu.allocate(size, fill=0), size
    for _ in range(3):
        tests.library.call("cs_score", ctypes.byref(call), gpu.stream)
        gpu.synchronize()
        got = gpu.download(p, "f", k)
        tests.near("5000 probabilities", got, softmax([i % 7 for i in range(k)]), 1e-9)
        tests.equal("the first of the best", list(gpu.download(best, "i", 1)), [6])


def read_tensors(path):
    """The tensors of a safetensors file by name, as bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    entries = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    return {name: body[start:end] for name, (start, end) in entries.items()}


def sentence_embeddings(tests, gpu):
    path = FIXTURES / "minilm_scores.safetensors"
    if not path.exists():
        print(f"not checked: real embeddings ({path} is not there)")
        return
    tensors = read_tensors(path)
    questions = json.loads((FIXTURES / "minilm_scores.json").read_text())["questions"]
    q, c = gpu.upload(tensors["questions"]), gpu.upload(tensors["candidates"])
    p, best = gpu.allocate(4 * 8 * 255), gpu.allocate(4 * 8)
    call = params(
        layout=SHARED, questions=8, max_k=255, dim=384, scale=20.0, queries=q, candidates=c,
        probabilities=p, argmax=best,
    )
    tests.library.call("cs_score", ctypes.byref(call), gpu.stream)
    gpu.synchronize()
    expected = array.array("d", tensors["expected"])
    tests.near("probabilities of real sentences", gpu.download(p, "f", 8 * 255), expected, 1e-5)
    answers = [question["top"]["index"] for question in questions]
    tests.equal("answers to real questions", list(gpu.download(best, "i", 8)), answers)


def main(arguments):
    path = Path(arguments[0] if arguments else os.environ.get("SCORING_LIBRARY", DEFAULT_LIBRARY))
    if not path.exists():
        print(f"{path} is not there: `cargo xtask compile --backend scoring` makes it")
        return 2
    tests = Tests(kl.KernelLibrary(path, "cs", abi_version=1))
    without_a_gpu(tests)
    try:
        with kl.Gpu() as gpu:
            small_problem(tests, gpu)
            many_candidates(tests, gpu)
            sentence_embeddings(tests, gpu)
    except kl.NoDevice as reason:
        print(f"not checked on a GPU: {reason}")
        without_a_device(tests)
    print(f"{tests.passed} passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
