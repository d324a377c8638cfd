/** What a hostile or broken sender can do over MQTT: the rule lives, the status names the reason, memory is bounded. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBroker } from '../../support/brokers/broker.js';
import { openRawBroker, publish } from '../../support/brokers/raw-broker.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
test.before.each(() => {
  opened = openEngine();
});
test.after.each(() => opened.close());

/** Starts a rule on topic `a` of the broker. */
function listen(url: string, qos = 0, action: [string, Record<string, unknown>] = ['nop', {}]): void {
  opened.stream(`CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")`, { server: url, qos });
  opened.run('r', 'SELECT id, meta(topic) AS t FROM s', [action]);
}

async function metric(name: string): Promise<number | string | undefined> {
  return (await opened.engine.status('r')).metrics[name];
}

const good = publish('{"id":1}');
const broken: [name: string, bytes: Buffer, reason: RegExp][] = [
  ['a length of five bytes', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 1]), /length of a packet is malformed/],
  ['a reserved packet type', Buffer.from([0x00, 2, 0, 0]), /reserved type/],
  ['a topic longer than its packet', Buffer.from([0x30, 4, 0, 9, 97, 98]), /PUBLISH packet is malformed/],
  ['a PUBLISH without room for its packet id', Buffer.from([0x32, 3, 0, 1, 97]), /PUBLISH packet is malformed/],
  ['a topic that is no UTF-8', Buffer.from([0x30, 5, 0, 2, 0xc3, 0x28, 49]), /topic is malformed/],
];
for (const [name, bytes, reason] of broken) {
  test(`${name} costs the connection; messages before it count, and the next connection works`, async () => {
    const broker = await openRawBroker((socket, connection) => {
      socket.write(connection === 1 ? Buffer.concat([good, good, bytes, good]) : good);
    });
    listen(broker.url);
    await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 3);
    assert.is(broker.connections, 2);
    assert.match(String(await metric('source_s_0_last_exception')), reason);
    assert.match(String(await metric('source_s_0_connection_last_disconnected_message')), reason);
    assert.is(await metric('source_s_0_connection_status'), 1);
    broker.close();
  });
}

test('a packet cut short by the end of the connection leaves nothing behind', async () => {
  const long = publish(`{"id":7,"text":"${'x'.repeat(300_000)}"}`);
  const broker = await openRawBroker((socket, connection) => {
    if (connection === 1) socket.end(Buffer.concat([good, long.subarray(0, 200_000)]));
    else socket.write(Buffer.concat([long, good]));
  });
  listen(broker.url);
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 3);
  broker.close();
});

test('a message above the limit is skipped and counted, those around it arrive', async () => {
  const huge = publish(Buffer.alloc(17 * 1024 * 1024, 0x20));
  const broker = await openRawBroker((socket) => {
    socket.write(good);
    socket.write(huge);
    socket.write(good);
  });
  listen(broker.url);
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 2);
  assert.is(broker.connections, 1);
  assert.is(await metric('source_s_0_exceptions_total'), 1);
  assert.match(String(await metric('source_s_0_last_exception')), /1 messages longer than 16777216 bytes were skipped/);
  broker.close();
});

test('payloads that are no UTF-8 or no JSON are counted and named, the rest of the batch is unharmed', async () => {
  const bad = [
    Buffer.from([0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
    Buffer.from('{"id":'),
    Buffer.from('{"id":1}x'),
    Buffer.from(''),
    Buffer.from('nonsense'),
    Buffer.from('['.repeat(2000)),
  ];
  const packets: Buffer[] = [];
  for (let i = 0; i < 3000; i++)
    packets.push(publish(`{"id":${i}}`), ...(i % 500 === 0 ? bad.map((b) => publish(b)) : []));
  const broker = await openRawBroker((socket) => socket.write(Buffer.concat(packets)));
  listen(broker.url);
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 3000);
  assert.is(Number(await metric('source_s_0_exceptions_total')), 6 * bad.length);
  assert.is(Number(await metric('exceptionsTotal')) >= 6 * bad.length, true);
  assert.not.equal(await metric('source_s_0_last_exception'), '');
  assert.is(broker.connections, 1);
  broker.close();
});

test('a rule that needs no column still counts what does not decode', async () => {
  const packets = [good, publish('nonsense'), publish('{"id":'), publish('{}'), good];
  const broker = await openRawBroker((socket) => socket.write(Buffer.concat(packets)));
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', { server: broker.url, qos: 0 });
  opened.run('r', 'SELECT 1 AS one FROM s', [['nop', {}]]);
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 3);
  assert.is(await metric('source_s_0_exceptions_total'), 2);
  broker.close();
});

/** Resident memory of this process, which runs the data plane in a thread, MiB. */
const residentMb = () => process.memoryUsage.rss() / (1 << 20);

/** Writes a block again and again, as fast as the other side reads. */
function flood(socket: Socket, block: Buffer, totalBytes: number, sent: (bytes: number) => void): void {
  let left = totalBytes;
  const next = () => {
    while (left > 0 && !socket.destroyed) {
      left -= block.length;
      sent(block.length);
      if (!socket.write(block)) return void socket.once('drain', next);
    }
  };
  next();
}

test('a gigabyte of garbage: bounded memory, the rule runs on', async () => {
  const total = 1 << 30;
  let sent = 0;
  // Bad messages within good packets: the connection holds, every message is an error.
  const junk = Buffer.concat(Array.from({ length: 16 }, () => publish(randomBytes(60_000))));
  const broker = await openRawBroker((socket) => {
    if (sent < total) flood(socket, junk, total, (bytes) => (sent += bytes));
    else socket.write(good);
  });
  listen(broker.url);
  await eventually('the first bytes', () => sent > 64 << 20);
  const before = residentMb();
  let most = 0;
  const messages = Math.ceil(total / junk.length) * 16;
  await eventually(
    'the end of the garbage',
    async () => {
      most = Math.max(most, residentMb());
      return sent >= total && Number(await metric('source_s_0_exceptions_total')) === messages;
    },
    20_000,
  );
  assert.ok(most - before < 150, `${Math.round(before)} MB grew to ${Math.round(most)} MB`);
  assert.is(opened.engine.state('r'), 'running');
  broker.close();
});

test('a broker that frees packet ids without end and reads no answer costs the connection alone', async () => {
  const total = 1 << 28;
  const releases = Buffer.concat(
    Array.from({ length: 4096 }, (_, i) => Buffer.from([0x62, 2, (i + 1) >> 8, (i + 1) & 255])),
  );
  const broker = await openRawBroker((socket, connection) => {
    if (connection > 1) return void socket.write(good);
    socket.pause();
    flood(socket, releases, total, () => {});
  });
  const session = { server: broker.url, qos: 2, clientid: 'c', enableClientSession: true };
  opened.stream(`CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")`, session);
  opened.run('r', 'SELECT id FROM s', [['nop', {}]]);
  await eventually('a first connection', () => broker.connections === 1);
  const before = residentMb();
  await opened.figure('r', 'sinkRecordsOutTotal', (value) => value === 1);
  const reason = /does not read: \d+ bytes of acknowledgements wait/;
  assert.match(String(await metric('source_s_0_connection_last_disconnected_message')), reason);
  const more = residentMb() - before;
  assert.ok(more < 200, `${Math.round(more)} MB more`);
  broker.close();
});

test('a message that is sent again without end before it is acknowledged costs the connection', async () => {
  const away = await openBroker();
  await away.close();
  const again = Buffer.from(publish('{"id":1}', 5));
  again[0] = again[0]! | 8;
  const repeats = Buffer.concat(Array.from({ length: 4096 }, () => again));
  let isOver = false;
  const broker = await openRawBroker((socket, connection) => {
    socket.write(publish('{"id":1}', 5));
    if (connection === 1) flood(socket, repeats, 1 << 24, () => {});
    else isOver = true;
  });
  const session = { server: broker.url, qos: 1, clientid: 'c', enableClientSession: true };
  opened.stream(`CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")`, session);
  opened.run('r', 'SELECT id FROM s', [['mqtt', { server: away.url, topic: 'out', qos: 1 }]]);
  await eventually('the second connection', () => isOver, 20_000);
  const reason = /1\d{5} messages wait for their acknowledgements/;
  assert.match(String(await metric('source_s_0_connection_last_disconnected_message')), reason);
  assert.equal(broker.acknowledged, []);
  broker.close();
});

test('garbage that breaks every connection is met with longer and longer pauses', async () => {
  const junk = randomBytes(1 << 20);
  junk[0] = 0;
  const times: number[] = [];
  const broker = await openRawBroker((socket) => {
    times.push(performance.now());
    socket.write(junk);
  });
  listen(broker.url);
  await eventually('five connections', () => times.length >= 5, 10_000);
  const pauses = times.slice(1).map((at, i) => at - times[i]!);
  assert.ok(pauses[3]! > pauses[0]! * 3, `pauses ${pauses.map(Math.round).join(', ')} ms`);
  broker.close();
});

test('QoS 1 messages are acknowledged only after the sink took their results', async () => {
  const packets = Array.from({ length: 50 }, (_, i) => publish(`{"id":${i}}`, i + 1));
  const source = await openRawBroker((socket) => socket.write(Buffer.concat(packets)));
  const away = await openBroker();
  await away.close();
  listen(source.url, 1, ['mqtt', { server: away.url, topic: 'out', qos: 1 }]);
  await opened.figure('r', 'sinkRecordsEnqueuedTotal', (value) => value === 50);
  assert.equal(source.acknowledged, []);
  const back = await openBroker(away.port);
  await eventually('the acknowledgements', () => source.acknowledged.length === 50, 10_000);
  assert.equal(
    source.acknowledged,
    packets.map((_, i) => i + 1),
  );
  await opened.engine.remove('r');
  await back.close();
  source.close();
});

test('a broker that no longer answers is given up after the keep-alive time', async () => {
  const broker = await openRawBroker((socket) => socket.pause());
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', {
    server: broker.url,
    qos: 0,
    keepAlive: 1000,
  });
  opened.run('r', 'SELECT id FROM s', [['file', { path: `${temporaryFolder()}/out` }]]);
  await eventually('another connection', () => broker.connections > 1, 10_000);
  assert.match(String(await metric('source_s_0_connection_last_disconnected_message')), /keepalive/i);
  broker.close();
});

test.run();
