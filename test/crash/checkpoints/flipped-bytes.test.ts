/**
 * A byte that a disk has flipped, anywhere in the data folder: the server starts or says which file is damaged, and
 * what is lost stands in `GET /losses` or in the figures of its sink. `HAUMEA_FLIP_ROUNDS` sets how many bytes are
 * flipped, `HAUMEA_FLIP_SEED` which.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { Plant } from '../../support/brokers/plant.js';
import {
  announceSkip,
  eventually,
  freePort,
  startServer,
  type TestServer,
  temporaryFolder,
} from '../../support/harness.js';
import { randomFrom } from '../../support/plugins/programs.js';

const rounds = Number(process.env.HAUMEA_FLIP_ROUNDS ?? 5);
const seed = Number(process.env.HAUMEA_FLIP_SEED ?? 20);
if (!hasMosquitto) announceSkip('flipped bytes', 'mosquitto is not installed');
const flipped = hasMosquitto ? test : test.skip;

const messages = 600;
const text = 'x'.repeat(200);
const whole = temporaryFolder();
/** What a server over the whole folder answers. */
let before: Map<string, string>;

/** What definitions there are, by address. */
async function definitions(server: TestServer): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const all: [list: string, resource: string][] = [
    ['/rules', 'rule'],
    ['/streams', 'stream'],
    ['/tables', 'table'],
    ['/udf/javascript', 'script'],
    ['/plugins/wasm', 'plugin'],
    ['/connections', 'connection'],
    ['/schemas/protobuf', 'schema'],
  ];
  for (const [list, resource] of all) {
    const { json } = await server.request('GET', list);
    for (const one of json as (string | { id?: string; name?: string })[]) {
      const name = typeof one === 'string' ? one : String(one.id ?? one.name);
      const { status, text } = await server.request('GET', `${list}/${name}`);
      found.set(`${resource} ${name}`, status === 200 ? withoutTimes(text) : `${status} ${text}`);
    }
  }
  const conf = await server.request('GET', '/metadata/sources/yaml/file');
  found.set('confKey file', conf.text);
  const uploads = await server.request('GET', '/config/uploads');
  for (const path of uploads.json as string[]) found.set(`upload ${path.slice(path.lastIndexOf('/') + 1)}`, 'there');
  return found;
}

/** Without times, versions and the folder of the server. */
const withoutTimes = (text: string) =>
  text
    .replaceAll(/\/tmp\/[^/"]+/g, '')
    .replaceAll(/"text":"[^"]*",?/g, '')
    // Of scripts and modules while rules use them.
    .replaceAll(/,?"memoryBytes":\d+/g, '')
    .replace(/\d{13}/g, '0')
    .replaceAll(/"version":"?[^,}]*/g, '');

/** Everything that a data folder may have, left by a kill. */
async function fill(): Promise<void> {
  const plant = await Plant.open();
  try {
    await plant.server.stop();
    plant.server = await startServer({ data: whole });
    const { server } = plant;
    const done = async (method: string, path: string, body: unknown) => {
      const { status, text } = await server.request(method, path, body);
      assert.ok(status === 200 || status === 201, `${path}: ${text}`);
    };
    writeFileSync(
      join(whole, 'in.txt'),
      Array.from({ length: 5000 }, (_, id) => `{"id":${id},"text":"${text}"}\n`).join(''),
    );
    await done('PUT', '/metadata/sources/file/confKeys/in', { path: whole, fileType: 'lines', interval: '1h' });
    await done('POST', '/streams', {
      sql: 'CREATE STREAM f () WITH (TYPE="file", DATASOURCE="in.txt", CONF_KEY="in")',
    });
    await done('POST', '/streams', { sql: 'CREATE STREAM v () WITH (TYPE="memory", DATASOURCE="v")' });
    await done('POST', '/tables', { sql: 'CREATE TABLE t () WITH (TYPE="file", DATASOURCE="in.txt", CONF_KEY="in")' });
    await done('POST', '/udf/javascript', { id: 'twice', script: 'function twice(v) { return 2 * v; }' });
    await done('POST', '/config/uploads', { name: 'note.txt', content: 'x'.repeat(500) });
    const proto = 'syntax = "proto3"; message M { int64 id = 1; }';
    await done('POST', '/schemas/protobuf', { name: 'p', content: proto });
    await done('POST', '/connections', { id: 'c', typ: 'nng', props: { url: 'tcp://127.0.0.1:1' } });
    const bytecode = readFileSync(new URL('../../guests/texts.wasm', import.meta.url)).toString('base64');
    await done('POST', '/plugins/wasm', { name: 'texts', bytecode });
    // Enough for a database behind the journal.
    for (const name of ['a', 'b', 'c']) {
      await done('PUT', `/metadata/sinks/mqtt/confKeys/${name}`, { own: 'y'.repeat(500_000) });
    }
    const state = { qos: 1, checkpointInterval: '100ms' };
    const sql = 'SELECT collect(*) AS all FROM f GROUP BY COUNTWINDOW(100000)';
    await done('POST', '/rules', { id: 'state', sql, actions: [{ nop: {} }], options: state });
    await done('POST', '/rules', { id: 'idle', sql: 'SELECT twice(id) FROM v', actions: [{ log: {} }] });
    await plant.stream('m', 1, { clientid: 'flipped', enableClientSession: true });
    const away = { mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 'o', sendSingle: true } };
    await plant.post('/rules', { id: 'waits', sql: 'SELECT id FROM m', actions: [away] });
    // Its first checkpoint comes late: what it has is in the log of its stream.
    for (const id of ['logA', 'logB']) {
      await plant.rule(id, 'm', { nop: {} }, { qos: 1, checkpointInterval: '1h' });
    }
    for (let from = 0; from < messages; from += 200) {
      await plant.send('m', from, from + 200);
    }
    await plant.figure('waits', 'sink_mqtt_0_0_cache_disk_length', (value) => value === messages);
    await eventually('a checkpoint', async () => (await plant.status('state')).checkpointsTotal > 0);
    await server.stop('SIGKILL');
    // A journal that has become a database, and changes behind it.
    plant.server = await startServer({ data: whole });
    await plant.figure('logB', 'source_m_0_records_in_total', (value) => value === messages);
    before = await definitions(plant.server);
    await plant.server.stop('SIGKILL');
  } finally {
    await plant.close();
  }
}

function filesIn(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return filesIn(folder, path);
    return entry.isFile() && statSync(join(folder, path)).size > 0 ? [path] : [];
  });
}

/** Logs, uploads, which have no checksums, and files that belong to nobody but the test. */
const isOurs = (path: string) => !/^(log\/|uploads\/|in\.txt|.*\.lock)/.test(path);

/** A server over a damaged folder: what is missing is told. */
async function look(data: string, what: string): Promise<void> {
  let server: TestServer;
  try {
    server = await startServer({ data, args: ['--log', temporaryFolder()] });
  } catch (error) {
    const file = what.split(':')[0] as string;
    assert.ok(String(error).includes(file.split('/').at(-1) as string), `${what}: it does not start: ${error}`);
    return;
  }
  try {
    if (/^(plugins|schemas)\//.test(what)) {
      const [resource, name] = what.startsWith('plugins') ? ['plugin', 'wasm/texts'] : ['schema', 'protobuf/p'];
      await eventually(`${what}: the loss of ${name}`, async () => {
        const { json } = await server.request('GET', '/losses');
        const loss = json.find((one: { what: string }) => one.what === 'files');
        return loss?.resource === resource && loss?.name === name && loss.text.includes('is damaged, install it again');
      });
      return;
    }
    const losses = (await server.request('GET', '/losses')).json as { resource: string; name: string; text: string }[];
    const isTold = (resource: string, name: string) =>
      losses.some((one) => one.resource === '' || (one.resource === resource && one.name.split('/').at(-1) === name));
    const now = await definitions(server);
    for (const [key, text] of before) {
      const [resource, ...rest] = key.split(' ');
      const name = rest.join(' ');
      if (now.get(key) === text || (resource === 'confKey' && losses.some((one) => one.resource === 'confKey')))
        continue;
      if (resource === 'rule' && now.has(key) && losses.length > 0) continue;
      assert.ok(isTold(resource as string, name), `${what}: ${key} is ${now.get(key)}, ${JSON.stringify(losses)}`);
    }
    const isRunning = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
    if (now.has('rule state') && now.has('stream f') && !isTold('rule', 'state')) {
      const { stateAtStart } = await eventually('the state', async () => {
        const one = await isRunning('state');
        return (one.stateAtStart ?? '') === '' ? undefined : one;
      });
      assert.match(stateAtStart, /^goes on with its state of /, what);
    }
    for (const id of ['logA', 'logB']) {
      if (!now.has(`rule ${id}`) || !now.has('stream m') || isTold('rule', id) || isTold('stream', 'm')) continue;
      await eventually(`${what}: all messages of ${id}, or the loss of some`, async () => {
        const one = await isRunning(id);
        if (one.source_m_0_records_in_total === messages) return true;
        const { json } = await server.request('GET', '/losses');
        const isLost = json.some((each: { resource: string; name: string; what: string }) => {
          return each.resource === 'stream' && each.name === 'm' && each.what === 'messages';
        });
        // Where it shows how many they were each rule counts them.
        return isLost && one.source_m_0_last_exception !== '';
      });
    }
    if (now.has('rule waits') && now.has('stream m')) {
      await eventually(`${what}: what waits for the sink, or the loss of some`, async () => {
        const one = await isRunning('waits');
        return one.losses !== undefined || one.sink_mqtt_0_0_cache_length >= messages;
      });
    }
  } finally {
    await server.stop('SIGKILL');
  }
}

flipped('a folder with all there may be is written', fill);

flipped('wherever a byte is flipped, what is lost is told', async () => {
  const random = randomFrom(seed);
  const paths = filesIn(whole).filter(isOurs);
  // Kinds of files take turns, so that the many of one do not hide the others.
  const kinds = new Map<string, string[]>();
  for (const path of paths) {
    const kind = path.replaceAll(/[0-9a-f]{6,}|\d+/g, '#');
    kinds.set(kind, [...(kinds.get(kind) ?? []), path]);
  }
  const all = [...kinds.values()];
  if (process.env.HAUMEA_FLIP_ROUNDS !== undefined) console.log([...kinds.keys()].join('\n'));
  const from = random(all.length);
  for (let round = 0; round < rounds; round++) {
    const list = all[(from + round) % all.length] as string[];
    const path = list[random(list.length)] as string;
    const data = temporaryFolder();
    cpSync(whole, data, { recursive: true });
    const bytes = readFileSync(join(data, path));
    const at = random(bytes.length);
    bytes[at]! ^= 1 << random(8);
    writeFileSync(join(data, path), bytes);
    const what = `${path}: byte ${at} of ${bytes.length}, seed ${seed}, round ${round}`;
    if (process.env.HAUMEA_FLIP_ALL === undefined) await look(data, what);
    else
      await look(data, what).catch((error) => console.log(`FOUND ${what}\n   ${String(error.message).slice(0, 600)}`));
    if (existsSync(data)) rmSync(data, { recursive: true, force: true });
  }
});

test.run();
