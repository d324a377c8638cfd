/** Sources and sinks of portable plugins in rules: programs on the published SDK for Python, and their faults. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { freshName, lacksSdk, pythonHead, pythonPlugin, sdkEnv } from '../../support/plugins/portable.js';

const server = await startServer({ env: { ...sdkEnv, KUIPER__PORTABLE__SENDTIMEOUT: '1s' } });
test.after(async () => {
  await server.stop();
});

const name = freshName('parts');
const of = (part: string) => `${part}_${name}`;
const program = `${pythonHead}
class Count(Source):
    """Counts from 0 to the property last, and waits then; each row has what the source was given."""
    def __init__(self): self.running = True
    def configure(self, datasource, conf):
        self.datasource = datasource
        self.conf = conf
    def open(self, ctx):
        n = 0
        while self.running and n <= self.conf.get("last", 10):
            ctx.emit({"n": n, "of": self.datasource, "unit": self.conf.get("unit")}, {"topic": "t"})
            n += 1
        while self.running: time.sleep(0.01)
    def close(self, ctx): self.running = False
class Flood(Source):
    """Sends and prints as fast as it can."""
    def __init__(self): self.running = True
    def configure(self, datasource, conf): self.conf = conf
    def open(self, ctx):
        n = 0
        while self.running:
            print("flood " * 100)
            ctx.emit({"n": n}, None)
            n += 1
    def close(self, ctx): self.running = False
class Odd(Source):
    """Sends errors and what is no row."""
    def configure(self, datasource, conf): pass
    def open(self, ctx):
        ctx.emit_error("no signal")
        ctx.emit(None, None)
        ctx.emitter.send(b"no json")
        ctx.emit({"n": 7}, None)
        time.sleep(60)
    def close(self, ctx): pass
class Keep(Sink):
    """Appends each message to the file of the property path; refuses those with no in them."""
    def configure(self, conf): self.conf = conf
    def open(self, ctx): self.file = open(self.conf["path"], "ab", 0)
    def collect(self, ctx, data):
        if b"hang" in data and not os.path.exists(self.conf["path"] + ".hung"):
            open(self.conf["path"] + ".hung", "w").close()
            time.sleep(60)
        if b"slowly" in data: time.sleep(0.002)
        if b"pauses" in data: time.sleep(2.5)
        if b"no" in data: return ctx.ack_error("it says no")
        self.file.write(data + b"\\n")
        ctx.ack_ok()
    def close(self, ctx): self.file.close()
plugin.start(PluginConfig("${name}", {"count_${name}": Count, "flood_${name}": Flood, "odd_${name}": Odd},
    {"keep_${name}": Keep}, {}))
`;

if (!lacksSdk('sources and sinks of portable plugins')) {
  const file = pythonPlugin(name, {
    program,
    sources: [of('count'), of('flood'), of('odd')],
    sinks: [of('keep')],
    files: [
      {
        name: `sources/${of('count')}.yaml`,
        content: 'default:\n  unit: m\nlong:\n  last: 20000\nsome:\n  last: 1499\n',
      },
    ],
  });
  const made = await server.request('POST', '/plugins/portables', { name, file });
  assert.equal([made.status, made.text], [201, `portable plugin ${name} is created`]);
  const status = async () => (await server.request('GET', `/plugins/portables/${name}/status`)).json;

  const stream = async (id: string, source: string, options = '') => {
    const sql = `CREATE STREAM ${id} () WITH (TYPE="${of(source)}", DATASOURCE="where", FORMAT="json"${options})`;
    const answer = await server.request('POST', '/streams', { sql });
    assert.is(answer.status, 201, answer.text);
  };
  const rule = async (id: string, sql: string, sink: object, options: object = {}) => {
    const answer = await server.request('POST', '/rules', { id, sql, actions: [sink], options });
    assert.is(answer.status, 201, answer.text);
  };
  const path = (id: string) => join(server.data, `${id}.out`);
  // The last line may be on its way.
  const rowsIn = (id: string): Record<string, unknown>[] =>
    existsSync(path(id))
      ? readFileSync(path(id), 'utf8')
          .split('\n')
          .slice(0, -1)
          .filter(Boolean)
          .map((line) => (line.startsWith('{') ? JSON.parse(line) : { error: line }))
      : [];
  const toFile = (id: string) => ({ file: { path: path(id), fileType: 'lines', sendSingle: true } });
  const toPlugin = (id: string, more: object = {}) => ({ [of('keep')]: { path: path(id), sendSingle: true, ...more } });
  const rowsOf = (id: string, count: number) =>
    eventually(`${count} rows of ${id}`, () => (rowsIn(id).length >= count ? rowsIn(id) : undefined));
  const drop = (id: string) => server.request('DELETE', `/rules/${id}`);

  test('rows of a source have what it sends, its metadata and the properties that it was given', async () => {
    await stream('numbers', 'count');
    await rule('r1', 'SELECT n, of, unit, meta(topic) AS t FROM numbers', toFile('r1'));
    const rows = await rowsOf('r1', 11);
    assert.equal(rows[10], { n: 10, of: 'where', unit: 'm', t: 't' });
    const { refCount, status: now } = await status();
    assert.equal([refCount, now], [{ r1: 1 }, 'running']);
    await drop('r1');
    assert.equal((await status()).refCount, {});
  });

  test('a source has the properties of its key, and a sink gets all messages', async () => {
    await stream('many', 'count', ', CONF_KEY="long"');
    await rule('r2', 'SELECT n FROM many', toPlugin('r2'));
    const rows = await rowsOf('r2', 20_001);
    assert.ok(rows.every(({ n }, i) => n === i));
    await drop('r2');
  });

  test('a sink that is slow gets each message once, however long it takes for all of them', async () => {
    await stream('some', 'count', ', CONF_KEY="some"');
    await rule('r8', `SELECT n AS i, "slowly ${'x'.repeat(1000)}" AS text FROM some`, toPlugin('r8'));
    const rows = await rowsOf('r8', 1500);
    assert.equal(
      rows.map(({ i }) => i),
      rows.map((_, i) => i),
    );
    const { json } = await server.request('GET', '/rules/r8/status');
    assert.is(json.exceptionsTotal, 0);
    await drop('r8');
  });

  test('a sink that reads nothing for longer than sendTimeout is waited for, and gets each message once', async () => {
    const text = `CASE WHEN n = 300 THEN 'pauses' ELSE '${'x'.repeat(1000)}' END`;
    await rule('r9', `SELECT n AS i, ${text} AS text FROM some`, toPlugin('r9'));
    const rows = await rowsOf('r9', 1500);
    assert.equal(
      rows.map(({ i }) => i),
      rows.map((_, i) => i),
    );
    assert.match(readLog(), /has read too little .* to get more for 1000 ms.*rule=r9/);
    const { json } = await server.request('GET', '/rules/r9/status');
    assert.is(json.exceptionsTotal, 0);
    await drop('r9');
  });

  test('a source that sends errors and what is no row is read on', async () => {
    await stream('odd', 'odd');
    await rule('r3', 'SELECT * FROM odd', toFile('r3'), { sendError: true });
    const rows = await rowsOf('r3', 4);
    assert.equal(rows.at(-1), { n: 7 });
    const text = JSON.stringify(rows);
    assert.match(text, /no signal/);
    assert.match(text, /what is no message: no json/);
    const { json } = await server.request('GET', '/rules/r3/status');
    assert.is(json.source_odd_0_exceptions_total, 3);
    await drop('r3');
  });

  test('a sink that confirms refuses messages by its reason', async () => {
    await stream('few', 'count');
    await rule(
      'r4',
      "SELECT n, CASE WHEN n = 3 THEN 'no' ELSE 'yes' END AS w FROM few",
      toPlugin('r4', { requireAck: true }),
    );
    const rows = await rowsOf('r4', 10);
    assert.not(rows.some(({ n }) => n === 3));
    await eventually('the refusal', async () => {
      const { json } = await server.request('GET', '/rules/r4/status');
      return /it says no/.test(JSON.stringify(json));
    });
    await drop('r4');
  });

  test('a sink that hangs is begun again, and gets what it has not confirmed', async () => {
    await rule(
      'r5',
      "SELECT n, CASE WHEN n = 3 THEN 'hang' ELSE 'yes' END AS w FROM few",
      toPlugin('r5', { requireAck: true }),
    );
    const rows = await rowsOf('r5', 11);
    assert.equal([...new Set(rows.map(({ n }) => n))], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await drop('r5');
  });

  test('a plugin that is killed comes back with its sources and sinks', async () => {
    await rule('r6', 'SELECT n FROM few', toPlugin('r6'));
    await rowsOf('r6', 11);
    process.kill((await status()).pid, 'SIGKILL');
    // The source counts from 0 again.
    const rows = await rowsOf('r6', 22);
    assert.equal(
      rows.slice(11).map(({ n }) => n),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    assert.ok((await status()).restarts > 0);
    await drop('r6');
  });

  test('a plugin that floods leaves the server at its work', async () => {
    await stream('flood', 'flood');
    await rule('r7', 'SELECT n FROM flood WHERE n % 1000 = 0', toFile('r7'));
    await rowsOf('r7', 3);
    assert.is((await server.request('GET', '/ping')).status, 200);
    await eventually('the count of lines', () => /lines were left out/.test(readLog()));
    await drop('r7');
  });

  test('rules go on when their plugin is deleted and installed again', async () => {
    await rule('again', 'SELECT n FROM numbers', toFile('again'));
    await rule('sent', 'SELECT n FROM numbers', toPlugin('sent'));
    await rowsOf('again', 11);
    await rowsOf('sent', 11);
    assert.is((await server.request('DELETE', `/plugins/portables/${name}`)).status, 200);
    await eventually('the rule tells it', async () =>
      /is not there any more/.test((await server.request('GET', '/rules/again/status')).text) ? true : undefined,
    );
    assert.is((await server.request('POST', '/plugins/portables', { name, file })).status, 201);
    // The source counts from 0 again.
    const rows = await rowsOf('again', 22);
    assert.equal(rows.slice(11), rows.slice(0, 11));
    await rowsOf('sent', 22);
    await drop('again');
    await drop('sent');
  });

  test('a deleted plugin ends, and its rules say so', async () => {
    await rule('r8', 'SELECT n FROM few', toPlugin('r8'));
    await rowsOf('r8', 11);
    const { pid } = await status();
    assert.is((await server.request('DELETE', `/plugins/portables/${name}`)).status, 200);
    await eventually('the end of the process', () => !existsSync(`/proc/${pid}`));
    await eventually('the reason', async () => {
      const { text } = await server.request('GET', '/rules/r8/status');
      return /is not there any more/.test(text);
    });
  });
}

function readLog(): string {
  const log = join(server.data, 'log', 'stream.log');
  return existsSync(log) ? readFileSync(log, 'utf8') : '';
}

test.run();
