#!/usr/bin/env python3
"""Makes the wheel, for pip and for Tools/release: a zip file of the package, libmmlog.so and three lists.

    MMLOG_LIBRARY=TREE/lib/libmmlog.so.1 python3 backend.py DIRECTORY      prints the wheel's name

The library is $MMLOG_LIBRARY, as Tools/release makes it. The same library makes the same bytes. No package is needed.
It makes no source distribution: `python -m build` needs the option `--wheel`.
"""

import base64
import hashlib
import os
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def version():
    """That of mmlog, which stands in one place."""
    text = (HERE.parent / "Sources/CommandLineTool/Version.swift").read_text(encoding="utf-8")
    return re.search(r'"(.*)"', text)[1]


def tag(library):
    """The wheel's tag: for the oldest glibc that has all symbols that the library asks for (PEP 600)."""
    versions = [tuple(map(int, found)) for found in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=[\0.])", library)]
    major, minor = max(versions)
    return f"py3-none-manylinux_{major}_{minor}_{os.uname().machine}"


def build_wheel(directory, config_settings=None, metadata_directory=None):
    path = os.environ.get("MMLOG_LIBRARY")
    if not path:
        sys.exit("mmlog: set MMLOG_LIBRARY to the library that the wheel is to have; Tools/release makes it")
    library = pathlib.Path(path).read_bytes()
    kind, stem = tag(library), f"mmlog-{version()}"
    metadata = (
        f"Metadata-Version: 2.1\nName: mmlog\nVersion: {version()}\nRequires-Python: >=3.8\nLicense: Apache-2.0\n"
        "Summary: A handler for logging whose records survive the death of the process\n"
        f"Description-Content-Type: text/markdown\n\n{(HERE / 'README.md').read_text(encoding='utf-8')}"
    )
    files = {f"mmlog/{source.name}": source.read_bytes() for source in sorted((HERE / "mmlog").glob("*.py"))}
    # Whatever the name that leads to it: that is what the package loads.
    files["mmlog/libmmlog.so.1"] = library
    licenses = sorted(pathlib.Path(path).resolve().parent.parent.glob("share/doc/mmlog/LICENSE*"))
    for license in licenses or [HERE.parent / "LICENSE"]:
        files[f"{stem}.dist-info/licenses/{license.name}"] = license.read_bytes()
    files[f"{stem}.dist-info/METADATA"] = metadata.encode()
    files[f"{stem}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: mmlog\nRoot-Is-Purelib: false\nTag: {kind}\n".encode()
    )
    record = f"{stem}.dist-info/RECORD"
    lines = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[record] = "".join(f"{line}\n" for line in [*lines, f"{record},,"]).encode()
    name = f"{stem}-{kind}.whl"
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # its time is 1980
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=9)
    return name


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
