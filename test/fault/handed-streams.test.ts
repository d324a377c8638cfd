/** A shared stream whose rules take more than a thread has: it is read in one, and handed to the other. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../support/brokers/mosquitto.js';
import { openDivided, type TestEngine } from '../support/engine/engine-harness.js';
import { announceSkip, eventually, freePort, temporaryFolder } from '../support/harness.js';

const lookMs = 200;
const around = 1000;

let opened: TestEngine;
let folder: string;
test.before.each(() => {
  folder = temporaryFolder();
  opened = openDivided(2, lookMs);
});
test.after.each(() => opened.close());

/** A value that takes long. */
const slow = (levels: number, of = 'n') =>
  `length(${'sha512('.repeat(levels)}CAST(${of}, "string")${')'.repeat(levels)})`;
const planeOf = (id: string) => opened.engine.placement(id)?.plane;
const isOpen = (id: string) => eventually(`${id} reads`, () => opened.engine.opening(id) !== undefined);
const fileOf = (id: string) => join(folder, `${id}.out`);
const toFile = (id: string): [string, Record<string, unknown>][] => [
  ['file', { path: fileOf(id), fileType: 'lines', sendSingle: true }],
];

function numbersOf(id: string): number[] {
  if (!existsSync(fileOf(id))) return [];
  const whole = readFileSync(fileOf(id), 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => (JSON.parse(line) as { n: number }).n);
}

const rowsOf = async (id: string) => Number((await opened.engine.status(id)).metrics.sinkRecordsOutTotal ?? 0);

async function more(id: string): Promise<void> {
  const before = await rowsOf(id);
  await eventually(`rows of ${id}`, async () => (await rowsOf(id)) !== before && (await rowsOf(id)) > 0);
}

/** Rules on a stream without an end, which are soon in both threads; the stream is read in the first. */
async function divided(): Promise<void> {
  const data = Array.from({ length: around }, (_, n) => ({ n }));
  opened.stream('CREATE STREAM s () WITH (TYPE="simulator", CONF_KEY="s", SHARED="true")', {
    data,
    interval: 0,
    loop: true,
  });
  for (const id of ['a', 'b']) opened.run(id, `SELECT n, ${slow(4)} AS l FROM s`, [['nop', {}]]);
  const startOf = async (id: string) => (await opened.engine.status(id)).lastStartTimestamp;
  const first = await Promise.all(['a', 'b'].map(startOf));
  await eventually('the move', () => planeOf('a') !== planeOf('b'));
  const isAgain = async () => (await startOf('a')) !== first[0] || (await startOf('b')) !== first[1];
  await eventually('the rule that moves begins again', isAgain);
  for (const id of ['a', 'b']) await eventually(`${id} is back`, () => opened.engine.state(id) === 'running');
  for (const id of ['a', 'b']) await more(id);
}

function assertFollowing(id: string): void {
  const numbers = numbersOf(id);
  assert.ok(numbers.length > 0, `${id} has rows`);
  const wrong = numbers.findIndex((n, i) => i > 0 && n !== (numbers[i - 1]! + 1) % around);
  assert.is(wrong, -1, `${id}: ${numbers.slice(Math.max(0, wrong - 2), wrong + 2)}`);
}

test('rules of a stream are divided while it flows, and each has each row once', async () => {
  const count = 20_000;
  writeFileSync(join(folder, 'input'), Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''));
  const sql = 'CREATE STREAM x () WITH (TYPE="file", DATASOURCE="input", CONF_KEY="x", SHARED="true")';
  opened.stream(sql, { path: folder, fileType: 'lines' });
  const ids = ['r0', 'r1', 'r2', 'r3'];
  opened.engine.startsAll(true);
  for (const id of ids) opened.run(id, `SELECT n, ${slow(20)} AS l, acc_count(n) AS c FROM x`, toFile(id));
  opened.engine.startsAll(false);
  assert.is(new Set(ids.map(planeOf)).size, 1);
  await eventually('the move', () => new Set(ids.map(planeOf)).size === 2);
  for (const id of ids) {
    await opened.reach(id, 'stopped');
    assert.equal(
      numbersOf(id),
      Array.from({ length: count }, (_, n) => n),
    );
    const counts = readFileSync(fileOf(id), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).c);
    assert.is(counts.at(-1), count, 'the state went along');
  }
});

test('rules that start and stop in the other thread miss no row and have none twice', async () => {
  await divided();
  const ids: string[] = [];
  const planes = new Set<number | undefined>();
  const begin = (id: string) => {
    opened.run(id, 'SELECT n FROM s', toFile(id));
    ids.push(id);
    planes.add(planeOf(id));
  };
  // Each begins where the least is to do, and may move at every look from then on.
  while (planes.size < 2) begin(`kept${ids.length}`);
  for (let i = 0; i < 5; i++) {
    begin(`r${i}`);
    await isOpen(`r${i}`);
    await more(`r${i}`);
    if (i % 2 === 0) await opened.engine.stop(`r${i}`);
  }
  for (const id of ['a', 'b', ...ids]) await opened.engine.stop(id);
  for (const id of ids) assertFollowing(id);
});

test('the figures of a rule elsewhere are those of its stream', async () => {
  await divided();
  opened.stream('CREATE STREAM bad () WITH (TYPE="simulator", CONF_KEY="s", SHARED="true")');
  for (const text of ['stream s is handed over from data plane 0', 'stream s is read here, and handed to other']) {
    const isSaid = () => ['a', 'b'].some((id) => opened.engine.placement(id)!.because.join().includes(text));
    await eventually(text, isSaid);
  }
  for (const id of ['a', 'b']) {
    const { metrics, dataPlane } = await opened.engine.status(id);
    assert.is(dataPlane, planeOf(id));
    assert.is(metrics.source_s_0_connection_status, 1);
    assert.ok(Number(metrics.source_s_0_records_in_total) > 0);
    assert.is(metrics.source_s_0_exceptions_total, 0);
  }
});

test('the death of the thread that reads elsewhere leaves the others at work, and its rules come back', async () => {
  await divided();
  const other = ['a', 'b'].find((id) => planeOf(id) === 1)!;
  const own = ['a', 'b'].find((id) => planeOf(id) === 0)!;
  opened.run('kept', 'SELECT n FROM s WHERE n >= 0', toFile('kept'));
  const { lastStartTimestamp } = await opened.engine.status(own);
  const plane = opened.engine.planes.all.find(({ number }) => number === 1)!;
  const before = plane.threadId;
  await plane.kill();
  await eventually('another thread', () => plane.threadId !== undefined && plane.threadId !== before);
  await eventually('its rule is back', () => opened.engine.state(other) === 'running');
  await more(other);
  await more(own);
  assert.is((await opened.engine.status(own)).lastStartTimestamp, lastStartTimestamp);
});

test('when the thread that reads the stream dies the others get it again', async () => {
  await divided();
  const other = ['a', 'b'].find((id) => planeOf(id) === 1)!;
  const own = ['a', 'b'].find((id) => planeOf(id) === 0)!;
  const { lastStartTimestamp } = await opened.engine.status(other);
  const plane = opened.engine.planes.all.find(({ number }) => number === 0)!;
  await plane.kill();
  await eventually('its rule is back', () => opened.engine.state(own) === 'running');
  await more(own);
  await more(other);
  const { metrics, lastStartTimestamp: now } = await opened.engine.status(other);
  assert.is(now, lastStartTimestamp);
  assert.is(metrics.source_s_0_connection_status, 1);
});

test('a sink elsewhere that takes nothing holds the stream, and its end frees it', async () => {
  await divided();
  const dead: [string, Record<string, unknown>] = [
    'mqtt',
    { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'out', qos: 1, sendSingle: true },
  ];
  const names: string[] = [];
  const inOther = () => names.find((id) => planeOf(id) === 1);
  while (inOther() === undefined) {
    const id = `d${names.push(`d${names.length}`) - 1}`;
    opened.run(id, 'SELECT n FROM s', [dead], { bufferLength: 16 });
  }
  const elsewhere = inOther()!;
  for (const id of names) if (id !== elsewhere) await opened.engine.stop(id);
  const own = ['a', 'b'].find((id) => planeOf(id) === 0)!;
  let last = -1;
  await eventually('the stream stands still', async () => {
    const before = last;
    last = await rowsOf(own);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return last === before && last === (await rowsOf(own));
  });
  await opened.engine.stop(elsewhere);
  await more(own);
});

if (!hasMosquitto) announceSkip('messages of a broker', 'mosquitto is not installed');
(hasMosquitto ? test : test.skip)('messages of a broker come to the rules of both threads once', async () => {
  const broker = await openMosquitto();
  const client = await connectClient(broker.url);
  try {
    opened.stream('CREATE STREAM m () WITH (TYPE="mqtt", DATASOURCE="m", CONF_KEY="m", SHARED="true")', {
      server: broker.url,
      qos: 1,
    });
    const ids = ['m0', 'm1', 'm2'];
    for (const id of ids) opened.run(id, `SELECT n, ${slow(60)} AS l FROM m`, toFile(id));
    for (const id of ids) await isOpen(id);
    let sent = 0;
    let isDone = false;
    const sending = (async () => {
      while (!isDone) {
        await Promise.all(Array.from({ length: 50 }, () => client.publishAsync('m', `{"n":${sent++}}`, { qos: 1 })));
      }
    })();
    await eventually('the move', () => new Set(ids.map(planeOf)).size === 2);
    for (const id of ids) await eventually(`${id} is back`, () => opened.engine.state(id) === 'running');
    const atMove = sent;
    await eventually('more messages', () => sent > atMove + 500);
    isDone = true;
    await sending;
    for (const id of ids) await eventually(`all rows of ${id}`, () => numbersOf(id).length >= sent);
    for (const id of ids) {
      assert.equal(
        numbersOf(id),
        Array.from({ length: sent }, (_, n) => n),
      );
    }
  } finally {
    await client.endAsync(true);
    await broker.close();
  }
});

(hasMosquitto ? test : test.skip)(
  'a stream that is handed over has its new password, also in another thread',
  async () => {
    const passwords = join(folder, 'passwords');
    let password = 'first';
    const openBroker = (port?: number) => {
      writeFileSync(passwords, '');
      chmodSync(passwords, 0o700);
      execFileSync('mosquitto_passwd', ['-b', passwords, 'plant', password]);
      return openMosquitto(port, undefined, [`password_file ${passwords}`]);
    };
    let broker = await openBroker();
    const define = () =>
      opened.stream('CREATE STREAM m () WITH (TYPE="mqtt", DATASOURCE="m", CONF_KEY="m", SHARED="true")', {
        server: broker.url,
        username: 'plant',
        password,
      });
    define();
    const connected = () => connectClient(broker.url, { username: 'plant', password });
    let client = await connected();
    let sent = 0;
    const sending = setInterval(() => {
      for (let i = 0; i < 10; i++) client.publish('m', `{"n":${sent++}}`);
    }, 10);
    try {
      const ids = ['m0', 'm1'];
      for (const id of ids) opened.run(id, `SELECT n, ${slow(200)} AS l FROM m`, [['nop', {}]]);
      await eventually('the move', () => new Set(ids.map(planeOf)).size === 2);
      for (const id of ids) await eventually(`${id} is back`, () => opened.engine.state(id) === 'running');
      const [own, other] = [0, 1].map((plane) => ids.find((id) => planeOf(id) === plane)!) as [string, string];
      await more(other);
      await broker.close();
      password = 'second';
      broker = await openBroker(broker.port);
      client = await connected();
      const connection = async () =>
        (await opened.engine.status(own)).metrics.source_m_0_connection_last_disconnected_message;
      await eventually('the refusal', async () => /uthoriz/.test(String(await connection())));
      define();
      opened.engine.renew(['m']);
      await more(other);
      await more(own);
      const { lastStartTimestamp } = await opened.engine.status(other);
      await opened.engine.planes.all.find(({ number }) => number === 0)!.kill();
      await eventually('its rule is back', () => opened.engine.state(own) === 'running');
      await more(own);
      await more(other);
      assert.is((await opened.engine.status(other)).lastStartTimestamp, lastStartTimestamp);
    } finally {
      clearInterval(sending);
      await client.endAsync(true);
      await broker.close();
    }
  },
);

test.run();
