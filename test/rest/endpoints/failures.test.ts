/**
 * What is not the fault of a request, for each operation that declares it: a disk that takes nothing more (500), bodies
 * that are too large (413), too many of them at the same time (503). Over HTTP, by a process that the system holds to
 * the limit; nothing changes, and the same request succeeds when the cause is gone.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { maxBodyBytes, maxHeldBytes } from '../../../host/rest/route/body.js';
import { type Answer, announceSkip, eventually, startServer, type TestServer } from '../../support/harness.js';
import type { Json } from '../../support/rest/schema-check.js';
import { rule, runningRule, stream, streamSql } from './given.js';
import { type Case, nameOf, openServer } from './run.js';
import { tables } from './tables.js';
import { broker } from './transfer.js';

const { server, document, runner, close } = await openServer();
test.after(async () => {
  await close();
  await broker.close();
});

/** Operations that nodes keep in NATS, not on this disk. */
const keptElsewhere = ['POST', 'DELETE'].map((method) => `${method} /cluster/nodes/{name}/drain`);

type Answered = Pick<Answer, 'status' | 'text' | 'type'>;

/** Operations that declare a status. */
function declaring(status: number): string[] {
  return Object.entries<Json>(document.paths).flatMap(([path, operations]) =>
    Object.entries<Json>(operations)
      .filter(([, { responses }]) => responses[status] !== undefined)
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
}

const successes = Object.values(tables)
  .flat()
  .filter(({ status }) => status < 300);
/** The first success of each operation. */
const firstOf = new Map([...successes].reverse().map((one) => [one.op, one]));

/** Lets no file of a process grow beyond a size in bytes: writing fails there as on a full disk. */
function limitFiles({ child }: TestServer, size: number | 'unlimited'): boolean {
  return spawnSync('prlimit', ['--pid', String(child.pid), `--fsize=${size}:`]).status === 0;
}

function setDiskFull(isFull: boolean): boolean {
  return limitFiles(server, isFull ? 0 : 'unlimited');
}

/** Runs the request of a case while the disk is full, then once more when it has room. */
async function onFullDisk(one: Case): Promise<void> {
  await runner.prepare(one.given);
  const before = await runner.snapshot();
  setDiskFull(true);
  try {
    const refused = await runner.ask(one);
    runner.checkAnswer({ op: one.op, status: 500, says: 'could not be saved' }, refused);
    assert.match(refused.json.message, /EFBIG/, 'the reason of the system');
    assert.is(await runner.snapshot(), before, 'nothing changes');
  } finally {
    setDiskFull(false);
  }
  runner.checkAnswer(one, await runner.ask(one));
}

/**
 * Announces a body of so many bytes and sends the beginning of it; resolves with the answer that comes all the same.
 */
function sendPart(op: string, announced: number, sent: Buffer): { socket: ClientRequest; answer: Promise<Answered> } {
  const [method = '', template = ''] = op.split(' ');
  const path = template.replace(/\{\w+\}/g, 'r');
  const { hostname, port } = new URL(server.base);
  const asked = request({ hostname, port, method, path, headers: { 'content-length': announced } });
  const answer = new Promise<Answered>((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', (reply) => {
      let body = '';
      reply.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      // The connection ends with the answer, the rest of the body is not wanted.
      reply.on('close', () => {
        resolve({ status: reply.statusCode ?? 0, text: body, type: reply.headers['content-type'] ?? '' });
        asked.destroy();
      });
    });
  });
  asked.write(sent);
  return { socket: asked, answer };
}

/** Sends what operations must refuse whatever the body says, and holds the answers against the document. */
async function refusedBy(
  status: number,
  says: string,
  ask: (op: string) => Promise<Answered>,
): Promise<{ wrong: string[]; count: number }> {
  const before = await runner.snapshot();
  const wrong: string[] = [];
  const operations = declaring(status);
  for (const op of operations) {
    const answer = await ask(op);
    const reason = runner.answerMisfit(op, answer);
    if (reason !== undefined) wrong.push(reason);
    if (answer.status !== status || !answer.text.includes(says)) wrong.push(`${op}: ${answer.status} ${answer.text}`);
  }
  if ((await runner.snapshot()) !== before) wrong.push('something changed');
  return { wrong, count: operations.length };
}

test('bodies that are too large are refused by all operations that take one', async () => {
  const says = `${maxBodyBytes} are allowed`;
  await runner.prepare(runningRule);
  const { wrong, count } = await refusedBy(413, says, (op) => sendPart(op, 2 ** 30, Buffer.from('{')).answer);
  assert.equal(wrong, []);
  assert.ok(count >= 50, `${count} operations`);
});

test('bodies are refused while others hold the memory there is for them, and taken afterwards', async () => {
  const body = '{"sql":"SHOW STREAMS"}';
  const ask = (op: string) => sendPart(op, body.length, Buffer.from(body)).answer;
  const large = Buffer.alloc(maxBodyBytes - 1, ' ');
  await runner.prepare(runningRule);
  const holders = Array.from({ length: maxHeldBytes / maxBodyBytes }, () =>
    sendPart('POST /streams', maxBodyBytes, large),
  );
  for (const { answer } of holders) answer.catch(() => 'it is cut off below');
  try {
    await eventually('full memory', async () => (await ask('POST /streams')).status === 503);
    const { wrong, count } = await refusedBy(503, 'too many large bodies at the same time', ask);
    assert.equal(wrong, []);
    assert.ok(count >= 50, `${count} operations`);
  } finally {
    for (const { socket } of holders) socket.destroy();
  }
  await eventually('free memory', async () => (await ask('POST /streams')).status === 201);
});

if (!setDiskFull(false)) {
  announceSkip('a full disk', 'there is no prlimit here');
} else {
  const kept = declaring(500).filter((op) => !keptElsewhere.includes(op));
  test(`${kept.length} operations say that the disk is full, change nothing, and succeed later`, async () => {
    const wrong: string[] = [];
    for (const op of kept) {
      const one = firstOf.get(op);
      if (one === undefined) wrong.push(`${op}: no case of success`);
      else await onFullDisk(one).catch((error: Error) => wrong.push(`${nameOf(one)}\n    ${error.message}`));
    }
    assert.is(wrong.join('\n'), '');
  });

  /** They tell for each of their parts what became of it. */
  const inParts = ['POST /batch/req', 'POST /rules/bulkstart', 'POST /rules/bulkstop'];

  test('operations that keep nothing do not need the disk', async () => {
    const wrong: string[] = [];
    const others = new Set([...kept, ...inParts]);
    for (const [op, one] of firstOf) {
      if (others.has(op)) continue;
      await runner.prepare(one.given);
      setDiskFull(true);
      try {
        runner.checkAnswer(one, await runner.ask(one));
      } catch (error) {
        wrong.push(`${nameOf(one)}\n    ${(error as Error).message}`);
      } finally {
        setDiskFull(false);
      }
    }
    assert.is(wrong.join('\n'), '');
  });

  /** Sends a request while the disk is full. */
  async function askFull(method: string, path: string, body: unknown): Promise<Json> {
    setDiskFull(true);
    try {
      const answer = await runner.send(method, path, body);
      assert.is(answer.status, 200, answer.text);
      return answer.json;
    } finally {
      setDiskFull(false);
    }
  }

  const failure = /could not be saved: EFBIG/;
  const part = (method: string, path: string, body?: unknown) => ({
    method,
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

  test('bulk orders tell for each rule that the disk is full, and the rules go on as they are', async () => {
    for (const [order, given] of [
      ['bulkstart', { triggered: false, tags: ['x'] }],
      ['bulkstop', { tags: ['x'] }],
    ] as const) {
      await runner.prepare([stream, ['POST /rules', rule('r', given)]]);
      const before = await runner.snapshot();
      const [result, ...more] = await askFull('POST', `/rules/${order}`, { tags: ['x'] });
      assert.equal([result.ruleId, result.success, more], ['r', false, []]);
      assert.match(result.error, failure);
      assert.is(await runner.snapshot(), before, order);
    }
  });

  test(
    'a batch tells for each of its parts that the disk is full, and takes back what later parts have ' + 'seen',
    async () => {
      await runner.prepare([stream, ['POST /rules', rule('old')], ['POST /rules', rule('gone')]]);
      const before = await runner.snapshot();
      const answers = await askFull('POST', '/batch/req', [
        part('POST', '/streams', { sql: streamSql.replace('STREAM s', 'STREAM fresh') }),
        part('POST', '/rules', rule('new')),
        part('GET', '/ping'),
        part('PUT', '/rules/old', rule('old', { sql: 'SELECT b FROM s' })),
        part('PATCH', '/rules/old/tags', { tags: ['x'] }),
        part('POST', '/rules/old/stop'),
        part('DELETE', '/rules/gone'),
        part('POST', '/connections', { id: 'c', typ: 'nng', props: {} }),
        part('PUT', '/metadata/sources/mqtt/confKeys/k', { qos: 1 }),
      ]);
      assert.equal(
        answers.map(({ code }: Json) => code),
        [500, 500, 200, 500, 500, 500, 500, 500, 500],
      );
      for (const { code, response } of answers) if (code === 500) assert.match(response, failure);
      // The engine follows the store.
      await eventually('the rules as they were', async () => (await runner.snapshot()) === before);
      const { json: fields } = await runner.send('GET', '/rules/old/schema');
      assert.equal(Object.keys(fields), ['a']);
      assert.is((await runner.send('POST', '/streams', { sql: 'DROP STREAM s' })).status, 400, 'rules hold the stream');
      for (const id of ['old', 'gone']) await runner.send('DELETE', `/rules/${id}`);
      assert.is((await runner.send('DELETE', '/streams/s')).status, 200, 'no rule is left that holds the stream');
    },
  );

  test(
    'a change that the full disk cuts off leaves no trace, those before and after it stay over kill ' + '-9',
    async () => {
      const first = await startServer();
      const create = (name: string, columns = '(a BIGINT, b STRING)') => {
        const sql = streamSql.replace('STREAM s', `STREAM ${name}`).replace('(a BIGINT, b STRING)', columns);
        return first.request('POST', '/streams', { sql });
      };
      assert.is((await create('before')).status, 201);
      const journal = readdirSync(first.data).find((name) => name.includes('.changes-')) ?? '';
      // The journal has room for small records ahead; of this one it gets the most, but not the end.
      limitFiles(first, statSync(join(first.data, journal)).size + 20);
      const many = Array.from({ length: 7000 }, (_, i) => `column${i} BIGINT`).join(', ');
      const refused = await create('cut', `(${many})`);
      assert.is(refused.status, 500, refused.text);
      limitFiles(first, 'unlimited');
      assert.is((await create('after')).status, 201);
      await first.stop('SIGKILL');
      const second = await startServer({ data: first.data });
      assert.equal((await second.request('GET', '/streams')).json, ['after', 'before']);
      assert.not.match(second.output(), /unfinished change/);
      await second.stop();
    },
  );
}

test.run();
