#!/usr/bin/env python3
"""Compiles each installed header by itself, in a folder where nothing but the installed headers lies.

  scripts/check_headers.py [count] [seed] [compiler]

All of them take ten minutes of one core; with a count, so many that the seed picks (the umbrella is always one).
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def public_headers():
    listed = (ROOT / "cmake/NyalaPublicHeaders.cmake").read_text()
    todo = re.search(r"set\(NYALA_PUBLIC_HEADERS ([^)]*)\)", listed).group(1).split()
    found = set()
    while todo:
        header = todo.pop()
        if header not in found:
            found.add(header)
            todo += re.findall(r"^#include <nyala/([^>]+)>", (ROOT / header).read_text(), re.M)
    return sorted(found)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    compiler = sys.argv[3] if len(sys.argv) > 3 else "g++"
    headers = public_headers()
    chosen = headers
    if count:
        chosen = ["nyala.h"] + random.Random(seed).sample([h for h in headers if h != "nyala.h"], count - 1)
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            place = pathlib.Path(folder) / "nyala" / header
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / header, place)
        failed = 0
        for header in chosen:
            command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", "-I", folder, "-x", "c++", "-"]
            if header == "api/eigen.h":
                command += ["-isystem", "/usr/include/eigen3"]
            run = subprocess.run(command, input=f"#include <nyala/{header}>\n", capture_output=True, text=True)
            if run.returncode or run.stderr:
                failed += 1
                print(f"{header}:\n{run.stderr[:1500]}", flush=True)
        print(f"{len(chosen)} of {len(headers)} headers compiled alone, {failed} failed")
        return failed > 0


if __name__ == "__main__":
    sys.exit(main())
