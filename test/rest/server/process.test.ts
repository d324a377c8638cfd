/** The server as a process: command line, signals, refusals at start. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, haumea, request, startServer, temporaryFolder, within } from '../../support/harness.js';

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command to its end. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [...haumea, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUIPER__BASIC__RESTIP: '127.0.0.1', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const outcome = new Promise<Outcome>((resolve) => child.once('close', (code) => resolve({ code, output })));
  return within(20_000, `haumea ${args.join(' ')}`, outcome).finally(() => child.kill('SIGKILL'));
}

test('explains itself', async () => {
  assert.match((await run(['--version'])).output, /^haumea \d+\.\d+\.\d+\n$/);
  assert.match((await run(['--help'])).output, /serve.*bench.*demo/s);
  assert.match((await run(['serve', '--help'])).output, /--config FILE/);
  const unknown = await run(['serv']);
  assert.is(unknown.code, 2);
  assert.match(unknown.output, /unknown command serv, did you mean serve\?/);
  assert.is((await run(['serve', '--nosuch'])).code, 2);
});

test('a benchmark that nobody knows is an error of one line, which names the one that was meant', async () => {
  const { code, output } = await run(['bench', 'micro', 'wndow']);
  assert.is(code, 2);
  assert.is(output, 'haumea bench micro: no name has the part "wndow", did you mean window?\n');
  assert.match((await run(['bench', 'micro', 'zzzzz'])).output, /no name has the part "zzzzz"; there are\n {2}\w/);
  assert.match(
    (await run(['serve', '--daat', 'x'])).output,
    /^haumea serve: Unknown option '--daat', did you mean --data\?\n/,
  );
});

test('refuses mistakes on the command line of the demo', async () => {
  for (const [args, reason] of [
    [['--rat', '5'], "Unknown option '--rat', did you mean --rate?"],
    [['--rate', 'fast'], '--rate must be a number above 0, not fast'],
    [['--seconds', '1e99'], '--seconds must be a number up to 2000000, not 1e99'],
  ] as const) {
    const { code, output } = await run(['demo', ...args]);
    assert.is(code, 2);
    assert.is(output.slice(0, output.indexOf('\n\n')), `haumea demo: ${reason}`);
    assert.match(output, 'usage: haumea demo');
  }
});

test('a demo whose reader goes away ends, with its engine', async () => {
  const temporary = temporaryFolder();
  const child = spawn(process.execPath, [...haumea, 'demo'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary },
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  try {
    // Lines about ports that are in use come first.
    const engine = await eventually('the first lines', () => {
      if (child.exitCode !== null) throw new Error(`the demo ended with code ${child.exitCode}: ${output}`);
      return /engine at (http:\S+)\n/.exec(output)?.[1];
    });
    assert.is((await request(engine, 'GET', '/ping')).status, 200);
    child.stdout.destroy();
    assert.is(await within(20_000, 'the end of the demo', ended), 0, output);
    assert.is(
      await fetch(engine).then(
        () => 'answers',
        () => 'is gone',
      ),
      'is gone',
    );
  } finally {
    // With SIGTERM, so that its engine ends with it.
    child.kill();
    await within(20_000, 'the end of the demo', ended).finally(() => child.kill('SIGKILL'));
  }
  assert.not.ok(readdirSync(temporary).some((name) => name.startsWith('haumea-demo')));
});

test('names what is wrong with the configuration', async () => {
  const file = join(temporaryFolder(), 'bad.yaml');
  writeFileSync(file, 'basic:\n  restPrt: 1\n');
  const outcome = await run(['serve', '--config', file, '--data', temporaryFolder()]);
  assert.is(outcome.code, 1);
  assert.is(outcome.output, `haumea: ${file}: property basic.restPrt is not known, did you mean basic.restPort?\n`);
});

test('names settings without effect at start', async () => {
  const server = await startServer({ env: { KUIPER__BASIC__PPROF: 'true' } });
  await eventually('the warning', () =>
    server.output().includes('haumea: warning: the setting basic.pprof has no effect\n'),
  );
  await server.stop();
});

test('says at start that the definitions could not all be read', async () => {
  const data = temporaryFolder();
  writeFileSync(join(data, 'sqliteKV.db'), 'no database');
  const server = await startServer({ data });
  await eventually('the warning', () =>
    /haumea: warning: the database \S+ is damaged: .*it was kept as \S+\.damaged/.test(server.output()),
  );
  await server.stop();
});

test('understands the flags of the other engine', async () => {
  const etc = temporaryFolder();
  const server = await startServer({ args: ['-loadFileType', 'absolute', '-etc', etc, '-log', etc, '-plugins', 'x'] });
  await eventually('the warning', () => server.output().includes('haumea: warning: --plugins has no effect\n'));
  await server.stop();
  const wrong = await run(['serve', '-loadFileType=none', '--data', temporaryFolder()]);
  assert.is(wrong.code, 2);
  assert.match(wrong.output, 'haumea serve: --loadFileType must be relative or absolute, not none');
  // Nothing but a file that is not there, so that the folders of the machine stay as they are.
  const absolute = await run(['serve', '--loadFileType', 'absolute', '--config', '/nosuch/kuiper.yaml']);
  assert.match(absolute.output, "the file /nosuch/kuiper.yaml can't be read");
});

test('names a data folder that can not be made', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const outcome = await run(['serve', '--data', join(file, 'data')]);
  assert.is(outcome.code, 1);
  assert.match(outcome.output, /^haumea: the data folder can't be made: ENOTDIR[^\n]*\n$/);
});

test('keeps definitions over a graceful stop', async () => {
  const first = await startServer();
  const sql = 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await first.request('POST', '/streams', { sql })).status, 201);
  assert.is(
    (await first.request('POST', '/rules', { id: 'r', sql: 'SELECT a FROM s', actions: [{ nop: {} }] })).status,
    201,
  );
  assert.is(await first.stop('SIGTERM'), 0);
  assert.ok(existsSync(join(first.data, 'sqliteKV.db')));
  assert.not.ok(readdirSync(first.data).some((name) => name.includes('changes') || name.includes('lock')));
  const second = await startServer({ data: first.data });
  assert.equal((await second.request('GET', '/streams')).json, ['s']);
  assert.match((await second.request('GET', '/rules')).json[0].id, /^r$/);
  assert.is((await second.request('POST', '/stop')).text, 'stop success');
  assert.is(await second.stop(), 0);
});

test('refuses a second server on the same folder, and a port that is taken', async () => {
  const server = await startServer();
  const sameFolder = await run(['serve', '--data', server.data], { KUIPER__BASIC__RESTPORT: String(await freePort()) });
  assert.is(sameFolder.code, 1);
  assert.match(sameFolder.output, new RegExp(`in use by process ${server.child.pid}`));
  const samePort = await run(['serve', '--data', temporaryFolder()], {
    KUIPER__BASIC__RESTPORT: new URL(server.base).port,
  });
  assert.is(samePort.code, 1);
  assert.match(samePort.output, /can't listen on 127\.0\.0\.1:\d+: the port is in use/);
  assert.is(await server.stop('SIGINT'), 0);
});

test('starts again after a kill, with its lock left behind', async () => {
  const first = await startServer();
  await first.request('PUT', '/metadata/sources/mqtt/confKeys/k', { qos: 2 });
  await first.stop('SIGKILL');
  const second = await startServer({ data: first.data });
  assert.is((await second.request('GET', '/metadata/sources/yaml/mqtt')).json.k.qos, 2);
  await second.stop();
});

test('starts while the server before it is still ending', async () => {
  const first = await startServer();
  await first.request('PUT', '/metadata/sources/mqtt/confKeys/k', { qos: 2 });
  const ended = first.stop();
  const second = await startServer({ data: first.data });
  assert.is(await ended, 0);
  assert.is((await second.request('GET', '/metadata/sources/yaml/mqtt')).json.k.qos, 2);
  await second.stop();
});

test('starts when the server before it takes its time to stop', async () => {
  const first = await startServer();
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", FORMAT="json")';
  assert.is((await first.request('POST', '/streams', { sql })).status, 201);
  const actions = [{ mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 't' } }];
  // What waits for the broker is kept until the time of the stop is nearly over.
  assert.is((await first.request('POST', '/rules', { id: 'r', sql: 'SELECT * FROM s', actions })).status, 201);
  await eventually('rows that wait', async () => {
    const status = (await first.request('GET', '/rules/r/status')).json;
    return status.source_s_0_records_out_total > 0;
  });
  const ended = first.stop();
  await eventually('the lock of a server that stops', () =>
    /"stopMs":10000/.test(readFileSync(join(first.data, 'haumea.lock'), 'utf8')),
  );
  const second = await startServer({ data: first.data });
  assert.is(await ended, 0);
  assert.match(
    second.output(),
    `waiting for process ${first.child.pid}, which has the data folder, to end: it is stopping`,
  );
  assert.equal((await second.request('GET', '/streams')).json, ['s']);
  await second.stop();
});

test.run();
