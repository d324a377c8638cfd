/** The connector kafka at a real broker. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from '../../../../host/base/fields/field.js';
import { connectorOf } from '../../../../host/connectors/index.js';
import { KafkaSource, type KafkaSourceConf } from '../../../../host/connectors/kafka/source.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { openSource } from '../../../support/connectors/source.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';
import { messagesOf } from '../../../support/servers/kafka/frames.js';
import { makeTopic, produce, readTopic } from '../../../support/servers/kafka/messages.js';
import { type KafkaBroker, kafkaUser, needsKafka, openKafka, sharedKafka } from '../../../support/servers/kafka.js';

if (!needsKafka('the connector kafka')) process.exit(0);

let kafka: KafkaBroker;
test.before(async () => {
  kafka = await sharedKafka();
});
test.after(() => kafka.close());

const login = { saslAuthType: 'scram', saslUserName: 'a', password: 'b' };

sourceContract(
  test,
  () => ({
    type: 'kafka',
    dataSource: 'contract',
    props: { brokers: kafka.brokers },
    refused: [
      [{}, /brokers is required/],
      [{ brokers: ' , ' }, /brokers is required/],
      [{ brokers: 'a b:9092' }, /brokers must be addresses such as/],
      [{ brokers: 'b:1', saslAuthType: 'plain' }, /saslAuthType plain needs saslUserName and password/],
      [{ brokers: 'b:1', saslAuthType: 'mine' }, /saslAuthType must be one of none, plain, scram/],
      [{ brokers: 'b:1', groupID: 'g', partition: 1 }, /either partition or groupID may be specified, but not both/],
      [{ brokers: 'b:1', maxBytes: 0 }, /maxBytes must be at least 1/],
    ],
  }),
  'kafka',
);

sinkContract(
  test,
  () => ({
    type: 'kafka',
    props: { brokers: kafka.brokers, topic: 'contract-out' },
    refused: [
      [{ brokers: 'b:1' }, /topic is required/],
      [{ topic: 't' }, /brokers is required/],
      [{ brokers: 'b:1', topic: 'a b' }, /topic must be the name of a topic/],
      [{ brokers: 'b:1', topic: 't', requiredACKs: 2 }, /requiredACKs must be 1, 0 or -1/],
      [{ brokers: 'b:1', topic: 't', compression: 'zlib' }, /compression must be one of/],
      [{ brokers: 'b:1', topic: 't', headers: 1 }, /headers must be/],
      [{ brokers: 'b:1', topic: 't', ...login, password: '' }, /saslAuthType scram needs saslUserName and password/],
    ],
  }),
  'kafka',
);

const conf = (change: Partial<KafkaSourceConf> = {}) => {
  const source = connectorOf('kafka')!.source!;
  return parse(source.props, { brokers: kafka.brokers, ...change }) as unknown as KafkaSourceConf;
};

const opened = (dataSource: string, change: Partial<KafkaSourceConf>, from?: unknown) =>
  openSource((context) => new KafkaSource(conf(change), Object.assign(context, { dataSource })), { from });

/** Topics of their own for each test. */
let lastTopic = 0;
const newTopic = () => `topic-${++lastTopic}`;

test('a message comes with its key, headers, topic, partition, offset and time', async () => {
  const topic = newTopic();
  await makeTopic(kafka.brokers, topic);
  const headers = { trace: 'ä"1', empty: '' };
  const timestamp = 1_700_000_000_123n;
  await produce(kafka.brokers, [
    { topic, key: 'k\n1', value: '{"id":1}', headers, timestamp },
    { topic, value: '{"id":2}', timestamp: timestamp + 5n },
  ]);
  const { source, written } = await opened(topic, {}, { offsets: { [topic]: { 0: 0 } } });
  const got = await eventually('both', () => (messagesOf(written).length === 2 ? messagesOf(written) : undefined));
  assert.equal(got, [
    {
      text: '{"id":1}',
      meta: { topic, partition: 0, offset: 0, timestamp: Number(timestamp), key: 'k\n1', headers },
    },
    { text: '{"id":2}', meta: { topic, partition: 0, offset: 1, timestamp: Number(timestamp) + 5 } },
  ]);
  assert.equal(source.position(), { offsets: { [topic]: { 0: 2 } } });
  await source.close();
});

test('without a group and a position the new messages come, of the partition that is named', async () => {
  const [one, two] = [newTopic(), newTopic()];
  for (const topic of [one, two]) await makeTopic(kafka.brokers, topic, 2);
  await produce(kafka.brokers, [{ topic: one, partition: 1, value: 'old' }]);
  const { source, written } = await opened(`${one}, ${two}`, { partition: 1 });
  await produce(kafka.brokers, [
    { topic: one, partition: 0, value: 'other' },
    { topic: one, partition: 1, value: 'a' },
    { topic: two, partition: 1, value: 'b' },
  ]);
  await eventually('both', () => messagesOf(written).length >= 2);
  const texts = messagesOf(written).map(({ text }) => text);
  assert.equal(texts.sort(), ['a', 'b']);
  assert.equal(source.position(), { offsets: { [one]: { 1: 2 }, [two]: { 1: 1 } } });
  await source.close();
});

for (const codec of ['gzip', 'snappy', 'lz4', 'zstd', 'uncompressed']) {
  test(`what a broker has compressed by ${codec} is read from the middle on`, async () => {
    const topic = newTopic();
    await makeTopic(kafka.brokers, topic, 1, { 'compression.type': codec });
    const values = Array.from({ length: 3000 }, (_, id) => JSON.stringify({ id, text: 'x'.repeat(id % 50) }));
    await produce(
      kafka.brokers,
      values.map((value) => ({ topic, value })),
    );
    const { source, written } = await opened(topic, {}, { offsets: { [topic]: { 0: 700 } } });
    await eventually('all', () => messagesOf(written).length >= values.length - 700);
    const texts = messagesOf(written).map(({ text }) => text);
    assert.equal(texts, values.slice(700));
    await source.close();
  });

  const compression = codec === 'uncompressed' ? '' : codec;
  test(`a sink writes batches that a broker reads, compressed by ${codec}`, async () => {
    const topic = newTopic();
    // The broker unpacks what it is to pack otherwise.
    await makeTopic(kafka.brokers, topic, 1, { 'compression.type': codec === 'gzip' ? 'lz4' : 'gzip' });
    const { plane, report } = await openPlane();
    const data = Array.from({ length: 5000 }, (_, id) => ({ id, text: 'y'.repeat(id % 60) }));
    const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [
      { type: 'kafka', props: { brokers: kafka.brokers, topic, compression } },
    ]);
    await plane.start(rule);
    const { metrics } = await report(rule.run, 'ended');
    assert.is(metrics.sinkRecordsOutTotal, data.length);
    const got = await readTopic(kafka.brokers, topic, ({ length }) => length >= data.length);
    assert.equal(
      got.map(({ value }) => value),
      data.map((row) => JSON.stringify(row)),
    );
    await plane.close();
  });
}

test('a message that is too large is refused by name, the others pass', async () => {
  const topic = newTopic();
  await makeTopic(kafka.brokers, topic, 1, { 'max.message.bytes': '20000' });
  const { plane, report } = await openPlane();
  const data = Array.from({ length: 300 }, (_, id) => ({
    id,
    text: 'z'.repeat(id === 7 ? 2_000_000 : id === 80 ? 30_000 : 10),
  }));
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [
    { type: 'kafka', props: { brokers: kafka.brokers, topic } },
  ]);
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  assert.is(metrics.sinkRecordsFailedTotal, 2);
  assert.is(metrics.sinkRecordsOutTotal, 298);
  const got = await readTopic(kafka.brokers, topic, ({ length }) => length >= 298);
  assert.equal(
    got.map(({ value }) => JSON.parse(value).id),
    data.map(({ id }) => id).filter((id) => id !== 7 && id !== 80),
  );
  await plane.close();
});

test('a lost broker is found again, and nothing is lost on either side', async () => {
  const own = await openKafka();
  await makeTopic(own.brokers, 'away', 3);
  const { plane, report } = await openPlane();
  const path = join(temporaryFolder(), 'out.txt');
  const reading = passRule({ type: 'kafka', dataSource: 'away', props: { brokers: own.brokers, groupID: 'g' } }, [
    { type: 'file', props: { path } },
  ]);
  await plane.start(reading);
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
  const data = Array.from({ length: 2000 }, (_, id) => ({ id }));
  const writing = passRule({ type: 'simulator', props: { interval: 1, loop: false, data } }, [
    { type: 'kafka', props: { brokers: own.brokers, topic: 'away', requiredACKs: -1 } },
  ]);
  await plane.start(writing);
  await eventually('some', () => lines().length > 200);
  await own.kill();
  await eventually('the loss', () => plane.status(reading.run)!.metrics.source_demo_0_connection_status !== 1);
  await own.start();
  await report(writing.run, 'ended');
  const ids = () => new Set(lines().map((line) => JSON.parse(line).id as number));
  await eventually('all', () => ids().size === data.length);
  await plane.stop(reading.run);
  await plane.close();
  await own.close();
});

test('login: the right password is taken, a wrong one named and never shown', async () => {
  const { ping } = connectorOf('kafka')!.connection!;
  for (const saslAuthType of ['plain', 'scram']) {
    const props = { brokers: kafka.saslBrokers, saslAuthType, ...kafkaUser };
    await ping!(props);
    const wrong = await ping!({ ...props, password: 'looking-glass' }).then(
      () => '',
      (error: Error) => error.message,
    );
    assert.match(wrong, /SASL authentication failed/);
    assert.not.match(wrong, /looking-glass/);
  }
  const tls = await ping!({ brokers: kafka.brokers, insecureSkipVerify: true }).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(tls, /TLS/);
});

test('TLS: who does not trust the certificate is refused, who does reads and writes', async () => {
  const folder = temporaryFolder();
  const [key, cert, pem] = ['key', 'cert', 'pem'].map((name) => join(folder, name)) as [string, string, string];
  const kind = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'];
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  writeFileSync(pem, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'));
  const own = await openKafka({}, pem);
  const { ping } = connectorOf('kafka')!.connection!;
  const reasonOf = (props: object) =>
    ping!({ brokers: own.tlsBrokers, ...props }).then(
      () => '',
      (error: Error) => error.message,
    );
  assert.is(await reasonOf({ insecureSkipVerify: true }), '');
  assert.is(await reasonOf({ rootCaPath: cert }), '');
  assert.is(await reasonOf({ rootCARaw: readFileSync(cert).toString('base64') }), '');
  assert.match(await reasonOf({ certificationPath: cert, privateKeyPath: key }), /self-signed certificate/);
  const props = { brokers: own.tlsBrokers, rootCaPath: cert };
  const { plane, report } = await openPlane();
  const data = Array.from({ length: 100 }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [
    { type: 'kafka', props: { ...props, topic: 'secured' } },
  ]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  const change = { ...props, groupID: 'secured' };
  const { source, written } = await opened('secured', change, undefined);
  await eventually('all', () => messagesOf(written).length === data.length);
  await source.close();
  await plane.close();
  await own.close();
});

test.run();
