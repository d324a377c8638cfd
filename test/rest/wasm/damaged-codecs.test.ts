/**
 * Codecs that do harm in a whole server, uploaded again and again in the place of those of running streams and sinks,
 * with messages that are none: rules beside them lose no row. `HAUMEA_SERVER_FUZZ_ROUNDS` sets how many are tried.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { eventually, startServer } from '../../support/harness.js';
import { garbage, wildCodec } from '../../support/plugins/codec-guests.js';
import { damage } from '../../support/plugins/damage.js';
import { randomFrom } from '../../support/plugins/programs.js';

const rounds = Number(process.env.HAUMEA_SERVER_FUZZ_ROUNDS ?? 18);
const limits = { callFuel: 200_000, batchFuel: 1_000_000 };
const server = await startServer();
const broker = await openBroker();
const client = await connectClient(broker.url);
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
});

const guest = (name: string, decode: string, encode: string) =>
  withManifest(
    new Uint8Array(readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url))),
    JSON.stringify({ abi: 1, codecs: [{ name: 'c', decode, encode }] }),
  );
const turn = guest('codecs', 'turn', 'turn');
const bases = [guest('codecs', 'sick', 'sick_write'), guest('strings', 'read_pairs', 'write_pairs'), turn];

async function send(method: string, path: string, body: object, ...statuses: number[]): Promise<number> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(statuses.includes(status), `${method} ${path}: ${status} ${text}`);
  return status;
}

const bodyOf = (name: string, bytes: Uint8Array) => ({
  name,
  bytecode: Buffer.from(bytes).toString('base64'),
  limits,
  isolate: false,
});
const statusOf = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
const turned = (text: string) => Buffer.from(Buffer.from(text).map((byte) => byte ^ 0x80));
const folder = join(server.data, 'rows');

/** A rule over messages of MQTT that come through a codec and go out through one. */
async function rule(id: string, format: string, fields: string, codec: string, sink: object): Promise<void> {
  const schema = format === 'custom' ? `, SCHEMAID="${codec}"` : '';
  const source = `TYPE="mqtt", DATASOURCE="${id}", CONF_KEY="here", FORMAT="${format}"${schema}`;
  await send('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${source})` }, 201);
  const action = {
    file: { path: join(folder, `${id}.out`), fileType: 'lines', sendSingle: true, interval: 50, ...sink },
  };
  const options = { sendError: true, restartStrategy: { attempts: 0 } };
  await send('POST', '/rules', { id, sql: `SELECT ${fields} FROM ${id}`, actions: [action], options }, 201);
  await connected(id);
}

const connected = (id: string) =>
  eventually('the subscription', async () => (await statusOf(id))[`source_${id}_0_connection_status`] === 1);

/** Messages that the rule has taken, as rows or as errors; without end when it was ended. */
async function taken(id: string): Promise<number> {
  const { status, ...figures } = await statusOf(id);
  if (/^stopped/i.test(status)) return Number.POSITIVE_INFINITY;
  const counts = Object.entries(figures).filter(([name]) => /_(records_in|exceptions)_total$/.test(name));
  return counts.reduce((sum, [, count]) => sum + (count as number), 0);
}

const well = (id: string) => {
  const path = join(folder, `${id}.out`);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
};

test('whatever codecs are uploaded and messages come, rules beside them lose no row', async () => {
  mkdirSync(folder, { recursive: true });
  await send('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url, qos: 1 }, 200);
  await send('POST', '/plugins/wasm', bodyOf('good', turn), 201);
  await send('POST', '/plugins/wasm', bodyOf('wild', turn), 201);
  const custom = (schemaId: string) => ({ format: 'custom', schemaId });
  await rule('coded', 'custom', 'n', 'good', {});
  await rule('plain', 'json', 'n', '', {});
  await rule('reader', 'custom', '*', 'wild', {});
  await rule('writer', 'json', '*', '', custom('wild'));
  const started = await Promise.all(['coded', 'plain'].map(async (id) => (await statusOf(id)).lastStartTimestamp));
  const random = randomFrom(250_013);
  const answers = new Map<number, number>();
  let n = 0;
  for (let round = 0; round < rounds; round++) {
    const isDamaged = round % 3 === 0;
    const bytes = isDamaged ? damage(bases[(round / 3) % bases.length] as Uint8Array, random) : wildCodec(random);
    const status = await send('PUT', '/plugins/wasm/wild', bodyOf('wild', bytes), 200, ...(isDamaged ? [400] : []));
    answers.set(status, (answers.get(status) ?? 0) + 1);
    for (const id of ['reader', 'writer']) {
      if (!/^stopped/i.test((await statusOf(id)).status)) continue;
      // It was ended for its codec: the next one finds it running.
      const { text } = await server.request('POST', `/rules/${id}/start`);
      if (/started/.test(text)) await connected(id);
    }
    const before = await taken('writer');
    for (let i = 0; i < 20; i++) {
      await client.publishAsync('coded', turned(`{"n":${n}}`), { qos: 1 });
      await client.publishAsync('plain', `{"n":${n++}}`, { qos: 1 });
      await client.publishAsync('reader', Buffer.from(garbage(random)), { qos: 1 });
      await client.publishAsync('writer', `{"do":"${'onfwhxtre'[i % 9]}","i":${i}}`, { qos: 1 });
    }
    await eventually(`messages of round ${round}`, async () => {
      const now = await taken('writer');
      return before === Number.POSITIVE_INFINITY || now > before;
    });
  }
  const expected = Array.from({ length: n }, (_, i) => `{"n":${i}}`);
  for (const [i, id] of ['coded', 'plain'].entries()) {
    await eventually(`all rows of ${id}`, () => well(id).length >= n);
    assert.equal(well(id), expected, id);
    const { status, lastStartTimestamp } = await statusOf(id);
    assert.equal([status, lastStartTimestamp], ['Running', started[i]], `${id} runs since the beginning`);
  }
  assert.ok((answers.get(200) ?? 0) > rounds / 2, JSON.stringify([...answers]));
  assert.is(server.child.exitCode, null);
  // The rules that suffered work again when their codec does.
  await send('PUT', '/plugins/wasm/wild', bodyOf('wild', turn), 200);
  for (const id of ['reader', 'writer']) {
    if (/^stopped/i.test((await statusOf(id)).status)) await send('POST', `/rules/${id}/start`, {}, 200);
    await connected(id);
  }
  await eventually('a row of the reader', async () => {
    await client.publishAsync('reader', turned('{"last":true}'), { qos: 1 });
    return well('reader').includes('{"last":true}');
  });
  await eventually('a message of the writer', async () => {
    await client.publishAsync('writer', '{"last":true}', { qos: 1 });
    return readFileSync(join(folder, 'writer.out')).includes(turned('{"last":true}'));
  });
});

test.run();
