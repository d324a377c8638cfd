/**
 * A rule that takes more than its share of the time beside others on a shared stream: what it has yet to read waits
 * apart, the others have every row at once. It gets all rows, or those that it does not get are counted.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { idsIn, range } from '../../support/brokers/plant.js';
import { openRawBroker, publish, type RawBroker } from '../../support/brokers/raw-broker.js';
import { eventually, eventuallyAll, startServer, temporaryFolder } from '../../support/harness.js';

const neighbours = 20;
/** A character that is not matched by JavaScript's engine costs about a microsecond. */
const slow = 'length(regexp_replace(regexp_replace(regexp_replace(text, "(?U)x", "y"), "(?U)y", "z"), "(?U)z", "x"))';

const msOfCharacter = 0.013;
const windowMs = 600;

const server = await startServer();
let broker: RawBroker;
let socket: Socket | undefined;

test.before(async () => {
  broker = await openRawBroker((connected) => {
    socket = connected;
  });
});
test.after(async () => {
  broker.close();
  await server.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
const statusOf = async (id: string): Promise<any> => (await server.request('GET', `/rules/${id}/status`)).json;

async function post(path: string, body: unknown): Promise<void> {
  const answer = await server.request('POST', path, body);
  assert.is(answer.status, 201, answer.text);
}

interface Scene {
  readonly near: readonly string[];
  readonly far: string;
  /** Sends so many messages, numbered on from the last one, QoS 1 with `ids`. */
  send(count: number): void;
  readonly sent: () => number;
  /** Messages that keep the rule at work while others ask for its status. */
  readonly window: number;
  close(): Promise<void>;
}

/**
 * A shared stream with many cheap rules, and `greedy` with the options, for which each of the characters that are
 * `work` takes time.
 */
async function scene(name: string, options: object, qos: number, work: number, padding: number): Promise<Scene> {
  socket = undefined;
  const props = { server: broker.url, qos };
  assert.is((await server.request('PUT', `/metadata/sources/mqtt/confKeys/${name}`, props)).status, 200);
  const sql = `CREATE STREAM ${name} () WITH (DATASOURCE="a", FORMAT="json", SHARED="true", CONF_KEY="${name}")`;
  await post('/streams', { sql });
  const rules: string[] = [];
  const rule = async (id: string, select: string, more: object): Promise<string> => {
    const path = join(temporaryFolder(), 'rows');
    rules.push(id);
    const actions = [{ file: { path, sendSingle: true } }];
    await post('/rules', { id, sql: `SELECT ${select} FROM ${name}`, actions, options: more });
    return path;
  };
  const near: string[] = [];
  for (let i = 0; i < neighbours; i++) near.push(await rule(`${name}${i}`, `id, ${i} AS rule`, {}));
  const far = await rule(`${name}greedy`, `id, ${slow} AS n`, options);
  await eventually('the connection', () => socket);
  const rest = { text: 'x'.repeat(work), padding: 'p'.repeat(padding) };
  let sent = 0;
  return {
    near,
    far,
    sent: () => sent,
    window: Math.ceil(windowMs / (work * msOfCharacter)),
    send: (count) => {
      for (let i = 0; i < count; i++, sent++) {
        socket!.write(publish(JSON.stringify({ id: sent, ...rest }), qos === 0 ? 0 : (sent % 60_000) + 1));
      }
    },
    close: async () => {
      for (const id of rules) await server.request('DELETE', `/rules/${id}`);
      await server.request('DELETE', `/streams/${name}`);
    },
  };
}

/** Sends more than the rule can do, but no more than its source takes, until what it tells of itself fits. */
// biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
function sendUntil(given: Scene, id: string, fits: (status: any) => boolean): Promise<any> {
  return eventually(`what ${id} tells`, async () => {
    const status = await statusOf(id);
    given.send(Math.max(0, given.window - (given.sent() - status.sourceRecordsInTotal)));
    return fits(status) ? status : undefined;
  });
}

async function all(paths: readonly string[], count: number): Promise<void> {
  for (const path of paths) {
    await eventuallyAll(`the rows in ${path}`, () => idsIn(path).length, count);
    assert.equal(idsIn(path), range(0, count));
  }
}

const isBehind = ({ message }: { message?: string }) => /throttled.* wait/.test(message ?? '');

/** Of a rule that has told that it is behind. */
async function caughtUp(id: string): Promise<ReturnType<typeof statusOf>> {
  return eventually(
    `${id} to have caught up`,
    async () => {
      const now = await statusOf(id);
      return now.message === '' && now.bufferLength === 0 ? now : undefined;
    },
    60_000,
  );
}

const linesOf = (id: string, text: RegExp) =>
  readFileSync(join(server.data, 'log', 'stream.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(id) && text.test(line));

test(
  'the others have every row while the input of a greedy rule waits apart; rows that it does not get are ' + 'counted',
  async () => {
    const given = await scene('drop', { bufferLength: 64 }, 0, 300, 2500);
    const { message } = await sendUntil(given, 'dropgreedy', isBehind);
    assert.match(
      message,
      /^throttled, since it takes more than its share of the processor: [\d,]+ messages? of drop wait/,
    );
    await sendUntil(given, 'dropgreedy', (now) => now.source_drop_0_input_dropped_total > 0);
    const count = given.sent();
    await all(given.near, count);
    assert.ok(idsIn(given.far).length < count, 'they did not wait for it');
    const last = await caughtUp('dropgreedy');
    const got = idsIn(given.far);
    const dropped = last.source_drop_0_input_dropped_total;
    assert.is(got.length + dropped, count, 'each row came, or was counted');
    assert.is(last.exceptionsTotal, dropped);
    assert.match(
      last.source_drop_0_last_exception,
      `${dropped} messages were dropped: more than 1.0 MiB waited for a rule`,
    );
    assert.equal(
      got,
      got.toSorted((a, b) => a - b),
    );
    assert.is(got.at(-1), count - 1);
    assert.ok(
      linesOf('dropgreedy', /of the time of the data plane .* is throttled, source drop read through a queue/).length >
        0,
    );
    const metrics = (await server.request('GET', '/metrics')).text;
    assert.match(
      metrics,
      new RegExp(`kuiper_source_input_dropped_total\\{[^}]*rule="dropgreedy"[^}]*\\} ${dropped}\n`),
    );
    // With the next rows it reads with the others again.
    await eventually('the end of it in the log', () => {
      given.send(1);
      return linesOf('dropgreedy', /has caught up after \d+ s and is throttled no longer/).length > 0;
    });
    given.send(5);
    await all(given.near, given.sent());
    await eventually('the same of the rule', () => idsIn(given.far).length + dropped === given.sent());
    await given.close();
  },
);

test(
  'with bufferFullPolicy block nothing is dropped: when too much waits the stream is held, and the status says by ' +
    'whom',
  async () => {
    const given = await scene('hold', { bufferLength: 64, bufferFullPolicy: 'block' }, 0, 1000, 0);
    const { message } = await sendUntil(given, 'holdgreedy', (now) => /holds source hold/.test(now.message ?? ''));
    assert.match(message, /holds source hold: it takes more than its share of the processor, and input waits for it/);
    assert.match((await statusOf('hold0')).message, /held by rule holdgreedy: it takes more than its share/);
    const count = given.sent();
    await all(given.near, count);
    await all([given.far], count);
    assert.is((await statusOf('holdgreedy')).exceptionsTotal, 0);
    await given.close();
  },
);

test('messages of QoS 1 are acknowledged when the rule that is behind has passed them on', async () => {
  const from = broker.acknowledged.length;
  const given = await scene('ack', {}, 1, 300, 0);
  await sendUntil(given, 'ackgreedy', isBehind);
  const acknowledged = await eventually('rows of the others while acknowledgements wait', async () => {
    given.send(100);
    await all(given.near, given.sent());
    const now = broker.acknowledged.length - from;
    return now < given.sent() ? now : undefined;
  });
  assert.ok(acknowledged <= idsIn(given.far).length);
  const count = given.sent();
  await all([given.far], count);
  await eventually('the acknowledgements', () => broker.acknowledged.length - from === count);
  assert.equal(
    broker.acknowledged.slice(from),
    range(0, count).map((id) => (id % 60_000) + 1),
  );
  await given.close();
});

test('a rule that ends while its input waits says what is lost; the others go on', async () => {
  // Work enough that a fast machine does not read all that waits in the last second.
  const given = await scene('gone', {}, 0, 3000, 0);
  await eventually('more to wait than is read in the last second, when the others have all', async () => {
    await sendUntil(given, 'gonegreedy', (now) => isBehind(now) && now.source_gone_0_buffer_length > 300);
    await all(given.near, given.sent());
    return (await statusOf('gonegreedy')).source_gone_0_buffer_length > 200;
  });
  assert.is((await server.request('DELETE', '/rules/gonegreedy')).status, 200);
  const [lost] = await eventually('the loss', () => {
    const lines = linesOf('gonegreedy', /the rule ends while/);
    return lines.length > 0 ? lines : undefined;
  });
  const count = Number(/while ([\d,]+) messages of gone wait/.exec(lost!)![1]!.replaceAll(',', ''));
  assert.is(idsIn(given.far).length + count, given.sent());
  given.send(10);
  await all(given.near, given.sent());
  await given.close();
});

test('a rule with checkpoints on a stream that nobody could read again is left as it is, and says so', async () => {
  const given = await scene('kept', { qos: 1 }, 0, 300, 0);
  const { message } = await sendUntil(given, 'keptgreedy', ({ message }) =>
    /share of the processor/.test(message ?? ''),
  );
  assert.match(message, /is not throttled: others read its streams as well, and their place is in its checkpoints/);
  const { text } = await server.request('GET', '/rules/keptgreedy/explain');
  assert.match(text, /"holdsOthers":\["stream kept: what would wait for this rule alone .* could not be read again"\]/);
  await all([given.far, ...given.near], given.sent());
  await given.close();
});

test.run();
