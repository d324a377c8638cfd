/** The redis connector at a real server: what is set, what a server that fails costs, how keys are asked for. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { askedPart, connectorOf } from '../../../host/connectors/index.js';
import type { LookupContext, SinkChunk, SinkContext } from '../../../host/connectors/running.js';
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import { lookupContract, sinkContract } from '../../support/connectors/contract.js';
import { openPlane, passRule } from '../../support/engine/plane.js';
import { eventually, freePort } from '../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../support/servers/redis.js';

if (!needsRedis('the redis connector')) process.exit(0);

type Props = Record<string, unknown>;

let redis: TestRedis;
test.before(async () => {
  redis = await openRedis();
});
test.before.each(async () => {
  await redis.client.sendCommand(['FLUSHALL']);
});
test.after(() => redis.close());

sinkContract(
  test,
  () => ({
    type: 'redis',
    props: { addr: redis.addr, key: 'contract' },
    refused: [
      [{}, /key or field is required with keyType single/],
      [{ key: 'a', addr: 'http://x' }, /addr must be an address such as/],
      [{ key: 'a', db: 16 }, /db must be at most 15/],
      [{ key: 'a', keyType: 'none' }, /keyType must be one of single, multiple/],
      [{ key: 'a', dataType: 'set' }, /dataType must be one of string, list/],
      [{ key: 'a', expiration: 'soon' }, /expiration must be a duration/],
    ],
  }),
  'redis',
);

lookupContract(
  test,
  [
    [{ addr: 'a b' }, /addr must be an address such as/],
    [{ datatype: 'set' }, /dataType must be one of string, list/],
  ],
  'redis',
);

/** Runs a rule over the rows to its end. */
async function send(data: readonly unknown[], props: Props, server = redis) {
  const { plane, report } = await openPlane();
  const source = { type: 'simulator', props: { interval: 0, loop: false, data } };
  const rule = passRule(source, [{ type: 'redis', props: { addr: server.addr, ...props } }]);
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  await plane.close();
  return metrics;
}

test('a row is set as its JSON, under a fixed key or that of a member', async () => {
  await send([{ id: 1 }, { id: 2 }], { key: 'last' });
  assert.is(await redis.client.get('last'), '{"id":2}');
  await send([{ id: 1, name: 'ä' }, { id: 9007199254740993n.toString() }, { id: true }], { field: 'id', key: 'other' });
  assert.is(await redis.client.get('1'), '{"id":1,"name":"ä"}');
  assert.is(await redis.client.get('true'), '{"id":true}');
  assert.equal((await redis.client.keys('*')).sort(), ['1', '9007199254740993', 'last', 'true']);
});

test('each member gets a key of its own with keyType multiple', async () => {
  await send([{ a: 1, b: 'x', c: [1, { d: null }], e: null }], { keyType: 'multiple' });
  assert.equal(await redis.client.mGet(['a', 'b', 'c', 'e']), ['1', 'x', '[1,{"d":null}]', '']);
});

test('a list gets new rows first; a change of kind delete takes away', async () => {
  await send([{ id: 1 }, { id: 2 }], { key: 'list', dataType: 'list' });
  assert.equal(await redis.client.lRange('list', 0, -1), ['{"id":2}', '{"id":1}']);
  await send([{ kind: 'delete' }], { key: 'list', dataType: 'list', rowkindField: 'kind' });
  assert.equal(await redis.client.lRange('list', 0, -1), ['{"id":1}']);
  const changes = [
    { id: 'a', kind: 'insert' },
    { id: 'b', kind: 'upsert' },
    { id: 'a', kind: 'delete' },
    { id: 'c' },
    { id: 'd', kind: 'drop' },
    { kind: 'update' },
  ];
  const metrics = await send(changes, { field: 'id', rowkindField: 'kind' });
  assert.equal((await redis.client.keys('?')).sort(), ['b', 'c']);
  assert.is(metrics.sinkRecordsFailedTotal, 2);
  assert.match(String(metrics.sink_redis_0_0_last_exception), /the row has no member id for the key/);
});

test('keys expire where that is wanted, and go to the database that is named', async () => {
  await send([{ id: 1 }], { key: 'short', expiration: '1h', db: 3 });
  await send([{ id: 1 }], { key: 'shortList', expiration: 90_000, dataType: 'list' });
  await send([{ id: 1 }], { key: 'long' });
  const [list, long] = await Promise.all([redis.client.pTTL('shortList'), redis.client.pTTL('long')]);
  assert.ok(list > 60_000 && list <= 90_000, String(list));
  assert.is(long, -1);
  assert.is(await redis.client.get('short'), null);
  await redis.client.select(3);
  const ttl = await redis.client.pTTL('short');
  await redis.client.select(0);
  assert.ok(ttl > 3_000_000 && ttl <= 3_600_000, String(ttl));
});

test('a row that the server refuses takes no other with it', async () => {
  await redis.client.set('b', 'no list');
  const metrics = await send([{ id: 'a' }, { id: 'b' }, { id: 'c' }], { field: 'id', dataType: 'list' });
  assert.is(metrics.sinkRecordsFailedTotal, 1);
  assert.is(metrics.sinkRecordsOutTotal, 2);
  assert.match(String(metrics.sink_redis_0_0_last_exception), /WRONGTYPE/);
  assert.equal((await redis.client.keys('*')).sort(), ['a', 'b', 'c']);
});

test('16 MB and nothing are messages as others', async () => {
  const sink = connectorOf('redis')!.sink!;
  const taken = { bytes: 0, messages: 0 };
  const context = {
    shared: <T>(_key: string, make: () => T) => make(),
    accepted: (bytes: number, messages: number) => {
      taken.bytes += bytes;
      taken.messages += messages;
    },
    refused: (_message: Uint8Array, _bytes: number, _messages: number, reason: string) => assert.unreachable(reason),
  } as unknown as SinkContext;
  const made = sink.create({ addr: redis.addr, key: 'size', dataType: 'list' }, context);
  await made.open();
  const bytes = Buffer.alloc(16 << 20, 'x');
  const ends = Uint32Array.of(0, bytes.length);
  made.write({ bytes, ends, messages: 2, rows: 2, errors: new Set<number>() } as unknown as SinkChunk);
  await made.flush();
  assert.equal(taken, { bytes: bytes.length, messages: 2 });
  const sizes = [await redis.client.lIndex('size', 0), await redis.client.lIndex('size', 1)];
  assert.equal(
    sizes.map((text) => text?.length),
    [bytes.length, 0],
  );
  await made.close();
});

/** A rule that sends rows slowly, of which none may be lost. */
async function slowly(addr: string, props: Props, count = 40) {
  const opened = await openPlane(undefined, { flushTimeoutMs: 200 });
  const data = Array.from({ length: count }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 5, loop: false, data } }, [
    { type: 'redis', props: { addr, field: 'id', ...props } },
  ]);
  await opened.plane.start(rule);
  const metrics = () => opened.plane.status(rule.run)!.metrics;
  return { ...opened, rule, metrics, status: () => metrics().sink_redis_0_0_connection_status };
}

test('a server that comes late, goes and comes back gets all', async () => {
  const port = await freePort();
  const { plane, report, rule, metrics, status } = await slowly(`127.0.0.1:${port}`, {}, 100);
  await eventually('the failed attempt', () => status() === -1);
  const first = await openRedis(port);
  await eventually('some rows', () => Number(metrics().sinkRecordsOutTotal) > 3);
  await first.close();
  await eventually('the loss', () => status() !== 1);
  const again = await openRedis(port);
  const ended = await report(rule.run, 'ended');
  assert.is(ended.metrics.sinkRecordsOutTotal, 100);
  assert.is(ended.metrics.sinkRecordsFailedTotal, 0);
  await plane.close();
  await again.close();
});

test('a server that is full is asked again until it has room', async () => {
  const full = await openRedis(undefined, ['--maxmemory', '1', '--maxmemory-policy', 'noeviction']);
  const { plane, report, rule, metrics } = await slowly(full.addr, { dataType: 'list' });
  await eventually('the refusal', () => /OOM/.test(String(metrics().sink_redis_0_0_last_exception)));
  await full.client.configSet('maxmemory', '0');
  const ended = await report(rule.run, 'ended');
  assert.is(ended.metrics.sinkRecordsOutTotal, 40);
  assert.is(await full.client.dbSize(), 40);
  assert.is(await full.client.lLen('7'), 1);
  await plane.close();
  await full.close();
});

test('behind a message that the server takes later, others are counted after it, in their order', async () => {
  const full = await openRedis(undefined, ['--maxmemory', '1', '--maxmemory-policy', 'noeviction']);
  const told: string[] = [];
  const context = {
    shared: <T>(_key: string, make: () => T) => make(),
    accepted: (_bytes: number, messages: number) => told.push(`${messages} out`),
    refused: (_message: Uint8Array, _bytes: number, _messages: number, reason: string) => told.push(reason),
    disconnected: (reason: string) => told.push(reason),
  } as unknown as SinkContext;
  const props = { addr: full.addr, field: 'id', keyType: 'single', dataType: 'string', rowkindField: 'kind' };
  const made = connectorOf('redis')!.sink!.create({ ...props, db: 0, expiration: -1 }, context);
  await made.open();
  // A full server still deletes.
  const rows = [{ id: 'a', kind: 'delete' }, { id: 'b' }, { id: 'c', kind: 'delete' }, { kind: 'insert' }, { id: 'd' }];
  const texts = rows.map((row) => Buffer.from(JSON.stringify(row)));
  let end = 0;
  const ends = Uint32Array.from(texts, ({ length }) => {
    end += length;
    return end;
  });
  const chunk = { bytes: Buffer.concat(texts), ends, messages: 5, rows: 5, errors: new Set<number>() };
  made.write(chunk as unknown as SinkChunk);
  await eventually('the refusal and what is counted before it', () => told.length === 2);
  assert.is(told.filter((line) => line === '1 out').length, 1);
  assert.is(told.filter((line) => /OOM/.test(line)).length, 1);
  await full.client.configSet('maxmemory', '0');
  told.length = 0;
  await made.open();
  await made.flush();
  assert.equal(told, ['2 out', 'the row has no member id for the key', '1 out']);
  assert.equal((await full.client.keys('*')).sort(), ['b', 'd']);
  await made.close();
  await full.close();
});

test('a wrong password is told without showing it', async () => {
  const locked = await openRedis(undefined, [], 'correct');
  const { plane, metrics } = await slowly(locked.addr, { password: 'wrong-horse' });
  const reason = await eventually('the refusal', () => String(metrics().sink_redis_0_0_last_exception) || undefined);
  assert.match(reason, /WRONGPASS/);
  assert.not.match(reason, /wrong-horse/);
  await plane.close();
  const open = await slowly(locked.addr, { password: 'correct' }, 3);
  await open.report(open.rule.run, 'ended');
  assert.is(await locked.client.dbSize(), 3);
  await open.plane.close();
  await locked.close();
});

test('rules share a connection; it stays when one of them stops', async () => {
  const own = await openRedis();
  const clients = async () =>
    String(await own.client.sendCommand(['CLIENT', 'LIST']))
      .trim()
      .split('\n').length;
  const { plane, report } = await openPlane();
  const start = async (key: string, count: number) => {
    const data = Array.from({ length: count }, (_, id) => ({ id }));
    const source = { type: 'simulator', props: { interval: 5, loop: false, data } };
    const rule = passRule(source, [{ type: 'redis', props: { addr: own.addr, key, dataType: 'list' } }]);
    await plane.start(rule);
    return rule;
  };
  const one = await start('one', 5000);
  const other = await start('other', 60);
  await eventually('rows of both', async () => (await own.client.exists(['one', 'other'])) === 2);
  assert.is(await clients(), 2);
  await plane.stop(one.run);
  await report(other.run, 'ended');
  assert.is(await own.client.lLen('other'), 60);
  await plane.close();
  await eventually('the end of the connection', async () => (await clients()) === 1);
  await own.close();
});

test('a server that hangs holds rows back, and does not hold up the end of the rule', async () => {
  const hung = await openRedis();
  const { plane } = await openPlane(undefined, { flushTimeoutMs: 200 });
  const data = [{ text: 'x'.repeat(1000) }];
  const rule = passRule({ type: 'simulator', props: { interval: 0, data } }, [
    { type: 'redis', props: { addr: hung.addr, key: 'k' } },
  ]);
  const metrics = () => plane.status(rule.run)!.metrics;
  await plane.start(rule);
  await eventually('rows', () => Number(metrics().sinkRecordsOutTotal) > 100);
  hung.pause();
  const before = process.memoryUsage().rss;
  let last = -1;
  await eventually('the pause', async () => {
    const now = Number(metrics().sinkRecordsEnqueuedTotal);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stands = now === last;
    last = now;
    return stands;
  });
  assert.ok(process.memoryUsage().rss - before < 64 << 20, 'memory is bounded');
  await plane.stop(rule.run);
  await plane.close();
  hung.resume();
  await hung.close();
});

/** A lookup table at the server. */
async function lookup(props: Props, dataSource = '0', addr = redis.addr) {
  const part = askedPart('redis');
  await part.load();
  const made = new Map<string, unknown>();
  const shared = <T>(key: string, make: () => T): T => {
    if (!made.has(key)) made.set(key, make());
    return made.get(key) as T;
  };
  const table = part.create({ addr, ...props }, { dataSource, shared } as unknown as LookupContext);
  const ask = (keys: Value[], fields: string[] | null = null): Promise<LookupAnswer> =>
    table.ask({ names: ['id'], keys: [keys], count: keys.length, fields }, new AbortController().signal);
  return { table, ask };
}

test('the keys of a batch are asked for in one command', async () => {
  await redis.client.mSet({ 1: '{"id":1,"n":9007199254740993}', b: '{"m":[1]}', bad: '[1]', text: 'x' });
  const { table, ask } = await lookup({});
  const before = await commands('mget');
  const { of, columns, failed } = await ask([1, 'b', 'none', 'bad', 'text', 1n]);
  assert.equal(of, [0, 1, 5]);
  assert.equal(columns, {
    id: [1, undefined, 1],
    n: [9007199254740993n, undefined, 9007199254740993n],
    m: [undefined, [1], undefined],
  });
  assert.equal(
    [...(failed ?? [])].map(([i]) => i),
    [3, 4],
  );
  assert.match(failed?.get(3) ?? '', /no JSON of an object/);
  assert.is(await commands('mget'), before + 1);
  assert.equal((await ask(['b'], ['m', 'q'])).columns, { m: [[1]], q: [undefined] });
  await table.close();
});

test('the rows of a list are all found; a key of another kind is an error of its own', async () => {
  await redis.client.rPush('l', ['{"a":1}', '{"a":2}']);
  await redis.client.set('s', '{"a":3}');
  const { table, ask } = await lookup({ datatype: 'list' });
  const { of, columns, failed } = await ask(['s', 'l', 'none']);
  assert.equal(of, [1, 1]);
  assert.equal(columns, { a: [1, 2] });
  assert.match(failed?.get(0) ?? '', /WRONGTYPE/);
  await table.close();
});

test('a table without its server says so, and answers when it is back', async () => {
  const port = await freePort();
  const { table, ask } = await lookup({}, '2', `127.0.0.1:${port}`);
  const refused = await ask(['a']).catch((error) => error);
  assert.match(refused.message, /ECONNREFUSED/);
  const server = await openRedis(port);
  await server.client.select(2);
  await server.client.set('a', '{"x":1}');
  assert.equal((await ask(['a'])).columns, { x: [1] });
  await server.close();
  await eventually('the loss', async () => (await ask(['a']).catch(() => undefined)) === undefined);
  const again = await openRedis(port);
  assert.equal((await ask(['a'])).of, []);
  await table.close();
  await again.close();
});

test('a table is looked up by one column', async () => {
  const { table } = await lookup({});
  const request = { names: ['a', 'b'], keys: [[1], [2]], count: 1, fields: null };
  const error = await table.ask(request, new AbortController().signal).catch((reason) => reason);
  assert.match(error.message, /looked up by one column, not by a, b/);
  await table.close();
});

test('a connection can be tried out', async () => {
  const { connection } = connectorOf('redis')!;
  await connection?.ping?.({ addr: redis.addr });
  const nobody = `127.0.0.1:${await freePort()}`;
  const error = await connection?.ping?.({ addr: nobody }).then(
    () => undefined,
    (reason) => reason,
  );
  assert.is(error?.kind, 'connection');
  assert.ok(error?.message.includes(nobody));
});

/** How often the server was given the command. */
async function commands(name: string): Promise<number> {
  const text = String(await redis.client.sendCommand(['INFO', 'commandstats']));
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
}

test.run();
