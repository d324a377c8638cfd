/** What a user finds in the files of a sink: arrays, packed and encrypted files, files by count, and who is told. */
import { createDecipheriv } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openHttp } from '../../support/connectors/http-server.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

const aesKey = Buffer.alloc(32, 1).toString('base64');

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__AESKEY: aesKey } });
});
test.after(async () => void (await server.stop()));

const rows = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }, { id: 3 }];

/** Rows through a rule to its end; returns the folder of its files. */
async function written(sink: object, options: object = {}): Promise<string> {
  const id = `w${++count}`;
  const folder = join(server.data, id);
  mkdirSync(folder);
  writeFileSync(`${folder}.in`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const key = { fileType: 'lines', path: server.data };
  assert.is((await server.request('PUT', `/metadata/sources/file/confKeys/${id}`, key)).status, 200);
  const columns = 'id BIGINT, name STRING';
  const sql = `CREATE STREAM ${id} (${columns}) WITH (TYPE="file", DATASOURCE="${id}.in", CONF_KEY="${id}")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const actions = [{ file: { path: join(folder, 'out'), sendSingle: true, ...sink } }];
  const made = await server.request('POST', '/rules', { id, sql: `SELECT id, name FROM ${id}`, actions, options });
  assert.is(made.status, 201, made.text);
  await eventually('the end of the rule', async () =>
    /^stopped/i.test((await server.request('GET', `/rules/${id}/status`)).json.status),
  );
  return folder;
}

const all = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }, { id: 3 }];

test('fileType json: an array of the messages', async () => {
  const folder = await written({ fileType: 'json' });
  assert.equal(JSON.parse(readFileSync(join(folder, 'out'), 'utf8')), all);
});

test('fileType csv: a header, and lines', async () => {
  const folder = await written({ fileType: 'csv', format: 'delimited', hasHeader: true, compression: 'gzip' });
  assert.is(gunzipSync(readFileSync(join(folder, 'out'))).toString(), 'id,name\n1,a\n2,b\n3,\n');
  const rolled = await written({ fileType: 'csv', format: 'delimited', hasHeader: true, rollingCount: 2 });
  const names = readdirSync(rolled).sort();
  assert.equal(
    names.map((name) => readFileSync(join(rolled, name), 'utf8')),
    ['id,name\n3,\n', 'id,name\n1,a\n2,b\n'],
  );
});

test('a file is compressed, then encrypted, as a whole', async () => {
  const folder = await written({ fileType: 'json', compression: 'gzip', encryption: 'aes' });
  const bytes = readFileSync(join(folder, 'out'));
  const decipher = createDecipheriv('aes-256-cfb', Buffer.from(aesKey, 'base64'), bytes.subarray(0, 16));
  assert.equal(JSON.parse(gunzipSync(decipher.update(bytes.subarray(16))).toString()), all);
});

test('files of a path made of rows have the form, too', async () => {
  const folder = await written({ path: join(server.data, `w${count + 1}`, '{{.id}}.json'), fileType: 'json' });
  const names = readdirSync(folder).sort();
  assert.equal(
    names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8'))),
    all.map((row) => [row]),
  );
});

test('rollingHook http: the server is told of each file; a failure is counted', async () => {
  const http = await openHttp();
  http.answer = (response, _request, number) => {
    response.statusCode = number === 1 ? 200 : 500;
    response.end();
  };
  const rollingHookProps = { url: `${http.url}/done`, headers: { 'X-Who': 'me' } };
  const sink = { rollingCount: 2, rollingNamePattern: 'suffix', rollingHook: 'http', rollingHookProps };
  const folder = await written(sink);
  await eventually('both files', () => http.received.length === 2);
  const names = readdirSync(folder).sort();
  assert.equal(
    http.bodies.map((body) => JSON.parse(body).file),
    names.map((name) => join(folder, name)),
  );
  assert.is(http.received[0]!.headers['x-who'], 'me');
  await http.close();
});

test('what can not be is refused with its reason', async () => {
  for (const [sink, reason] of [
    [{ fileType: 'csv' }, /format must be delimited when fileType is csv/],
    [{ compression: 'flate' }, /compression must be one of gzip, zstd, not/],
    [{ rollingHook: 'x' }, /x is not registered/],
  ] as const) {
    const actions = [{ file: { path: 'x', ...sink } }];
    const answer = await server.request('POST', '/rules', { id: 'no', sql: 'SELECT * FROM w1', actions });
    assert.is(answer.status, 400);
    assert.match(answer.text, reason);
  }
});

test.run();
