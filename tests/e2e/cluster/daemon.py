"""plughost on a node."""

import signal

from process import Process


class Plughost:
    """Constructed means that it was started. What it wrote goes to the log when it ends."""

    def __init__(self, node, program, configuration, log, environment=None):
        self._node = node
        self._program = program
        self._log = log
        self._environment = environment
        self._path = node.folder / "plughost.yaml"
        self._path.write_text(configuration)
        self._process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """SIGTERM, as an init system does."""
        try:
            if self._process.running():
                self._process.signal(signal.SIGTERM)
                self._process.wait(10)
        finally:
            self._end()

    def _end(self):
        code = self._process.wait(0) if not self._process.running() else "none"
        self._process.close()
        with open(self._log, "a") as log:
            log.writelines(f"{line}\n" for line in self._process.lines())
            log.write(f"(its exit code: {code})\n")

    def start(self):
        self._process = Process(self._node.inside(self._program, "run", "--config", self._path), self._environment)

    def kill(self):
        """SIGKILL: it cannot clean up."""
        self._process.signal(signal.SIGKILL)
        self._process.wait(5)
        self._end()

    def reload(self, configuration):
        """Returns once the new configuration is live."""
        self._process.wait_for_line("plughost ", 10)  # from then on a signal is no end
        self._path.write_text(configuration)
        start = self._process.mark()
        self._process.signal(signal.SIGHUP)
        self._process.wait_for_line("configuration reloaded", 5, start)

    def command(self, *arguments):
        """What a command of plughost prints that speaks to this one."""
        return self._node.run(self._program, *arguments)

    def write(self, configuration):
        """The file alone: nobody is told."""
        self._path.write_text(configuration)

    def wait_for_line(self, wanted, seconds):
        return self._process.wait_for_line(wanted, seconds)

    def said(self, part):
        """The lines of this process with these words."""
        return [line for line in self._process.lines() if part in line]

    def attachments(self, resource):
        """How often this process was attached to a kubelet for a resource."""
        return sum("attached" in line and f"resource={resource}" in line and "not attached" not in line
                   for line in self._process.lines())
