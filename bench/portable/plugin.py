"""A function, a source and a sink for the benchmark, on the published SDK as it is."""
import time

from ekuiper import Function, PluginConfig, Sink, Source, plugin


class Twice(Function):
    def validate(self, args):
        return ""

    def is_aggregate(self):
        return False

    def exec(self, args, ctx):
        return args[0] * 2


class Count(Source):
    """Sends as many rows as the property says, as fast as they are taken."""

    def __init__(self):
        self.running = True

    def configure(self, datasource, conf):
        self.rows = int(conf["rows"])

    def open(self, ctx):
        for n in range(self.rows):
            ctx.emit({"n": n, "device": "d1", "temperature": 21.5}, {})
        while self.running:
            time.sleep(0.05)

    def close(self, ctx):
        self.running = False


class Total(Sink):
    """Makes the file of the property `path` with the number of messages when these are as many as `rows` says."""

    def configure(self, conf):
        self.path = conf["path"]
        self.rows = int(conf["rows"])
        self.seen = 0

    def open(self, ctx):
        pass

    def collect(self, ctx, data):
        self.seen += 1
        if self.seen == self.rows:
            open(self.path, "w").close()

    def close(self, ctx):
        pass


if __name__ == "__main__":
    sources, sinks, functions = {"bench_count": Count}, {"bench_total": Total}, {"bench_twice": Twice}
    plugin.start(PluginConfig("bench_portable", sources, sinks, functions))
