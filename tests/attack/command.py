#!/usr/bin/env python3
"""The nyala command with wrong values, missing files, full disks, closed outputs, signals at random moments.

command.py BUILD [TRIALS [SEED]]: whatever it is told, it ends by itself in time with 0, 1 or 2, says why in one line
without letters that a terminal would obey, and leaves what was there before whole.
"""
import os, pathlib, random, resource, shutil, signal, struct, subprocess, sys, tempfile, time

HOSTILE = ["", " ", "-1", "0", "1", "2", "-0", "+3", "007", "1e3", "0x10", "3.5", "nan", "inf", "-inf", "1e400",
           "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "9" * 400, "x",
           "none", "None", "null", "true", "adam", "mse", "cpu:0", "cpu:9999999", "gpu:0", "cpu:-1", "cpu:0,cpu:0",
           "a=b", "=", "=x.npy", "{", "{}", "[]", '{"0": 1e999}', '{"0": "x"}', '{"class_name": "Adam"}',
           '{"class_name": "Adam", "config": {"learning_rate": []}}', "[" * 5000, "\x1b[31m", "\n", "\x9b2J", "\u202e", "%s%n",
           "/", "/dev/null", "/dev/full", "/proc/self/mem", "/dev/zero", "..", "~", "x" * 5000, "a/" * 2100, "1,2", "1,2,3",
           "4294967296,4294967296,3", "0,0,3", "1,,2", "mirrored", "MobileNetV2", "avg", "--help", "--", "-h", "@x"]


def npy(path, kind, shape, values):
    count = 1
    for size in shape:
        count *= size
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % ({"f": "f4", "q": "i8"}[kind], tuple(shape))
    header += " " * (118 - len(header) - 1) + "\n"
    data = struct.pack("<%d%s" % (count, kind), *[values(i) for i in range(count)])
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


class Attack:
    def __init__(self, build, draw, folder):
        self.nyala, self.draw, self.folder, self.bad = str(build / "tools" / "nyala"), draw, folder, []
        self.runs, self.codes = 0, {}
        source = pathlib.Path(__file__).parents[1]
        shutil.copy(source / "golden/data/loss_scale_schedule.keras", folder / "m.keras")
        shutil.copy(source / "fuzz/corpus/image/grey.png", folder / "p.png")
        npy(folder / "x.npy", "f", (64, 3), lambda i: (i * 37 % 101) / 50 - 1)
        npy(folder / "y.npy", "f", (64, 2), lambda i: (i * 17 % 23) / 23)
        npy(folder / "wrong.npy", "f", (5, 7), lambda i: i)
        (folder / "text.npy").write_text("no array")
        (folder / "folder").mkdir()
        (folder / "loop").symlink_to("loop")
        subprocess.run([self.nyala, "convert", "m.keras", "m.h5"], cwd=folder, check=True)
        subprocess.run([self.nyala, "convert", "m.keras", "w.weights.h5"], cwd=folder, check=True)

    def sound(self):
        """Everything that must stay as it is."""
        return {p.name: p.read_bytes() for p in self.folder.iterdir() if p.is_file() and not p.is_symlink()}

    def fail(self, arguments, why, error=b""):
        self.bad.append(why)
        print("nyala " + " ".join(repr(a[:80]) for a in arguments), "->", why, repr(error[:300]))

    def run(self, arguments, expected=(0, 1, 2), seconds=20, **options):
        """Runs the command, checks how it ends and what it says; returns the exit status."""
        options = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        begun = time.monotonic()
        try:
            ended = subprocess.run([self.nyala, *arguments], cwd=self.folder, stderr=subprocess.PIPE, timeout=seconds,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"}, **options)
        except subprocess.TimeoutExpired:
            return self.fail(arguments, f"HUNG for {seconds} s")
        except ValueError:  # Python itself refuses NUL characters
            return None
        self.runs += 1
        code, text = ended.returncode, ended.stderr
        self.codes[code] = self.codes.get(code, 0) + 1
        if code not in expected:
            self.fail(arguments, f"exit status {code}, expected {expected}", text)
        elif code in (1, 2) and not text.splitlines()[-1].startswith(b"error: "):
            self.fail(arguments, "no error is said", text)
        elif any(c < 32 and c not in (9, 10) or c == 127 for c in text) or b"\xc2\x9b" in text:
            self.fail(arguments, "raw letters", text)
        return code

    def commands(self):
        x, y = ["--input", "x.npy"], ["--target", "y.npy"]
        train = ["m.keras", *x, *y, "--loss", "mse", "--optimizer", "sgd", "--verbose", "0"]
        return [["predict", "m.keras", *x, "--output", "out.npy"], ["evaluate", "m.keras", *x, *y],
                ["fit", *train, "--output", "out.keras"], ["summary", "m.keras"], ["convert", "m.keras", "out.h5"],
                ["convert", "w.weights.h5", "out.keras", "--model", "m.keras"], ["info"]]

    def options_of(self, command):
        text = subprocess.run([self.nyala, command, "--help"], capture_output=True, text=True).stdout
        return [w.split()[0].split(":")[0].split("=")[0] for w in text.splitlines() if w.strip().startswith("--")]

    def wrong_values(self, trials):
        """Known commands with one value, option or file replaced, added, doubled or left out."""
        commands = self.commands()
        options = {c[0]: self.options_of(c[0]) for c in commands}
        files = ["m.keras", "m.h5", "w.weights.h5", "x.npy", "wrong.npy", "text.npy", "p.png", "folder", "loop", "missing",
                 "missing/x.keras", "m.keras/x"]
        sound = self.sound()
        for _ in range(trials):
            command = list(self.draw.choice(commands))
            for _ in range(self.draw.randint(1, 2)):
                place = self.draw.randrange(1, len(command) + 1)
                value = self.draw.choice(HOSTILE + files * 3)
                kind = self.draw.randrange(4)
                if kind == 0 and place < len(command):
                    command[place] = value
                elif kind == 1 and options[command[0]]:
                    command[place:place] = [self.draw.choice(options[command[0]]), value]
                elif kind == 2 and place < len(command):
                    del command[place]
                else:
                    command.insert(place, value)
            if "--help" in command or "-h" in command:
                continue
            # Its own outputs may be any of the sound files: those are put back.
            self.run(command)
            for name, content in sound.items():
                path = self.folder / name
                if not path.is_file() or path.read_bytes() != content:
                    path.write_bytes(content)
            for path in self.folder.iterdir():
                if path.name not in sound and path.name not in ("folder", "loop"):
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def expect(self, code, *arguments, **options):
        before = self.sound()
        self.run(list(arguments), expected=(code,), **options)
        if self.sound() != before:
            self.fail(arguments, "changed what was there")

    def known(self):
        x, y = ("--input", "x.npy"), ("--target", "y.npy")
        train = ("fit", "m.keras", *x, *y, "--loss", "mse", "--verbose", "0")
        for model in ("missing.keras", "folder", "loop", "text.npy", "/dev/null", "m.keras/x", "/dev/zero"):
            self.expect(1, "predict", model, *x, "--output", "out.npy")
            self.expect(1, "summary", model)
            self.expect(1, "convert", model, "out.keras")
            self.expect(1, "predict", "m.keras", "--input", model, "--output", "out.npy")
        for output in ("missing/out.keras", "folder", "loop", "m.keras/out.keras", "/dev/full", "/proc/out.keras", ""):
            self.expect(1 if output else 2, "convert", "m.keras", output)
            self.expect(1 if output else 2, *train, "--output", output)
            self.expect(1 if output else 2, *train, "--history", output)
        for split in ("nan", "1", "-0.1", "x"):
            self.expect(2, *train, "--validation-split", split)
        self.expect(1, *train, "--devices", "cpu:0,cpu:0")
        self.expect(1, "predict", "m.keras", "--input", "wrong.npy", "--output", "out.npy")
        self.expect(1, *train[:4], "--target", "wrong.npy", "--loss", "mse")
        with open(os.devnull, "rb") as closed:  # cannot be written to
            self.expect(1, "summary", "m.keras", stdout=closed)
        with open("/dev/full", "wb") as full:
            self.expect(1, "summary", "m.keras", stdout=full)
            self.expect(1, "info", stdout=full)

    def full_disks(self, trials):
        """The largest file that may be written is smaller than the output."""
        for _ in range(trials):
            command = list(self.draw.choice([c for c in self.commands() if any(a.startswith("out.") for a in c)]))
            out = self.folder / next(a for a in command if a.startswith("out."))
            out.write_bytes(b"old")
            most = self.draw.randrange(0, 400)
            self.run(command, expected=(1,),
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            if out.read_bytes() != b"old" or list(self.folder.glob("*.nyala-tmp-*")):
                self.fail(command, f"left something behind with files of at most {most} bytes")
            out.unlink()

    def signals(self, trials):
        """One signal or two while it trains: the output is that of an ended step or the old one."""
        out = self.folder / "out.keras"
        for _ in range(trials):
            shutil.copy(self.folder / "m.keras", out)
            command = [self.nyala, "fit", "m.keras", "--input", "x.npy", "--target", "y.npy", "--loss", "mse", "--epochs",
                       "100000000", "--verbose", "0", "--output", "out.keras"]
            child = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            sent = []
            time.sleep(self.draw.uniform(0, 0.4))
            for _ in range(self.draw.randint(1, 2)):
                sent.append(self.draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
                child.send_signal(sent[-1])
                time.sleep(self.draw.choice([0, 0.001, 0.01]))
            try:
                error = child.communicate(timeout=20)[1]
            except subprocess.TimeoutExpired:
                child.kill()
                self.fail(command, f"HUNG after {sent}")
                continue
            self.runs += 1
            self.codes[child.returncode] = self.codes.get(child.returncode, 0) + 1
            if child.returncode not in [128 + s for s in sent] + [-s for s in sent]:
                self.fail(command, f"exit status {child.returncode} after {sent}", error)
            if subprocess.run([self.nyala, "summary", "out.keras"], cwd=self.folder, capture_output=True).returncode != 0:
                self.fail(command, f"the output is damaged after {sent}", error)
            out.unlink()
        # Killed writers leave at most what the next one removes.
        subprocess.run([self.nyala, "convert", "m.keras", "out.keras"], cwd=self.folder, check=True)
        if list(self.folder.glob("out.keras.nyala-tmp-*")):
            self.fail(["convert"], "temporary files of killed writers stay")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory(prefix="nyala_command_") as scratch:
        attack = Attack(build, random.Random(seed), pathlib.Path(scratch))
        attack.known()
        attack.wrong_values(trials)
        attack.full_disks(max(2, trials // 10))
        attack.signals(max(2, trials // 10))
        print(f"seed {seed}, {attack.runs} runs, exit statuses {dict(sorted(attack.codes.items()))}, "
              f"{len(attack.bad)} failures")
    sys.exit(1 if attack.bad else 0)


main()
