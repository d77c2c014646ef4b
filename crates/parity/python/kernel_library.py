"""Calls a kernel library through its C header from Python, with nothing but ctypes.

Shows that the C ABI is enough: no Rust, no torch, no CUDA toolkit. A test of one library imports
this, says its prefix, and calls its operations:

    import kernel_library as kl

    library = kl.KernelLibrary("target/dist/scoring/libscoring.so", "cs", abi_version=1)
    library.check()                     # what every library must answer, GPU or not
    with kl.Gpu() as gpu:               # kl.NoDevice, with the reason, where there is none
        x = gpu.upload(array.array("f", [1.0, 2.0]))
        y = gpu.allocate(8)
        library.call("cs_...", x, y, ..., gpu.stream)
        gpu.synchronize()
        print(gpu.download(y, "f", 2))

Run as a program it makes the checks alone: kernel_library.py LIBRARY PREFIX ABI_VERSION
"""

import array
import ctypes
import json
import sys


class NoDevice(Exception):
    """There is no driver or no device here: nothing was checked on a GPU."""


class StatusError(Exception):
    """A call returned a status other than 0."""

    def __init__(self, code, text):
        super().__init__(f"status {code}: {text}")
        self.code = code
        self.text = text


class KernelLibrary:
    """A library with the functions that every one of them has."""

    def __init__(self, path, prefix, abi_version):
        self.prefix = prefix
        self.abi_version = abi_version
        self.handle = ctypes.CDLL(str(path))
        for name, result, arguments in (
            ("abi_version", ctypes.c_uint32, []),
            ("error_string", ctypes.c_char_p, [ctypes.c_int]),
            ("build_info", ctypes.c_char_p, []),
        ):
            function = getattr(self.handle, f"{prefix}_{name}")
            function.restype, function.argtypes = result, arguments

    def function(self, name):
        """An exported function by its whole name."""
        return getattr(self.handle, name)

    def error_string(self, code):
        text = self.function(f"{self.prefix}_error_string")(code)
        return None if text is None else text.decode()

    def status(self, name, *arguments):
        """Calls an operation and returns its status."""
        function = self.function(name)
        function.restype = ctypes.c_int
        return function(*arguments)

    def call(self, name, *arguments):
        """Calls an operation; a status other than 0 is a StatusError with the library's text."""
        code = self.status(name, *arguments)
        if code != 0:
            raise StatusError(code, self.error_string(code))

    def check(self):
        """What every library must answer, GPU or not."""
        version = self.function(f"{self.prefix}_abi_version")()
        if version != self.abi_version:
            raise AssertionError(f"ABI version: was {version}, must be {self.abi_version}")
        for code in (0, 1, 999, 1001, 2001, 10001, -1, 2**31 - 1, -(2**31)):
            if not self.error_string(code):
                raise AssertionError(f"error_string({code}): was null or empty")
        info = json.loads(self.function(f"{self.prefix}_build_info")().decode())
        if not isinstance(info, dict):
            raise AssertionError("build_info: must be a JSON object")
        return info


class Gpu:
    """Memory and one stream of the first GPU, through the driver's C API."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NoDevice(f"the NVIDIA driver library could not be loaded ({error})") from None
        code = self.driver.cuInit(0)
        if code != 0:
            raise NoDevice(f"the driver did not initialise (code {code})")
        count = ctypes.c_int()
        self._do("cuDeviceGetCount", ctypes.byref(count))
        if count.value == 0:
            raise NoDevice("the driver shows no device to this process")
        self.device = ctypes.c_int()
        self._do("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self._do("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        non_blocking = 1
        self._do("cuStreamCreate", ctypes.byref(self.stream), non_blocking)
        self.allocations = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.synchronize()
        for pointer in self.allocations:
            self._do("cuMemFree_v2", ctypes.c_uint64(pointer.value))
        self._do("cuStreamDestroy_v2", self.stream)
        self._do("cuDevicePrimaryCtxRelease_v2", self.device)

    def _do(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: CUDA error {code}")

    def allocate(self, size, fill=0xFF):
        """Device memory, filled: NaNs, so that what a kernel leaves out shows."""
        pointer = ctypes.c_uint64()
        self._do("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        self._do(
            "cuMemsetD8_v2", pointer, ctypes.c_ubyte(fill), ctypes.c_size_t(max(size, 1))
        )
        # The fill is not ordered with the created stream.
        self._do("cuCtxSynchronize")
        self.allocations.append(ctypes.c_void_p(pointer.value))
        return self.allocations[-1]

    def upload(self, values):
        """Device memory with the contents of an array.array or bytes."""
        data = bytes(values)
        pointer = self.allocate(len(data))
        self._do("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer.value), data, ctypes.c_size_t(len(data)))
        # The copy is not ordered with the created stream.
        self._do("cuCtxSynchronize")
        return pointer

    def download(self, pointer, typecode, count):
        """An array.array of that type with what is in device memory."""
        values = array.array(typecode)
        data = ctypes.create_string_buffer(count * values.itemsize)
        size = ctypes.c_size_t(len(data))
        self._do("cuMemcpyDtoH_v2", data, ctypes.c_uint64(pointer.value), size)
        values.frombytes(data.raw)
        return values

    def synchronize(self):
        self._do("cuStreamSynchronize", self.stream)


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    path, prefix, version = arguments
    KernelLibrary(path, prefix, int(version)).check()
    print(f"{path}: answers as every library must")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
