/** The connector neuron at the other end of nng: what it takes and sends, one connection for all, loss and return. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { frameHead, helloOf, SpReader } from '../../../../host/clients/sp/frames.js';
import { pingPair } from '../../../../host/clients/sp/pair.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { openHttp } from '../../../support/connectors/http-server.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually, freePort, temporaryFolder } from '../../../support/harness.js';
import { type NngPeer, needsNng, openNng } from '../../../support/servers/nng.js';

if (!needsNng('the neuron connector')) process.exit(0);

type Props = Record<string, unknown>;

const urlOf = async () => `tcp://127.0.0.1:${await freePort()}`;
let url: string;
let peer: NngPeer;
test.before(async () => {
  url = await urlOf();
  peer = openNng(url);
});
test.after(() => peer.close());

sourceContract(
  test,
  () => ({
    type: 'neuron',
    dataSource: '',
    props: { url },
    refused: [
      [{ url: 'http://x:1' }, /url must begin with tcp:\/\/ or ipc:\/\//],
      [{ url: 'tcp://host' }, /url must be an address such as/],
    ],
  }),
  'neuron',
);
sinkContract(
  test,
  () => ({
    type: 'neuron',
    props: { url, nodeName: 'n', groupName: 'g' },
    refused: [
      [{}, /nodeName is required if raw is not set/],
      [{ nodeName: 'n' }, /groupName is required if raw is not set/],
      [{ raw: true, tags: 5 }, /tags must be a list/],
    ],
  }),
  'neuron',
);

/** Sends rows; resolves with the figures at the end. */
async function send(data: readonly object[], props: Props, interval = 0) {
  const { plane, report } = await openPlane();
  const rule = passRule({ type: 'simulator', props: { interval, loop: false, data } }, [{ type: 'neuron', props }]);
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  await plane.close();
  return metrics;
}

for (const kind of ['tcp', 'ipc']) {
  test(`rows are sent as tags of a group over ${kind}`, async () => {
    const own = kind === 'tcp' ? await urlOf() : `ipc://${join(temporaryFolder(), 'neuron.ipc')}`;
    const other = openNng(own);
    const big = { id: 1, text: 'ä"\n', list: [1, 2], big: 9007199254740993n.toString() };
    await send([big], { url: own, nodeName: 'plc', groupName: 'one', tags: ['id', 'text'] });
    await send([{ b: 2, a: 1 }], { url: own, nodeName: 'plc', groupName: 'two' });
    await send([{ id: 3 }], { url: own, raw: true });
    await eventually('three messages', () => other.texts.length === 3);
    assert.equal(
      other.texts.map((text) => JSON.parse(text)),
      [
        {
          group_name: 'one',
          node_name: 'plc',
          tags: [
            { tag_name: 'id', value: 1 },
            { tag_name: 'text', value: 'ä"\n' },
          ],
        },
        {
          group_name: 'two',
          node_name: 'plc',
          tags: [
            { tag_name: 'b', value: 2 },
            { tag_name: 'a', value: 1 },
          ],
        },
        { id: 3 },
      ],
    );
    await other.close();
  });
}

test('node, group and tags may be templates; a tag that the row lacks is counted', async () => {
  const own = await urlOf();
  const other = openNng(own);
  const props = { url: own, nodeName: '{{.node}}', groupName: 'g', tags: ['{{.which}}', 'absent'], sendSingle: true };
  const metrics = await send([{ node: 'n1', which: 'v', v: 5 }], props);
  await eventually('the message', () => other.texts.length === 1);
  assert.equal(JSON.parse(other.texts[0]!), { group_name: 'g', node_name: 'n1', tags: [{ tag_name: 'v', value: 5 }] });
  assert.match(JSON.stringify(metrics), /the row has no member absent for a tag/);
  assert.is(metrics.sinkRecordsOutTotal, 1);
  await other.close();
});

test('what Neuron sends goes into the rule', async () => {
  const own = await urlOf();
  const event = '{"timestamp":1,"node_name":"n","group_name":"g","values":{"t":20.5},"errors":{}}';
  const other = openNng(own, '--pair0', ['--data', event, '--interval', '1', '--delay', '1']);
  const collector = await openHttp();
  const { plane } = await openPlane();
  const rule = passRule({ type: 'neuron', props: { url: own } }, [
    { type: 'rest', props: { url: collector.url, method: 'post' } },
  ]);
  await plane.start(rule);
  await eventually('some messages', () => collector.bodies.length > 1);
  assert.is(collector.bodies[0], event);
  await plane.close();
  await collector.close();
  await other.close();
});

test('rules share the connection; it stays when one of them stops, and comes back after a loss', async () => {
  const own = await urlOf();
  const first = openNng(own);
  const { plane, report } = await openPlane();
  const start = async (from: number, count: number) => {
    const data = Array.from({ length: count }, (_, i) => ({ id: from + i }));
    const source = { type: 'simulator', props: { interval: 5, loop: false, data } };
    const rule = passRule(source, [{ type: 'neuron', props: { url: own, raw: true } }]);
    await plane.start(rule);
    return rule;
  };
  const one = await start(0, 5000);
  const other = await start(10_000, 200);
  await eventually(
    'messages of both',
    () => first.texts.some((text) => text.includes('1000')) && first.texts.length > 4,
  );
  await plane.stop(one.run);
  await first.close();
  await eventually('the loss', () => plane.status(other.run)?.metrics.sink_neuron_0_0_connection_status !== 1);
  const second = openNng(own);
  const { metrics } = await report(other.run, 'ended');
  assert.equal([metrics.sinkRecordsOutTotal, metrics.sinkRecordsFailedTotal], [200, 0]);
  await eventually('the last one', () => second.texts.at(-1) === '{"id":10199}');
  await plane.close();
  await second.close();
});

test('a peer of another protocol, and one that is no nng, are refused by name', async () => {
  const own = await urlOf();
  const other = openNng(own, '--pull0');
  await eventually('the listener', () => pingPair(own).catch((error: Error) => !/ECONNREFUSED/.test(error.message)));
  const reason = await pingPair(own).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(reason, /the other side speaks protocol 81, not pair \(16\)/);
  await other.close();
  const web = await openHttp();
  await pingPair(web.url.replace('http', 'tcp')).then(
    () => assert.unreachable(),
    (error: Error) => assert.match(error.message, /does not speak SP|ended the connection/),
  );
  await web.close();
});

test('a peer that hangs does not keep the rule from stopping', async () => {
  const own = await urlOf();
  const other = openNng(own);
  const { plane, report } = await openPlane(undefined, { flushTimeoutMs: 200 });
  const data = [{ text: 'x'.repeat(100_000) }];
  const rule = passRule({ type: 'simulator', props: { interval: 1, loop: true, data } }, [
    { type: 'neuron', props: { url: own, raw: true } },
  ]);
  await plane.start(rule);
  await report(rule.run, 'started');
  await eventually('a message', () => other.texts.length > 0);
  other.pause();
  await eventually('a full sink', () => Number(plane.status(rule.run)?.metrics.sink_neuron_0_0_buffer_length) > 5);
  const began = performance.now();
  await plane.stop(rule.run);
  await plane.close();
  assert.ok(performance.now() - began < 5000);
  other.resume();
  await other.close();
});

test('traces go on, frames are read however they are cut, and long ones are refused', async () => {
  const taken: string[] = [];
  const bytes = Buffer.concat([
    helloOf('pair'),
    frameHead(3, true),
    Buffer.from('abc'),
    frameHead(0, true),
    frameHead(1, true),
    Buffer.from('d'),
  ]);
  for (const size of [1, 2, 5, 100]) {
    const reader = new SpReader(
      true,
      'pair',
      () => taken.push('hello'),
      (message) => taken.push(message.toString()),
    );
    for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size));
    assert.equal(taken.splice(0), ['hello', 'abc', '', 'd']);
  }
  const reader = new SpReader(
    false,
    'pair',
    () => {},
    () => {},
  );
  reader.read(helloOf('pair'));
  assert.throws(() => reader.read(frameHead(17 << 20, false)), /a message has 17825792 bytes, more than 16777216/);
});

test('the ids of a traced message are those of its rule', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const collector = await openHttp();
  const { plane } = await openPlane();
  const rule = passRule({ type: 'neuron', props: { url: `tcp://127.0.0.1:${port}` } }, [
    { type: 'rest', props: { url: collector.url, method: 'post' } },
  ]);
  const connected = once(server, 'connection') as Promise<[Socket]>;
  await plane.start(rule);
  const [socket] = await connected;
  socket.on('error', () => {});
  const traced = Buffer.concat([Buffer.from([0x0a, 0xce]), Buffer.alloc(24, 1), Buffer.from('{"a":1}')]);
  socket.write(Buffer.concat([helloOf('pair'), frameHead(traced.length, false), traced]));
  await eventually('the row', () => collector.bodies[0] === '{"a":1}');
  await plane.close();
  await collector.close();
  socket.destroy();
  server.close();
});

test.run();
