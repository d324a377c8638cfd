/** Files that `haumea plugin new --portable` writes. */
import type { Files } from './templates.js';

/** Files of a plugin in Python by their paths; its function has the name of the plugin. */
export function portableFiles(name: string): Files {
  return {
    [`${name}.json`]: json({
      version: 'v0.1.0',
      language: 'python',
      executable: 'main.py',
      sources: [`${name}_ticks`],
      sinks: [`${name}_file`],
      functions: [name],
    }),
    ...programs(name),
    [`sources/${name}_ticks.yaml`]: `default:
  interval: 1000
fast:
  interval: 10
`,
    'plugin.json': json({ name, portable: 'python' }),
    '.gitignore': '__pycache__/\n',
  };
}

function programs(name: string): Files {
  return {
    'main.py': `"""A function, a source and a sink. The names below are those of ${name}.json."""
from ekuiper import PluginConfig, plugin

from function import Scale
from sink import FileSink
from source import Ticks

if __name__ == "__main__":
    plugin.start(
        PluginConfig(
            "${name}",
            {"${name}_ticks": lambda: Ticks()},
            {"${name}_file": lambda: FileSink()},
            {"${name}": lambda: Scale()},
        )
    )
`,
    'function.py': `from ekuiper import Function


class Scale(Function):
    """${name}(value, factor): the value by a factor."""

    def validate(self, args):
        return "" if len(args) == 2 else "value and factor are needed"

    def is_aggregate(self):
        return False

    def exec(self, args, ctx):
        value, factor = args
        return None if value is None else value * factor
`,
    ...ends(),
  };
}

/** The source and the sink. */
function ends(): Files {
  return {
    'source.py': `import time

from ekuiper import Source


class Ticks(Source):
    """A row each \`interval\` milliseconds, which is a property of the stream's configuration key."""

    def __init__(self):
        self.running = True

    def configure(self, datasource, conf):
        self.datasource = datasource
        self.seconds = conf.get("interval", 1000) / 1000

    def open(self, ctx):
        n = 0
        while self.running:
            ctx.emit({"n": n, "from": self.datasource}, {"rule": ctx.get_rule_id()})
            n += 1
            time.sleep(self.seconds)

    def close(self, ctx):
        self.running = False
`,
    'sink.py': `from ekuiper import Sink


class FileSink(Sink):
    """Appends each message to the file that the property \`path\` of the action names."""

    def configure(self, conf):
        self.path = conf["path"]

    def open(self, ctx):
        self.file = open(self.path, "ab", 0)

    def collect(self, ctx, data):
        self.file.write(data + b"\\n")
        # The answer that an action with "requireAck": true waits for.
        ctx.ack_ok()

    def close(self, ctx):
        self.file.close()
`,
  };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
