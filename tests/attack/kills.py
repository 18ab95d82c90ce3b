#!/usr/bin/env python3
"""Kills (SIGKILL) programs in the middle of a save and of training under BackupAndRestore.

kills.py BUILD [TRIALS [SEED]]: the file that was saved over and over is whole after every kill, and training that was
killed and begun again ends with the bytes that it would have ended with.
"""
import os, pathlib, random, shutil, subprocess, sys, tempfile, time


def run_and_kill(command, seconds):
    """The exit status, or None where the kill came first."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return None
    if child.returncode != 0:
        print(" ".join(command), "said", child.stderr.read().decode(errors="replace"))
    return child.returncode


def saves(programs, folder, trials, draw):
    path, bad = str(folder / "forever.weights.h5"), 0
    program = str(programs / "save_forever")
    begun = time.monotonic()
    child = subprocess.Popen([program, path])
    while not os.path.exists(path) and child.poll() is None and time.monotonic() < begun + 120:
        time.sleep(0.01)
    first = time.monotonic() - begun  # a sanitizer starts slowly
    child.kill()
    child.wait()
    for _ in range(trials):
        run_and_kill([program, path], draw.uniform(0.1 * first, first + 0.3))
        if os.path.exists(path) and subprocess.run([program, path, "check"]).returncode != 0:
            bad += 1
    left = len(list(folder.glob("forever*.nyala-tmp-*")))
    print(f"{trials} kills in the middle of a save: {bad} files not whole, {left} temporary files left")
    return bad + (left > 1) + (not os.path.exists(path))


def trainings(programs, folder, trials, draw):
    bad = kills = 0
    for replicas in (1, 2):
        reference = folder / f"reference{replicas}"
        reference.mkdir()
        command = [str(programs / "train_with_backup"), str(reference), str(replicas), "5"]
        begun = time.monotonic()
        if run_and_kill(command, 120) != 0:
            return 1
        whole = time.monotonic() - begun
        expected = (reference / "final.weights.h5").read_bytes()
        for trial in range(max(1, trials // 8)):
            place = folder / f"trial{replicas}_{trial}"
            place.mkdir()
            command[1] = str(place)
            status = None
            for attempt in range(200):
                # Weights are made from the seed that counts until there is a backup, and taken from it afterwards.
                command[3] = "77" if (place / "backup" / "latest.weights.h5").exists() else "5"
                status = run_and_kill(command, draw.uniform(0.0, whole) if attempt < 8 else 120)
                if status is not None:
                    break
                kills += 1
            final = place / "final.weights.h5"
            bad += status != 0 or final.read_bytes() != expected
            shutil.rmtree(place)
    print(f"{kills} kills under BackupAndRestore: {bad} trainings ended otherwise")
    return bad


def main():
    build = pathlib.Path(sys.argv[1])
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"{trials} trials, seed {seed}")
    draw = random.Random(seed)
    programs = build / "tests" / "programs"
    with tempfile.TemporaryDirectory(prefix="nyala_kills_") as scratch:
        folder = pathlib.Path(scratch)
        bad = saves(programs, folder, trials, draw) + trainings(programs, folder, trials, draw)
    sys.exit(1 if bad else 0)


main()
