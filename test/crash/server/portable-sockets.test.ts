/** The sockets of portable plugins: what a killed server leaves is removed, what another one holds is not taken. */
import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import {
  freshName,
  lacksSdk,
  pythonFunction,
  pythonHead,
  pythonPlugin,
  sdkEnv,
} from '../../support/plugins/portable.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const ends = `
class Tick(Source):
    def configure(self, datasource, conf): pass
    def open(self, ctx):
        while True:
            ctx.emit({"n": 1}, {})
            time.sleep(0.01)
    def close(self, ctx): pass
class Drop(Sink):
    def configure(self, conf): pass
    def open(self, ctx): pass
    def collect(self, ctx, data): pass
    def close(self, ctx): pass
`;

function archive(name: string, func = `f_${name}`): string {
  const program = `${pythonHead}${pythonFunction('Same', 'return args[0]')}${ends}
plugin.start(PluginConfig("${name}", {"tick_${name}": Tick}, {"drop_${name}": Drop}, {"${func}": Same}))
`;
  const brings = { functions: [func], sources: [`tick_${name}`], sinks: [`drop_${name}`] };
  return pythonPlugin(name, { program, ...brings });
}

const install = async (server: TestServer, name: string, file: string) => {
  const made = await server.request('POST', '/plugins/portables', { name, file });
  assert.is(made.status, 201, made.text);
};
const status = async (server: TestServer, name: string) =>
  (await server.request('GET', `/plugins/portables/${name}/status`)).json;

/** Sockets of the sources and sinks of a stream or rule. */
const socketsOf = (name: string) => readdirSync('/tmp').filter((one) => one.startsWith(`${name}_`));

if (!lacksSdk('sockets of portable plugins')) {
  test('the next server removes what a killed one has left, and works', async () => {
    const name = freshName('left');
    const data = temporaryFolder();
    const server = await startServer({ data, env: sdkEnv });
    await install(server, name, archive(name));
    const sql = `CREATE STREAM ${name} () WITH (TYPE="tick_${name}", FORMAT="json")`;
    await server.request('POST', '/streams', { sql });
    const sink = { [`drop_${name}`]: {} };
    const rule = { id: name, sql: `SELECT f_${name}(n) AS n FROM ${name}`, actions: [sink] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
    const isAtWork = async (one: TestServer) => {
      const { json } = await one.request('GET', `/rules/${name}/status`);
      return json[`sink_drop_${name}_0_0_records_out_total`] > 0;
    };
    await eventually('rows', () => isAtWork(server));
    // Of the source, of the sink, and of its confirmations.
    const left = socketsOf(name);
    assert.is(left.length, 3);
    await server.stop('SIGKILL');
    for (const path of [`plugin_${name}.ipc`, `func_f_${name}.ipc`]) assert.ok(existsSync(join('/tmp', path)), path);
    // One that a living process has stays, however old it is.
    const living = `${name}_0123456789ab_0.ipc`;
    const other = createServer().listen(join('/tmp', living));
    await new Promise((resolve) => other.once('listening', resolve));
    try {
      const past = new Date(Date.now() - 3_600_000);
      for (const one of [...left, living]) if (existsSync(join('/tmp', one))) utimesSync(join('/tmp', one), past, past);
      const next = await startServer({ data, env: sdkEnv });
      await eventually('rows again', () => isAtWork(next));
      await eventually('the end of old sockets', () => !left.some((one) => existsSync(join('/tmp', one))));
      assert.ok(existsSync(join('/tmp', living)));
      await next.stop();
      const paths = [`plugin_${name}.ipc`, `func_f_${name}.ipc`, ...socketsOf(name).filter((one) => one !== living)];
      await eventually('no socket', () => !paths.some((one) => existsSync(join('/tmp', one))));
    } finally {
      other.close();
    }
  });

  test('of two servers with the same plugin the second says who has the socket, and runs it afterwards', async () => {
    const name = freshName('both');
    const [first, second] = await Promise.all([startServer({ env: sdkEnv }), startServer({ env: sdkEnv })]);
    await install(first, name, archive(name));
    const rows = new RowsThrough(first);
    const sql = `SELECT f_${name}(a) AS r FROM s`;
    assert.equal(await rows.results(sql, [{ a: 1 }]), [{ r: 1 }]);
    await install(second, name, archive(name));
    const { status: now, errMsg, pid } = await status(second, name);
    const reason = `the socket /tmp/plugin_${name}.ipc is in use: another process listens there`;
    assert.equal([now, errMsg, pid], ['error', reason, undefined]);
    assert.equal(await rows.results(sql, [{ a: 2 }]), [{ r: 2 }]);
    assert.is((await status(first, name)).restarts, 0);
    await first.stop();
    assert.equal(await new RowsThrough(second).results(sql, [{ a: 3 }]), [{ r: 3 }]);
    await second.stop();
  });

  test('of two plugins with a function of one name the second tells it in its status and its rules', async () => {
    const func = freshName('shared');
    const [one, other] = [freshName('one'), freshName('other')];
    const [first, second] = await Promise.all([startServer({ env: sdkEnv }), startServer({ env: sdkEnv })]);
    await install(first, one, archive(one, func));
    assert.equal(await new RowsThrough(first).results(`SELECT ${func}(a) AS r FROM s`, [{ a: 1 }]), [{ r: 1 }]);
    await install(second, other, archive(other, func));
    const reason = `the socket /tmp/func_${func}.ipc is in use: another process listens there`;
    const { errMsg } = await status(second, other);
    assert.is(errMsg, `function ${func}: ${reason}`);
    await second.request('POST', '/streams', { sql: 'CREATE STREAM e () WITH (TYPE="simulator", FORMAT="json")' });
    const rule = { id: 'r', sql: `SELECT ${func}(1) AS r FROM e`, actions: [{ nop: {} }] };
    assert.is((await second.request('POST', '/rules', rule)).status, 201);
    await eventually('the reason', async () => {
      const { text } = await second.request('GET', '/rules/r/status');
      return text.includes(reason);
    });
    await Promise.all([first.stop(), second.stop()]);
  });
}

test.run();
