/** The connector nats at a real server. */
import { AckPolicy } from '@nats-io/jetstream';
import { nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { fromRows, toFile } from '../../../support/connectors/flows.js';
import { eventually, eventuallyAll, within } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, streamsOf, type TestNats } from '../../../support/servers/nats.js';

if (!needsNats('the connector nats')) process.exit(0);

let nats: TestNats;
test.before(async () => {
  nats = await openNats();
});
test.after(() => nats.close());

sourceContract(
  test,
  () => ({
    type: 'nats',
    dataSource: 'contract',
    props: { server: nats.url },
    refused: [
      [{ server: 'http://x' }, /server must begin with nats:\/\/ or tls:\/\//],
      [{ server: 'nats://me:pw@x' }, /server must not hold a login/],
      [{ server: 'nats://:pw@x' }, /server must not hold a login/],
      [{ username: 'a', token: 'b' }, /username and token are two ways to log in/],
      [{ durable: 'd' }, /durable needs stream or bucket/],
      [{ stream: 'a.b' }, /stream must not have spaces, dots/],
      [{ stream: 's', deliverPolicy: 'startTime' }, /deliverPolicy startTime needs startTime/],
    ],
  }),
  'nats',
);

sinkContract(
  test,
  () => ({
    type: 'nats',
    props: { server: nats.url, subject: 'contract' },
    refused: [
      [{}, /subject is required/],
      [{ subject: 'a.>' }, /subject must not have wildcards/],
      [{ subject: 'a..b' }, /subject must not have an empty part/],
    ],
  }),
  'nats',
);

const texts = (count: number, from = 0) => Array.from({ length: count }, (_, i) => JSON.stringify({ id: from + i }));

test('messages of subjects come in order, also after the server was away', async () => {
  const own = await openNats();
  const flow = await toFile({ type: 'nats', dataSource: 'one, many.>', props: { server: own.url } });
  await eventually('the connection', flow.isUp);
  const sent = texts(500);
  sent.forEach((text, i) => void own.client.publish(i % 2 ? 'one' : 'many.a.b', text));
  await flow.has(500);
  assert.equal(flow.lines(), sent);
  await own.close();
  await eventually('the loss', () => !flow.isUp());
  const again = await openNats({ port: own.port });
  await eventually('the connection', flow.isUp);
  again.client.publish('many.b', '{"id":"late"}');
  await flow.has(501);
  await flow.close();
  await again.close();
});

test('a server that is absent at the start is found later', async () => {
  const first = await openNats();
  await first.close();
  const flow = await toFile({ type: 'nats', dataSource: 'x', props: { server: first.url } });
  await eventually('the reason', () => /refused/i.test(flow.trouble()));
  const again = await openNats({ port: first.port });
  await eventually('the connection', flow.isUp);
  again.client.publish('x', '{"id":1}');
  await flow.has(1);
  await flow.close();
  await again.close();
});

test('members of a queue group share the messages', async () => {
  const props = { server: nats.url, queue: 'workers' };
  const flows = [
    await toFile({ type: 'nats', dataSource: 'work', props }),
    await toFile({ type: 'nats', dataSource: 'work', props }),
  ];
  await eventually('the connections', () => flows.every(({ isUp }) => isUp()));
  for (const text of texts(400)) nats.client.publish('work', text);
  await eventually('all messages', () => flows.flatMap(({ lines }) => lines()).length === 400);
  assert.ok(flows.every(({ lines }) => lines().length > 0));
  for (const flow of flows) await flow.close();
});

test('logins by password, token and nkey are taken, and wrong ones are refused and not shown', async () => {
  const user = nkeys.createUser();
  const seed = Buffer.from(user.getSeed()).toString();
  const cases = [
    ['authorization { user: me, password: right }', { username: 'me', password: 'right' }, { password: 'wrong-one' }],
    ['authorization { token: right }', { token: 'right' }, { token: 'wrong-one' }],
    [
      `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`,
      { nkeySeed: seed },
      { nkeySeed: Buffer.from(nkeys.createUser().getSeed()).toString() },
    ],
  ] as const;
  for (const [conf, right, wrong] of cases) {
    const login =
      'username' in right
        ? { user: 'me', pass: 'right' }
        : 'token' in right
          ? right
          : { authenticator: nkeyAuthenticator(Buffer.from(seed)) };
    const own = await openNats({ conf, login });
    const { connection } = connectorOf('nats')!;
    await connection!.ping!({ server: own.url, ...right });
    const flow = await toFile({ type: 'nats', dataSource: 'x', props: { server: own.url, ...right, ...wrong } });
    await eventually('the refusal', () => /authorization/i.test(flow.trouble()));
    const secret = Object.values(wrong)[0] as string;
    assert.not.ok(flow.trouble().includes(secret));
    await flow.close();
    await own.close();
  }
});

test('a seed that is none ends the rule with the reason', async () => {
  const flow = await toFile({ type: 'nats', dataSource: 'x', props: { server: nats.url, nkeySeed: 'nonsense' } });
  const reason = await flow.failed();
  assert.match(reason, /^nats: /);
  assert.not.match(reason, /nonsense/);
  await flow.close();
});

test('messages are published with their headers; one that is too long is counted as failed', async () => {
  const got: { text: string; head: string | undefined; subject: string }[] = [];
  nats.client.subscribe('out.>', {
    callback: (_error, message) => {
      got.push({ text: message.string(), head: message.headers?.get('kind'), subject: message.subject });
    },
  });
  await nats.client.flush();
  const rows = Array.from({ length: 300 }, (_, id) => ({ id }));
  const flow = await fromRows(rows, 'nats', { server: nats.url, subject: 'out.a', headers: { kind: 'x' } });
  await flow.ended();
  await eventually('all messages', () => got.length === 300);
  assert.equal(
    got.map(({ text }) => text),
    rows.map((row) => JSON.stringify(row)),
  );
  assert.ok(got.every(({ head, subject }) => head === 'x' && subject === 'out.a'));
  await flow.close();
  const small = await openNats({ conf: 'max_payload: 1048576' });
  const data = [{ text: 'x'.repeat(2 << 20) }, { id: 1 }];
  const long = await fromRows(data, 'nats', { server: small.url, subject: 'out.a' });
  const { metrics } = await long.ended();
  assert.is(metrics.sinkRecordsFailedTotal, 1);
  assert.is(metrics.sinkRecordsOutTotal, 1);
  await long.close();
  await small.close();
});

test('subjects and headers of rows that would be more than that are refused, and the others go out', async () => {
  const got: string[] = [];
  nats.client.subscribe('safe.>', { callback: (_error, message) => void got.push(message.subject) });
  await nats.client.flush();
  const rows = [
    { s: 'a', h: 'line\r\nKind: other' },
    { s: 'b 0\r\n\r\nPUB safe.injected 0\r\n', h: 'x' },
    { s: '>', h: 'x' },
    { s: 'good', h: 'x' },
  ];
  const props = { server: nats.url, subject: 'safe.{{.s}}', headers: { kind: '{{.h}}' }, sendSingle: true };
  const flow = await fromRows(rows, 'nats', props);
  const { metrics } = await flow.ended();
  assert.is(metrics.sinkRecordsFailedTotal, 3);
  assert.is(metrics.sinkRecordsOutTotal, 1);
  await eventually('the good one', () => got.length > 0);
  assert.equal(got, ['safe.good']);
  await flow.close();
});

test('messages of 16 MB and empty ones go through', async () => {
  const flow = await toFile({ type: 'nats', dataSource: 'size', props: { server: nats.url } });
  await eventually('the connection', flow.isUp);
  const text = JSON.stringify({ text: 'x'.repeat(16 * 1024 * 1024 - 20) });
  nats.client.publish('size', text);
  await flow.has(1);
  assert.is(flow.lines()[0]!.length, text.length);
  nats.client.publish('size', '');
  nats.client.publish('size', '{"id":2}');
  await flow.has(2);
  await flow.close();
});

test('a rule ends within its time while the server hangs', async () => {
  const own = await openNats();
  const manager = await managerOf(own.client);
  await manager.streams.add({ name: 'S', subjects: ['s.>'] });
  const flows = [
    await toFile({ type: 'nats', dataSource: 'x', props: { server: own.url } }),
    await toFile({ type: 'nats', dataSource: '', props: { server: own.url, stream: 'S' } }),
    await toFile({ type: 'nats', dataSource: '', props: { server: own.url, stream: 'S', durable: 'd' } }),
  ];
  await eventually('the connections', () => flows.every(({ isUp }) => isUp()));
  own.pause();
  for (const flow of flows) await within(5000, 'the end of the rule', flow.close());
  own.resume();
  await own.close();
});

test('a sink goes on after its server was killed, and a stream has each message once', async () => {
  const own = await openNats();
  const manager = await managerOf(own.client);
  await manager.streams.add({ name: 'S', subjects: ['s.>'] });
  const rows = Array.from({ length: 6000 }, (_, id) => ({ id }));
  const flow = await fromRows(rows, 'nats', { server: own.url, subject: 's.a', jetStream: true });
  await eventually('some messages', async () => (await manager.streams.info('S')).state.messages > 500);
  await own.close();
  const again = await openNats({ port: own.port, store: own.store });
  // Each is synced to the disk, however long that takes; a rule that has ended has no figures.
  const sent = () => Number((flow.metrics() ?? { sinkRecordsOutTotal: rows.length }).sinkRecordsOutTotal);
  await eventuallyAll('messages', sent, rows.length);
  const { metrics } = await flow.ended();
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  const { state } = await (await managerOf(again.client)).streams.info('S');
  assert.is(state.messages, 6000);
  await flow.close();
  await again.close();
});

test('a stream is read from its begin, and goes on where it was when the server was killed', async () => {
  const own = await openNats();
  const manager = await managerOf(own.client);
  await manager.streams.add({ name: 'S', subjects: ['s.>'] });
  const client = streamsOf(own.client);
  const sent = texts(3000);
  for (const text of sent) await client.publish('s.a', text);
  const flow = await toFile({ type: 'nats', dataSource: 's.a', props: { server: own.url, stream: 'S' } });
  await flow.has(3000);
  await own.close();
  const again = await openNats({ port: own.port, store: own.store });
  for (const text of texts(100, 3000)) await streamsOf(again.client).publish('s.a', text);
  await flow.has(3100);
  assert.equal(flow.lines(), texts(3100));
  await flow.close();
  await again.close();
});

test('a durable consumer keeps what is not acknowledged; no message is lost over kills of the server', async () => {
  const own = await openNats();
  const manager = await managerOf(own.client);
  await manager.streams.add({ name: 'S', subjects: ['s.>'] });
  const client = streamsOf(own.client);
  const props = { server: own.url, stream: 'S', durable: 'd' };
  const flow = await toFile({ type: 'nats', dataSource: '', props });
  for (const text of texts(2000)) await client.publish('s.a', text);
  await flow.has(2000);
  const isAllAcknowledged = async () => (await manager.consumers.info('S', 'd')).num_ack_pending === 0;
  await eventually('all acknowledgements', isAllAcknowledged);
  await own.close();
  const again = await openNats({ port: own.port, store: own.store });
  for (const text of texts(500, 2000)) await streamsOf(again.client).publish('s.a', text);
  await eventually('the rest', () => new Set(flow.lines()).size === 2500);
  await flow.close();
  // Another rule goes on behind it.
  const next = await toFile({ type: 'nats', dataSource: '', props });
  await streamsOf(again.client).publish('s.a', '{"id":"last"}');
  await eventually('the last', () => next.lines().includes('{"id":"last"}'));
  assert.ok(next.lines().length < 100, `${next.lines().length} messages came again`);
  await next.close();
  await again.close();
});

test('a consumer that acknowledges in another way is refused by its name', async () => {
  const manager = await managerOf(nats.client);
  await manager.streams.add({ name: 'Q', subjects: ['q'] });
  await manager.consumers.add('Q', { durable_name: 'other', ack_policy: AckPolicy.None });
  const props = { server: nats.url, stream: 'Q', durable: 'other' };
  const flow = await toFile({ type: 'nats', dataSource: '', props });
  assert.match(await flow.failed(), /consumer other has the acknowledgement policy none/);
  await flow.close();
});

test.run();
