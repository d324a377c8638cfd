/** The client as a process: readers that go away, disks that are full, signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, haumea, within } from '../../support/harness.js';
import { fakeServer, serveQueries } from '../../support/rest/fake-server.js';

const server = await fakeServer();

test.before.each(() => server.reset());
test.after(() => server.close());

interface Process {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; err: string }>;
}

function start(args: readonly string[], stdout: 'pipe' | number = 'pipe'): Process {
  const child = spawn(process.execPath, [...haumea, ...args], {
    stdio: ['ignore', stdout, 'pipe'],
    env: { ...process.env, HAUMEA_URL: server.base },
  });
  let err = '';
  child.stderr?.on('data', (chunk) => (err += chunk));
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ended = within(
    20_000,
    `haumea ${args.join(' ')}`,
    closed.then((code) => ({ code, err })),
  );
  return { child, ended: ended.finally(() => child.kill('SIGKILL')) };
}

const lastAsked = () => server.asked.at(-1)?.method;

test('a reader that goes away ends a query, and its test rule is removed', async () => {
  serveQueries(
    server,
    Array.from({ length: 20_000 }, (_, i) => `{"a":${i}}`),
  );
  const { child, ended } = start(['query', 'SELECT a FROM s']);
  child.stdout?.once('data', () => child.stdout?.destroy());
  assert.equal(await ended, { code: 0, err: '' });
  assert.is(lastAsked(), 'DELETE');
});

test('a reader that takes the first lines only is no failure', async () => {
  server.on('GET /streams', { body: Array.from({ length: 100_000 }, (_, i) => `stream${i}`) });
  const { child, ended } = start(['show', 'streams']);
  child.stdout?.once('data', () => child.stdout?.destroy());
  assert.equal(await ended, { code: 0, err: '' });
});

test('a signal ends a query in good order', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    serveQueries(server, ['{"a":1}']);
    const { child, ended } = start(['query', 'SELECT a FROM s']);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.kill(signal);
    assert.equal(await ended, { code: 0, err: '' }, signal);
    assert.is(lastAsked(), 'DELETE', signal);
  }
});

if (existsSync('/dev/full')) {
  test('output that can not be written is told in one line', async () => {
    server.on('GET /streams', { body: ['a'] });
    const listed = await start(['show', 'streams'], openSync('/dev/full', 'w')).ended;
    assert.is(listed.code, 1);
    assert.match(listed.err, /^haumea: the output can't be written: ENOSPC[^\n]*\n$/);
    serveQueries(server, ['{"a":1}']);
    assert.is((await start(['query', 'SELECT a FROM s'], openSync('/dev/full', 'w')).ended).code, 1);
    assert.is(lastAsked(), 'DELETE');
  });
} else announceSkip('a full disk', 'this machine has no /dev/full');

test.run();
