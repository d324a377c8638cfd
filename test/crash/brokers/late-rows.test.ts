/**
 * Rules of event time over brokers that send again: connections that break, an engine that is killed (kill -9), a
 * broker that is killed hard. What comes again is known or behind the watermark of the checkpoint, so no row is late
 * and each is in its window once.
 */
import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto, publishAll } from '../../support/brokers/mosquitto.js';
import { SessionBroker } from '../../support/brokers/session-broker.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('late rows after a broker was killed', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
/** Milliseconds between two rows, and rows of a window of a second. */
const stepMs = 100;
const perWindow = 10;
/** The broker sends so many that are not acknowledged. */
const window = 20;

let server: TestServer;
let data: string;
let begin: number;
test.before.each(async () => {
  data = temporaryFolder();
  begin = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;
  server = await start();
});
test.after.each(async () => {
  server.child.kill('SIGCONT');
  await server.stop('SIGKILL');
});

const start = () => startServer({ data, env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '200ms' } });

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** A rule that counts the rows of each second by their own time. */
async function listen(url: string, qos: 1 | 2): Promise<void> {
  const conf = { server: url, qos, clientid: 'c', enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
  const options = 'TYPE="mqtt", DATASOURCE="a", CONF_KEY="in", TIMESTAMP="t"';
  await made('/streams', { sql: `CREATE STREAM s () WITH (${options})` });
  await made('/rules', {
    id: 'r',
    sql: 'SELECT count(*) AS n, window_start() AS t FROM s GROUP BY TUMBLINGWINDOW(ss, 1)',
    actions: [{ file: { path: join(data, 'out'), sendSingle: true } }],
    options: { qos: 2, checkpointInterval: '300ms', isEventTime: true, lateTolerance: 0 },
  });
  await figure('source_s_0_connection_status', (value) => value === 1);
}

const status = async () => (await server.request('GET', '/rules/r/status')).json as Record<string, unknown>;
const figure = (of: string, fits: (value: number) => boolean) =>
  eventually(of, async () => {
    const found = await status();
    return fits(Number(found[of])) ? found : undefined;
  });

const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `{"id":${from + i},"t":${begin + (from + i) * stepMs}}`);

function windows(): { n: number; t: number }[] {
  const path = join(data, 'out');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as { n: number; t: number });
}

/** All windows before that of the last row are there, each row once, and none was late in this run of the engine. */
async function check(sent: number): Promise<void> {
  const ended = Math.floor((sent - 1) / perWindow);
  await eventually('all windows', () => windows().length >= ended, 30_000).catch(() => {});
  assert.equal(
    windows(),
    Array.from({ length: ended }, (_, i) => ({ n: perWindow, t: begin + i * 1000 })),
  );
  await checkLate();
}

async function checkLate(): Promise<void> {
  const late = Object.entries(await status()).filter(([name]) => name.endsWith('_records_late_total'));
  assert.is(late.length, 1);
  assert.is(late[0]![1], 0);
}

for (const qos of [1, 2] as const) {
  test(`QoS ${qos}: connections that break and kill -9, each while the broker has no answer`, async () => {
    const broker = await SessionBroker.open({ qos });
    try {
      await listen(broker.url, qos);
      const connected = (connections: number) =>
        eventually('a connection', () => broker.connections >= connections && broker.isConnected, 30_000);
      let sent = 0;
      for (let round = 0; round < 6; round++) {
        const { connections } = broker;
        broker.send(rows(sent, sent + 55));
        sent += 55;
        await eventually('some windows', () => windows().length > (sent - 55) / perWindow, 20_000);
        // What has come by now is sent again.
        broker.isDeaf = true;
        broker.send(rows(sent, sent + 10));
        sent += 10;
        await eventually('the window', () => broker.waiting > 0);
        await checkLate();
        if (round % 2 === 0) broker.cut();
        else {
          await server.stop('SIGKILL');
          server = await start();
        }
        broker.isDeaf = false;
        await connected(connections + 1);
      }
      await eventually('all acknowledgements', () => broker.waiting === 0, 20_000);
      await check(sent);
      assert.ok(broker.repeats > 0);
    } finally {
      broker.close();
    }
  });
}

test('kill -9 at the instant at which a checkpoint counts: what it has is known when it comes again', async () => {
  const broker = await SessionBroker.open({ qos: 1, window: 1000 });
  try {
    await listen(broker.url, 1);
    let sent = 0;
    for (let round = 0; round < 6; round++) {
      const { connections } = broker;
      broker.isDeaf = true;
      const changes = watch(join(data, 'checkpoints', 'r'));
      broker.send(rows(sent, sent + 5));
      sent += 5;
      await figure('source_s_0_records_in_total', (count) => count >= 5);
      await new Promise<void>((resolve) => {
        changes.on('change', (_event, name) => {
          if (!String(name).endsWith('.checkpoint') || !existsSync(join(data, 'checkpoints', 'r', String(name))))
            return;
          server.child.kill('SIGKILL');
          changes.close();
          resolve();
        });
      });
      await server.stop('SIGKILL');
      server = await start();
      broker.isDeaf = false;
      await eventually('a connection', () => broker.connections > connections && broker.isConnected, 30_000);
      await eventually('all acknowledgements', () => broker.waiting === 0, 20_000);
    }
    broker.send(rows(sent, sent + 5));
    await check(sent + 5);
    assert.ok(broker.repeats > 0);
  } finally {
    broker.close();
  }
});

real('a broker that is killed hard before it has any acknowledgement of what is here', async () => {
  const folder = temporaryFolder();
  const options = ['allow_anonymous true', 'autosave_interval 1', 'autosave_on_changes true'];
  let broker = await openMosquitto(undefined, folder, options);
  let sender = await connectClient(broker.url);
  try {
    await listen(broker.url, 1);
    await publishAll(sender, 'a', rows(0, 55), 1);
    await eventually('windows', () => windows().length === 5);
    server.child.kill('SIGSTOP');
    await publishAll(sender, 'a', rows(55, 55 + window + 30), 1);
    // It confirms first, and writes with a later change.
    await eventually('messages on disk', async () => {
      await sender.publishAsync('other', 'a change', { qos: 1, retain: true });
      return readFileSync(join(folder, 'mosquitto.db')).includes(rows(104, 105)[0]!);
    });
    await broker.close();
    await sender.endAsync(true);
    server.child.kill('SIGCONT');
    await figure('source_s_0_connection_status', (value) => value !== 1);
    broker = await openMosquitto(broker.port, folder, options);
    sender = await connectClient(broker.url);
    await figure('source_s_0_connection_status', (value) => value === 1);
    await publishAll(sender, 'a', rows(105, 131), 1);
    await check(131);
  } finally {
    await sender.endAsync(true);
    await broker.close();
  }
});

test.run();
