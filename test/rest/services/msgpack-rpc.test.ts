/** Functions over MessagePack-RPC in rules. */
import { createServer, type Socket } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { installService } from '../../support/services/install.js';
import { startRpc } from '../../support/services/rpc-server.js';

const schema = `syntax = "proto3"; package plant;
message Box { int32 width = 1; bytes image = 2; }
message Ask { string item = 1; int64 count = 2; Box box = 3; repeated double values = 4; }
message Answer { string name = 1; int32 code = 2; bytes image = 3; repeated Box boxes = 4; double mean = 5; }
service Plant {
  rpc measure(Ask) returns (Answer) {}
  rpc mirror(google.protobuf.BytesValue) returns (google.protobuf.BytesValue) {}
  rpc ready(google.protobuf.Empty) returns (google.protobuf.BoolValue) {}
}`;

let measure: (...params: unknown[]) => unknown = () => ({});
const methods = {
  measure: (...params: unknown[]) => measure(...params),
  mirror: (bytes: unknown) => bytes,
  ready: () => true,
};
const plant = await startRpc(methods);
const server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
test.after(async () => {
  await server.stop();
  await plant.kill();
});
const rule = new RowsThrough(server);
const install = (options: object = {}, port = plant.port) =>
  installService(server, 'plant', {
    interfaces: {
      one: {
        address: `tcp://127.0.0.1:${port}`,
        protocol: 'msgpack-rpc',
        schemaType: 'protobuf',
        schemaFile: 'plant.proto',
        options,
      },
    },
    schemas: { 'plant.proto': schema },
  });

test.before.each(() => {
  plant.asked.length = 0;
});

test('fields are the parameters in order, results have the types of the schema', async () => {
  await install();
  measure = () => ({
    name: 'tea',
    code: 3,
    image: Buffer.from('hi'),
    boxes: [{ width: 2 }],
    mean: 2,
    other: 'not declared',
  });
  const row = { item: 'tea', count: 5000000000, box: { width: 1, image: 'aGk=' }, values: [1, 2.5] };
  assert.equal(await rule.results('SELECT measure(item, count, box, values) AS r FROM s', [row]), [
    { r: { name: 'tea', code: 3, image: 'aGk=', boxes: [{ width: 2 }], mean: 2 } },
  ]);
  const [[method, [item, count, box, values]]] = plant.asked as [[string, unknown[]]];
  assert.equal([method, item, Number(count), values], ['measure', 'tea', 5000000000, [1, 2.5]]);
  const { width, image } = box as { width: number; image: Uint8Array };
  assert.equal([width, Buffer.from(image).toString()], [1, 'hi']);
  // One object has the fields by their names; what it does not have is nil.
  await rule.results("SELECT measure(object_construct('item', 'milk')) AS r FROM s", [row]);
  assert.equal(plant.asked.at(-1), ['measure', ['milk', null, null, null]]);
});

test('values that stand for messages are those values', async () => {
  assert.equal(await rule.results('SELECT mirror(a) AS m, ready() AS ok FROM s', [{ a: 'aGk=' }]), [
    { m: 'aGk=', ok: true },
  ]);
});

test('answers come in any order and in pieces', async () => {
  let pending = 0;
  measure = (item) =>
    new Promise((resolve) => {
      setTimeout(() => resolve({ name: item, image: Buffer.alloc(200_000) }), 30 - 10 * pending++);
    });
  const rows = ['a', 'b', 'c'].map((item) => ({ item }));
  assert.equal(
    await rule.results("SELECT measure(object_construct('item', item)).name AS n FROM s", rows),
    rows.map(({ item }) => ({ n: item })),
  );
});

test('errors, late answers and answers of another form are those of their rows', async () => {
  await install({ timeout: '100ms', maxMessageSize: 100_000, breakerFailures: 0 });
  measure = (item) => {
    if (item === 'error') throw new Error('sold out');
    if (item === 'never') return new Promise(() => {});
    if (item === 'text') return 'a text';
    if (item === 'type') return { code: 'many' };
    return { code: 1 };
  };
  const rows = ['error', 'never', 'text', 'type', 'fine'].map((item) => ({ item }));
  const select = "SELECT measure(object_construct('item', item)).code AS c FROM s";
  assert.equal(await rule.results(select, rows), [
    'function measure: sold out',
    'function measure: no answer within 100 ms',
    'function measure: the answer to measure does not fit: it is no object',
    'function measure: the answer to measure does not fit: code must be a number, not "many"',
    { c: 1 },
  ]);
  measure = () => ({ image: Buffer.alloc(200_000) });
  const [large] = await rule.results(select, [{ item: 'large' }]);
  assert.match(String(large), /the answer has more than 100000 bytes/);
});

test('a connection that ends is made again, and what is no MessagePack is told', async () => {
  const first = await startRpc(methods);
  measure = () => ({ code: 1 });
  await install({ breakerFailures: 0 }, first.port);
  const select = "SELECT measure(object_construct('item', item)).code AS c FROM s";
  assert.equal(await rule.results(select, [{ item: 'a' }]), [{ c: 1 }]);
  await first.kill();
  assert.match(String((await rule.results(select, [{ item: 'a' }]))[0]), /function measure: 127\.0\.0\.1:\d+: /);
  const sockets = new Set<Socket>();
  const odd = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', () => socket.write(Buffer.of(0xc1)));
    socket.on('error', () => {});
  }).listen(first.port, '127.0.0.1');
  await new Promise((resolve) => odd.once('listening', resolve));
  assert.match(String((await rule.results(select, [{ item: 'a' }]))[0]), /it sends what is no MessagePack/);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => odd.close(resolve));
  const second = await startRpc(methods, first.port);
  assert.equal(await rule.results(select, [{ item: 'a' }]), [{ c: 1 }]);
  await second.kill();
});

test.run();
