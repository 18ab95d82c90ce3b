#!/usr/bin/env python3
"""Kills (SIGKILL) workers and parameter servers of trainings at random moments.

server_kills.py BUILD [KILLS [SEED]]: two workers and two servers under `nyala launch --ps`, asynchronous and synchronous
trainings in turns. None hangs, each ends well and has made each of its updates once; synchronous ones end with the numbers
of one that nobody disturbed.
"""
import math, os, pathlib, random, re, signal, subprocess, sys, tempfile, time

EPOCHS, BATCHES, PER_TRAINING, LONGEST = 30, 20, 5, 180
VICTIMS = ("worker 0", "worker 1", "ps 0", "ps 1")


def kill(folder, name):
    try:
        os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGKILL)
        return True
    except (OSError, ValueError):  # it is just starting
        return False


def train(build, folder, how, kills, draw):
    """What the chief says, and how many were killed; the text alone where something is wrong."""
    folder.mkdir()
    program = build / "tests" / "programs" / "parameter_worker"
    command = [str(build / "tools" / "nyala"), "launch", "--ps", "2", "--workers", "2", "--chief", "--grace", "5",
               "--snapshots", str(folder / "snapshots"), "--", "sh", "-c",
               f"cd {folder} && exec {program} '{how}' {EPOCHS}"]
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        job = subprocess.Popen(command, stdout=out, stderr=err)
        begun, killed = time.monotonic(), 0
        while job.poll() is None and time.monotonic() < begun + LONGEST:
            ready = all((folder / "snapshots" / f"ps-{i}.snapshot").exists() for i in (0, 1))
            if ready and killed < kills:
                time.sleep(draw.uniform(0, 0.4))
                killed += kill(folder, draw.choice(VICTIMS))
            else:
                time.sleep(0.02)
        hung = job.poll() is None
        if hung:
            job.terminate()
            job.wait(60)
    said = re.search(r"\[chief\] loss ([0-9.]+), weights ([0-9.]+), updates ([0-9]+)", (folder / "out").read_text())
    if hung or job.returncode != 0 or not said:
        print(f"{how}: {'HANGS' if hung else 'status ' + str(job.returncode)}\n" + (folder / "err").read_text()[-3000:])
        return None, killed
    return [float(text) for text in said.groups()], killed


def main(build, kills=20, seed=1):
    print(f"seed {seed}")
    draw, bad, killed, trainings = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        expected, _ = train(build, folder / "undisturbed", "together", 0, draw)
        if not expected:
            return 1
        while killed < kills:
            how = ("free", "together")[trainings % 2]
            said, now = train(build, folder / str(trainings), how, min(PER_TRAINING, kills - killed), draw)
            trainings += 1
            killed += now
            right = said and math.isfinite(said[0]) and said[2] == EPOCHS * BATCHES
            if right and how == "together":
                right = abs(said[0] - expected[0]) < 4e-6 and abs(said[1] - expected[1]) < 4e-4
            if not right:
                bad += 1
                print(f"{how} {trainings - 1}: {said}, expected {expected}")
            if now == 0 and trainings > 20 * (1 + kills):
                break
    print(f"{killed} kills in {trainings} trainings: {bad} wrong")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main(pathlib.Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:])) else 0)
