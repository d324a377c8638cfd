import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../host/connectors/index.js';
import { connectClient, openBroker, type TestBroker } from '../../support/brokers/broker.js';
import { sinkContract, sourceContract } from '../../support/connectors/contract.js';
import { openPlane, passRule } from '../../support/engine/plane.js';
import { eventually, temporaryFolder, within } from '../../support/harness.js';

let broker: TestBroker;
test.before(async () => {
  broker = await openBroker();
});
test.after(async () => {
  await broker.close();
});

sourceContract(
  test,
  () => ({
    type: 'mqtt',
    dataSource: 'contract/source',
    props: { server: broker.url },
    refused: [
      [{ server: 'nonsense://x' }, /server must begin with one of/],
      [{ qos: 3 }, /qos must be at most 2/],
      [{ protocolVersion: '6' }, /protocolVersion must be one of/],
    ],
  }),
  'mqtt',
);

sinkContract(
  test,
  () => ({
    type: 'mqtt',
    props: { server: broker.url, topic: 'contract/sink' },
    refused: [
      [{}, /topic is required/],
      [{ topic: 'a/+' }, /topic must not have wildcards/],
      [{ topic: '{{.x}}/#' }, /topic must not have wildcards, as "x\/#" has/],
    ],
  }),
  'mqtt',
);

/** Starts a rule from topics to a file and returns how to see and stop it. */
async function toFile(dataSource: string, props: Record<string, unknown>, flow: { coalesceMs?: number } = {}) {
  const opened = await openPlane(undefined, flow);
  const path = join(temporaryFolder(), 'out.txt');
  const rule = passRule({ type: 'mqtt', dataSource, props }, [{ type: 'file', props: { path } }]);
  await opened.plane.start(rule);
  const status = () => opened.plane.status(rule.run)?.metrics.source_demo_0_connection_status;
  await eventually('the connection', () => status() === 1);
  // The source may be there before the sink has made its file.
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
  return {
    ...opened,
    rule,
    path,
    lines,
    status,
    metrics: () => opened.plane.status(rule.run)!.metrics,
    has: (count: number) =>
      eventually(`${count} lines`, () => {
        if (opened.broken !== undefined) throw opened.broken;
        return lines().length >= count;
      }),
    stop: async () => {
      await opened.plane.stop(rule.run);
      await opened.plane.close();
    },
  };
}

for (const qos of [0, 1, 2] as const) {
  for (const protocolVersion of ['3.1', '3.1.1']) {
    test(`takes messages of QoS ${qos} with MQTT ${protocolVersion}, all and in order`, async () => {
      const rule = await toFile(`q${qos}/${protocolVersion}/+,other/#`, { server: broker.url, qos, protocolVersion });
      const client = await connectClient(broker.url);
      const expected = Array.from({ length: 300 }, (_, i) => `{"id":${i}}`);
      await Promise.all(
        expected.map((text, i) =>
          client.publishAsync(i % 2 ? `q${qos}/${protocolVersion}/a` : 'other/a/b', text, { qos }),
        ),
      );
      await rule.has(300);
      assert.equal(rule.lines(), expected);
      await client.endAsync();
      await rule.stop();
    });
  }
}

test('comes back after the broker was away, and says so meanwhile', async () => {
  const other = await openBroker();
  const rule = await toFile('back/#', { server: other.url, qos: 0 });
  await other.close();
  await eventually('the loss', () => rule.status() !== 1);
  const lost = rule.metrics();
  assert.ok(Number(lost.source_demo_0_connection_last_disconnected_time) > 0);
  assert.is.not(lost.source_demo_0_connection_last_disconnected_message, '');
  const again = await openBroker(other.port);
  await eventually('the connection', () => rule.status() === 1);
  const client = await connectClient(again.url);
  await client.publishAsync('back/x', '{"id":1}');
  await rule.has(1);
  await client.endAsync();
  await rule.stop();
  await again.close();
});

test('a sink keeps what comes while the broker is away', async () => {
  const other = await openBroker();
  const { plane, report } = await openPlane();
  const data = Array.from({ length: 40 }, (_, i) => ({ id: i }));
  const rule = passRule({ type: 'simulator', props: { interval: 10, loop: false, data } }, [
    { type: 'mqtt', props: { server: other.url, topic: 'kept/a', qos: 1 } },
  ]);
  await plane.start(rule);
  await eventually('a message', () => Number(plane.status(rule.run)?.metrics.sinkRecordsOutTotal) > 3);
  await other.close();
  await eventually('the loss', () => plane.status(rule.run)?.metrics.sink_mqtt_0_0_connection_status !== 1);
  const again = await openBroker(other.port);
  const { metrics } = await report(rule.run, 'ended');
  assert.is(metrics.sinkRecordsOutTotal, 40);
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  await plane.close();
  await again.close();
});

for (const qos of [0, 1, 2]) {
  test(`publishes with QoS ${qos}, retained`, async () => {
    const topic = `out/${qos}`;
    const { plane, report } = await openPlane();
    const data = Array.from({ length: 100 }, (_, i) => ({ id: i, long: 'x'.repeat(i * 3) }));
    const props = { server: broker.url, topic, qos, retained: true };
    const client = await connectClient(broker.url);
    const got: string[] = [];
    client.on('message', (_topic, payload) => got.push(payload.toString()));
    await client.subscribeAsync(topic);
    const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [{ type: 'mqtt', props }]);
    await plane.start(rule);
    await report(rule.run, 'ended');
    await eventually('all messages', () => got.length >= 100);
    assert.equal(
      got,
      data.map((row) => JSON.stringify(row)),
    );
    const late = await connectClient(broker.url);
    const kept = new Promise<Buffer>((resolve) => late.once('message', (_topic, bytes) => resolve(bytes)));
    await late.subscribeAsync(topic);
    const payload = await within(2000, 'the retained message', kept);
    assert.is(String(payload), JSON.stringify(data[99]));
    await Promise.all([client.endAsync(), late.endAsync()]);
    await plane.close();
  });
}

test('writes packets of MQTT 5 with user properties', async () => {
  const packets: number[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x10) socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      else packets.push(...bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `tcp://127.0.0.1:${(server.address() as { port: number }).port}`;
  const { plane, report } = await openPlane();
  const props = { server: url, topic: 'ab', protocolVersion: '5', properties: { k: 'v' } };
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data: [{ a: 1 }] } }, [
    { type: 'mqtt', props },
  ]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  const body = [0, 2, 97, 98, 7, 0x26, 0, 1, 107, 0, 1, 118, ...Buffer.from('{"a":1}')];
  assert.equal(packets.slice(0, body.length + 2), [0x30, body.length, ...body]);
  await plane.close();
  server.close();
});

/** A server that accepts an MQTT connection and a subscription, and then does what it is told. */
async function rawBroker(then: (socket: Socket) => void, version: 4 | 5 = 4) {
  const isV5 = version === 5;
  const received: number[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x10) socket.write(Buffer.from(isV5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]));
      else if (bytes[0] === 0x82) {
        socket.write(Buffer.from(isV5 ? [0x90, 4, bytes[2]!, bytes[3]!, 0, 1] : [0x90, 3, bytes[2]!, bytes[3]!, 1]));
        then(socket);
      } else received.push(...bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `tcp://127.0.0.1:${port}`,
    received,
    connections: () => connections,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function publish(id: number, payload: string): Buffer {
  const body = Buffer.concat([Buffer.from([0, 1, 97, id >> 8, id & 255]), Buffer.from(payload)]);
  return Buffer.concat([Buffer.from([0x32, body.length]), body]);
}

test('acknowledges QoS 1 in order, once the results are written', async () => {
  const raw = await rawBroker((socket) => {
    socket.write(Buffer.concat([publish(7, '{"id":7}'), publish(8, '{"id":8}')]));
    socket.write(publish(9, '{"id":9}'));
  });
  const rule = await toFile('a', { server: raw.url });
  await eventually('acknowledgements', () => raw.received.length >= 12);
  assert.equal(raw.received, [0x40, 2, 0, 7, 0x40, 2, 0, 8, 0x40, 2, 0, 9]);
  assert.equal(rule.lines(), ['{"id":7}', '{"id":8}', '{"id":9}']);
  await rule.stop();
  raw.close();
});

test('takes and acknowledges messages of MQTT 5 with properties', async () => {
  const payload = Buffer.from('{"id":5}');
  const head = [0, 1, 97, 0, 12, 7, 0x26, 0, 1, 107, 0, 1, 118];
  const raw = await rawBroker((socket) => {
    socket.write(Buffer.concat([Buffer.from([0x32, head.length + payload.length, ...head]), payload]));
  }, 5);
  const rule = await toFile('a', { server: raw.url, protocolVersion: '5' });
  await eventually('the acknowledgement', () => raw.received.length >= 4);
  assert.equal(raw.received, [0x40, 2, 0, 12]);
  assert.equal(rule.lines(), ['{"id":5}']);
  await rule.stop();
  raw.close();
});

test('packets cut anywhere arrive whole', async () => {
  const bytes = Buffer.concat([publish(1, '{"id":1}'), publish(2, '{"id":2}'), publish(3, '{"id":3}')]);
  const raw = await rawBroker((socket) => {
    socket.setNoDelay(true);
    let at = 0;
    const next = () => {
      if (at >= bytes.length) return;
      socket.write(bytes.subarray(at, ++at), () => setImmediate(next));
    };
    next();
  });
  const rule = await toFile('a', { server: raw.url });
  await rule.has(3);
  assert.equal(rule.lines(), ['{"id":1}', '{"id":2}', '{"id":3}']);
  await rule.stop();
  raw.close();
});

test('a connection whose packets make no sense is given up and opened again', async () => {
  const raw = await rawBroker((socket) => socket.write(Buffer.from([0x00, 2, 1, 2])));
  const rule = await toFile('a', { server: raw.url });
  await eventually('another connection', () => raw.connections() > 1);
  assert.ok(Number(rule.metrics().source_demo_0_exceptions_total) > 0);
  await rule.stop();
  raw.close();
});

test('a full sink stops the reading, and nothing is lost when it goes on', async () => {
  const { plane } = await openPlane();
  const topic = 'slow/topic';
  const path = join(temporaryFolder(), 'out.txt');
  const start = passRule(
    { type: 'mqtt', dataSource: topic, props: { server: broker.url, qos: 0 } },
    [{ type: 'file', props: { path } }],
    { sinkLimitBytes: 1000 },
  );
  await plane.start(start);
  const client = await connectClient(broker.url);
  try {
    await eventually('the connection', () => plane.status(start.run)?.metrics.source_demo_0_connection_status === 1);
    const count = 20_000;
    for (let i = 0; i < count; i++) client.publish(topic, `{"id":${i}}`);
    await eventually('all lines', () => Number(plane.status(start.run)?.metrics.sinkRecordsOutTotal) === count, 40_000);
    const ids = readFileSync(path, 'utf8').trimEnd().split('\n');
    assert.is(ids.length, count);
    assert.is(ids.at(-1), `{"id":${count - 1}}`);
  } finally {
    await client.endAsync(true);
    await plane.close();
  }
});

test('a broker that refuses the login is tried again later, with the reason in the status', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write(Buffer.from([0x20, 2, 0, 5])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { plane } = await openPlane();
  const rule = passRule({ type: 'mqtt', dataSource: 'a', props: { server: `tcp://127.0.0.1:${port}` } }, [
    { type: 'nop', props: {} },
  ]);
  await plane.start(rule);
  const metrics = await eventually('the refusal', () => {
    const now = plane.status(rule.run)?.metrics;
    return now?.source_demo_0_connection_status === -1 ? now : undefined;
  });
  assert.match(String(metrics.source_demo_0_last_exception), /Not authorized/);
  await plane.close();
  server.close();
});

test('a try of a connection names what the client refuses by itself', async () => {
  const ping = connectorOf('mqtt')?.connection?.ping;
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  try {
    await ping!({ server: `tcp://127.0.0.1:${port}`, password: 'alone' });
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /username is required/i);
  } finally {
    server.close();
  }
});

test.run();
