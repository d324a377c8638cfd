/**
 * kill -9 of the server while files of every type are read and files of every form are written: with qos 2 each row is
 * there once, in order. `HAUMEA_CHECKPOINT_ROUNDS` says how often each server is killed.
 */
import { createDecipheriv } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { unzstd } from '../../../host/connectors/file/reading/zstd-stream.js';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CHECKPOINT_ROUNDS ?? 2);
const count = 800;
const ids = Array.from({ length: count }, (_, id) => id);
const key = Buffer.alloc(16, 3);
const env = { KUIPER__BASIC__AESKEY: key.toString('base64') };

interface Job {
  readonly name: string;
  /** Writes the input, a part into each file. */
  write(path: string, part: readonly number[]): void;
  readonly source: object;
  readonly sink: object;
  /** Ids that are in the output. */
  read(path: string): Promise<number[]> | number[];
}

const lines = (part: readonly number[]) => part.map((id) => `{"id":${id}}\n`).join('');
const idsOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number((JSON.parse(line) as { id: unknown }).id));

function decrypted(bytes: Buffer): Buffer {
  return createDecipheriv('aes-128-cfb', key, bytes.subarray(0, 16)).update(bytes.subarray(16));
}

const jobs: readonly Job[] = [
  {
    name: 'csv to a JSON array',
    write: (path, part) => writeFileSync(path, `id\n${part.join('\n')}\n`),
    source: { fileType: 'csv', hasHeader: true },
    sink: { fileType: 'json' },
    read: (path) => (JSON.parse(readFileSync(path, 'utf8')) as { id: string }[]).map(({ id }) => Number(id)),
  },
  {
    name: 'gzip to encrypted gzip',
    write: (path, part) => writeFileSync(path, gzipSync(`head\n${lines(part)}foot\n`)),
    source: { fileType: 'lines', decompression: 'gzip', ignoreStartLines: 1, ignoreEndLines: 1 },
    sink: { compression: 'gzip', encryption: 'aes' },
    read: (path) => idsOf(gunzipSync(decrypted(readFileSync(path))).toString()),
  },
  {
    name: 'Parquet to zstd',
    write: (path, part) => {
      const columnData = [{ name: 'id', data: Int32Array.from(part) }];
      writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 70 })));
    },
    source: { fileType: 'parquet' },
    sink: { compression: 'zstd' },
    read: async (path) => {
      let text = '';
      for await (const part of unzstd(createReadStream(path))) text += part.toString();
      return idsOf(text);
    },
  },
];

async function made(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

for (const { name, write, source, sink, read } of jobs) {
  test(`${name}: each row once, in order, however often the server is killed`, async () => {
    const data = temporaryFolder();
    const folder = join(data, 'in');
    mkdirSync(folder);
    const half = count / 2;
    for (const [i, part] of [ids.slice(0, half), ids.slice(half)].entries()) {
      write(join(folder, `${i}`), part);
      utimesSync(join(folder, `${i}`), 1000 + i, 1000 + i);
    }
    const out = join(data, 'out');
    let server = await startServer({ data, env });
    const conf = { path: folder, sendInterval: '1ms', ...source };
    assert.is((await server.request('PUT', '/metadata/sources/file/confKeys/in', conf)).status, 200);
    await made(server, '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="", CONF_KEY="in")' });
    const options = { qos: 2, checkpointInterval: '100ms' };
    const actions = [{ file: { path: out, sendSingle: true, ...sink } }];
    await made(server, '/rules', { id: 'r', sql: 'SELECT id FROM s', actions, options });
    assert.match((await server.request('GET', '/rules/r/explain')).text, /"guarantee":"exactly once"/);
    for (let round = 0; round < rounds; round++) {
      await new Promise((resolve) => setTimeout(resolve, 60 + Math.random() * 400));
      await server.stop('SIGKILL');
      server = await startServer({ data, env });
    }
    await eventually(
      'the last row',
      async () => {
        const { json } = await server.request('GET', '/rules/r/status');
        return json.source_s_0_records_in_total > 0 && json.sink_file_0_0_buffer_length === 0 ? isWhole() : false;
      },
      60_000,
    );
    async function isWhole(): Promise<boolean> {
      try {
        return (await read(out)).at(-1) === count - 1;
      } catch {
        // Between two pieces.
        return false;
      }
    }
    await server.request('POST', '/rules/r/stop');
    const found = await read(out);
    const wrong = found.findIndex((id, i) => id !== i);
    assert.is(wrong, -1, `row ${wrong} of ${found.length} is ${found.slice(Math.max(0, wrong - 2), wrong + 3)}`);
    assert.is(found.length, count);
    // Nothing was put aside.
    assert.equal(
      readdirSync(data).filter((one) => one.startsWith('out')),
      ['out'],
    );
    await server.stop();
  });
}

test.run();
