/** What kill -9 leaves of the rows of tables. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

async function made(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** Whole lines of a file. */
function linesOf(folder: string, name: string): Record<string, unknown>[] {
  const path = join(folder, name);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        // The end of the file, or what a kill cut off.
        return [];
      }
    });
}

test(
  'rows of scan tables are in the checkpoint, those of lookup tables are not, and files of tables are read ' + 'anew',
  async () => {
    const data = temporaryFolder();
    const table = (name: string) => writeFileSync(join(data, 'known'), `[{"id":1,"name":"${name}"}]`);
    table('before');
    for (const name of ['in', 'rows']) writeFileSync(join(data, name), '');
    let server = await startServer({ data });
    const conf = (key: string, props: object) => server.request('PUT', `/metadata/sources/file/confKeys/${key}`, props);
    await conf('lines', { path: data, fileType: 'lines', follow: true });
    await conf('known', { path: data, fileType: 'json' });
    const source = (name: string) =>
      `CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="${name}", CONF_KEY="lines")`;
    await made(server, '/streams', { sql: source('in').replace('STREAM in', 'STREAM s') });
    await made(server, '/streams', { sql: source('rows').replace('STREAM rows', 'STREAM r') });
    for (const sql of [
      'CREATE TABLE scanned () WITH (TYPE="memory", DATASOURCE="rows", RETAIN_SIZE="10")',
      'CREATE TABLE looked () WITH (TYPE="memory", DATASOURCE="rows", KIND="lookup", KEY="id")',
      'CREATE TABLE filed () WITH (TYPE="file", DATASOURCE="known", CONF_KEY="known")',
    ]) {
      await made(server, '/tables', { sql });
    }
    const options = { qos: 1, checkpointInterval: '100ms' };
    const rule = (id: string, sql: string, action: object) =>
      made(server, '/rules', { id, sql, actions: [action], options });
    const tables = ['scanned', 'looked', 'filed'] as const;
    for (const name of tables) {
      const sql = `SELECT s.n, ${name}.name FROM s LEFT JOIN ${name} ON s.id = ${name}.id`;
      await rule(name, sql, { file: { path: join(data, `${name}.out`), sendSingle: true } });
    }
    await rule('feed', 'SELECT id, name FROM r', { memory: { topic: 'rows', sendSingle: true } });
    /** What a further row finds in each table. */
    let n = 0;
    const found = async () => {
      const row = ++n;
      appendFileSync(join(data, 'in'), `{"id":1,"n":${row}}\n`);
      return eventually('the row of each rule', () => {
        const rows = tables.map((name) => linesOf(data, `${name}.out`).findLast((line) => line.n === row));
        return rows.every((line) => line !== undefined) ? rows.map((line) => line!.name) : undefined;
      });
    };
    appendFileSync(join(data, 'rows'), '{"id":1,"name":"before"}\n');
    await eventually('the rows of the tables', async () => String(await found()) === 'before,before,before');
    const checkpoints = async (id: string) =>
      Number((await server.request('GET', `/rules/${id}/status`)).json.checkpointsTotal ?? 0);
    const ids = [...tables, 'feed'];
    const counts = await Promise.all(ids.map(checkpoints));
    appendFileSync(join(data, 'rows'), '{"id":2,"name":"other"}\n');
    await eventually('checkpoints that have them', async () => {
      await found();
      const now = await Promise.all(ids.map(checkpoints));
      return now.every((count, i) => count > counts[i]!);
    });
    await server.stop('SIGKILL');
    table('after');
    server = await startServer({ data });
    assert.equal(await found(), ['before', undefined, 'after']);
    await server.stop();
  },
);

test.run();
