"""Trainings of tests/programs/network_worker on hosts of this machine, and what is seen of them."""
import array, collections, json, os, pathlib, re, signal, subprocess, threading, time

Event = collections.namedtuple("Event", "what time text")

PORT = 2222


class Wrong(Exception):
    """What was seen is not what has to be."""


class Training:
    """Events of its processes by rank: start (its number), joined, step (batch, generation, processes), log, error
    (type and text), done; and `exits`, the statuses of those that have ended."""

    shows_texts = False

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.events, self.exits, self.other_lines = collections.defaultdict(list), {}, []
        self.changed = threading.Condition()
        self.processes, self.threads = [], []

    def watch(self, process, rank, prefixed):
        def read():
            for line in process.stdout:
                found = re.match(r"(?:\[(\d+)\] )?(start|joined|step|log|error|done) (\d+\.\d+) ?(.*)", line)
                with self.changed:
                    if found and bool(found[1]) == prefixed:
                        event = Event(found[2], float(found[3]), found[4])
                        self.events[int(found[1]) if prefixed else rank].append(event)
                    else:
                        self.other_lines.append(line.rstrip())
                    self.changed.notify_all()
            status = process.wait()
            with self.changed:
                self.exits["launch" if prefixed else rank] = (status, time.monotonic())
                self.changed.notify_all()

        self.processes.append(process)
        self.threads.append(threading.Thread(target=read, daemon=True))
        self.threads[-1].start()

    def of(self, rank, what):
        return [event for event in self.events[rank] if event.what == what]

    def wait_for(self, condition, seconds, what):
        """What `condition` returns once it is true."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                result = condition()
                if result:
                    return result
                if not self.changed.wait(min(1, max(0.01, deadline - time.monotonic()))) and time.monotonic() >= deadline:
                    raise Wrong(f"not in {seconds} s: {what}\n{self.story()}")

    def story(self):
        lines = [f"  [{rank}] {event.what} {event.time:.2f} {event.text[:900]}" for rank in sorted(self.events)
                 for event in [e for e in self.events[rank] if e.what != "step"] + self.of(rank, "step")[-1:]]
        return "\n".join(lines + ["  " + line[:900] for line in self.other_lines[-12:]] + [f"  exits: {self.exits}"])

    def wait_for_steps(self, count, ranks, seconds=60):
        self.wait_for(lambda: all(len(self.of(rank, "step")) >= count for rank in ranks), seconds,
                      f"{count} steps of ranks {list(ranks)}")

    def process_of(self, rank):
        return int(self.of(rank, "start")[-1].text)

    def kill(self, rank, number=signal.SIGKILL):
        os.kill(self.process_of(rank), number)
        return time.monotonic()

    def errors(self, ranks, since, seconds, types=("PeerLostError", "TimeoutError", "CommunicationError"), text=""):
        """Seconds from `since` to the last of these ranks' errors, which all have one of `types` and `text` in it."""
        self.wait_for(lambda: all(self.of(rank, "error") for rank in ranks), seconds, f"errors of ranks {list(ranks)}")
        for rank in ranks:
            error = self.of(rank, "error")[0].text
            if error.split(" ")[0] not in types or not re.search(text, error):
                raise Wrong(f"rank {rank}: expected {types} with {text!r}, received {error}")
        last = max(self.of(rank, "error")[0].time for rank in ranks) - since
        if last > seconds:
            raise Wrong(f"the errors took {last:.1f} s, at most {seconds}\n{self.story()}")
        return last

    def goes_on(self, ranks, since, seconds):
        """Seconds from `since` until all of these have done a step in a generation that was begun after it."""
        def steps():
            found = []
            for rank in ranks:
                all_steps = self.of(rank, "step")
                before = [int(step.text.split()[1]) for step in all_steps if step.time <= since]
                newer = [step.time for step in all_steps
                         if step.time > since and int(step.text.split()[1]) > (before[-1] if before else 0)]
                if not newer:
                    return None
                found.append(newer[0])
            return found

        return max(self.wait_for(steps, seconds, f"steps of ranks {list(ranks)} in another generation")) - since

    def finals(self):
        found = {}
        for path in self.folder.glob("final-*"):
            found[path.name] = array.array("d", path.read_bytes())
        return found

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for thread in self.threads:
            thread.join(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in list(self.events):
            for event in self.of(rank, "start"):
                try:
                    os.kill(int(event.text), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.end()
        if self.shows_texts:
            print(self.story(), flush=True)


def token():
    return {"NYALA_TOKEN": "a token of the test"}


def environment_with(variables):
    return {**os.environ, "OMP_NUM_THREADS": "1", **variables}


class ByHand(Training):
    """Started by hand with TF_CONFIG: rank 0 runs the control plane, and nobody starts anything again."""

    def __init__(self, network, program, ranks=3, settings=(), variables=None, start=True, addresses=None):
        super().__init__(network.folder / f"training{time.monotonic_ns()}")
        self.network, self.program, self.settings = network, program, list(settings)
        self.variables = token() if variables is None else variables
        self.addresses = addresses or [f"{host.name}:{PORT}" for host in network.hosts[:ranks]]
        for rank in range(ranks if start else 0):
            self.start(rank)

    def start(self, rank, host=None, variables=None, index=None, addresses=None, settings=()):
        config = {"cluster": {"worker": addresses or self.addresses},
                  "task": {"type": "worker", "index": rank if index is None else index}}
        words = [str(self.program), str(self.folder), str(rank), *self.settings, *settings]
        environment = environment_with({"TF_CONFIG": json.dumps(config), **(self.variables if variables is None else variables)})
        self.watch(subprocess.Popen((host or self.network.hosts[rank]).words(words), env=environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT), rank, False)

    def wait_for_exits(self, ranks, seconds):
        self.wait_for(lambda: all(rank in self.exits for rank in ranks), seconds, f"the ends of ranks {list(ranks)}")


class Launched(Training):
    """By `nyala launch` on the first host."""

    def __init__(self, network, program, launcher, options=(), settings=(), ranks=3):
        super().__init__(network.folder / f"training{time.monotonic_ns()}")
        hosts = ",".join(f"{host.name}:1" for host in network.hosts[:ranks])
        worker = f'exec {program} {self.folder} $NYALA_RANK.$NYALA_RESTART_COUNT {" ".join(settings)}'
        words = [str(launcher), "launch", "--hosts", hosts, "--ssh", f"{network.on_host} {{host}} {{command}}", *options,
                 "--", "sh", "-c", worker]
        self.watch(subprocess.Popen(network.hosts[0].words(words), env=environment_with({}), text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT), -1, True)

    def wait_for_exit(self, seconds):
        """The launcher's status."""
        return self.wait_for(lambda: self.exits.get("launch"), seconds, "the end of nyala launch")[0]


def alone(network, program, settings=()):
    """The numbers of one process."""
    folder = network.folder / f"alone{time.monotonic_ns()}"
    folder.mkdir()
    subprocess.run([str(program), str(folder), "0", *settings, "pace=0"], env=environment_with({}), check=True,
                   stdout=subprocess.DEVNULL)
    return array.array("d", (folder / "final-0").read_bytes())


def compare(finals, expected, same_bits):
    """A word for the table; raises Wrong where they differ."""
    if not finals:
        raise Wrong("no process has left its numbers")
    worst = 0.0
    for name, numbers in finals.items():
        if len(numbers) != len(expected):
            raise Wrong(f"{name}: {len(numbers)} numbers, expected {len(expected)}")
        if same_bits and numbers.tobytes() != expected.tobytes():
            raise Wrong(f"{name}: other bits than an undisturbed training")
        for got, wanted in zip(numbers, expected):
            difference = abs(got - wanted) / (1 + abs(wanted))
            if not difference <= 2e-3:
                raise Wrong(f"{name}: {got}, expected {wanted}")
            worst = max(worst, difference)
    return "the same bits" if same_bits else f"within {worst:.0e}"
