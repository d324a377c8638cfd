/**
 * Files with columns: each begins with their names, and has them once, whatever becomes of files, rules and servers.
 */
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
});
test.after(async () => void (await server.stop()));

interface Rows {
  readonly id: string;
  readonly folder: string;
  /** Lines go in one after the other. */
  feed(...rows: object[]): void;
  change(action: 'restart' | 'update', select?: string): Promise<void>;
  /** Waits until the file has so many lines. */
  lines(name: string, least: number): Promise<string[]>;
}

const found = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** A rule from a file that is followed to a file of the same folder. */
async function rule(select: string, sink: object, options: object = {}, name = 'out.csv'): Promise<Rows> {
  const folder = temporaryFolder();
  const id = `r${++count}`;
  const input = join(folder, 'in');
  writeFileSync(input, '');
  const conf = { path: folder, fileType: 'lines', follow: true, interval: '20ms' };
  await server.request('PUT', `/metadata/sources/file/confKeys/${id}`, conf);
  const sql = `CREATE STREAM ${id} () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="${id}")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const body = (text: string) => ({
    id,
    sql: text.replace('FROM s', `FROM ${id}`),
    actions: [{ file: { path: join(folder, name), format: 'delimited', hasHeader: true, ...sink } }],
    options: { sendError: true, ...options },
  });
  const made = await server.request('POST', '/rules', body(select));
  assert.is(made.status, 201, made.text);
  const started = () =>
    eventually('the rule', async () => (await server.request('GET', `/rules/${id}/status`)).json.status === 'Running');
  await started();
  return {
    id,
    folder,
    feed: (...rows) => appendFileSync(input, rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
    change: async (action, text = select) => {
      const answer =
        action === 'restart'
          ? await server.request('POST', `/rules/${id}/restart`)
          : await server.request('PUT', `/rules/${id}`, body(text));
      assert.is(answer.status, 200, answer.text);
      await started();
    },
    lines: (file, least) =>
      eventually(`${least} lines of ${file}`, () => {
        const lines = found(join(folder, file)).split('\n').slice(0, -1);
        return lines.length >= least ? lines : undefined;
      }),
  };
}

test('a rule that goes on with a file does not repeat its header', async () => {
  for (const sink of [{ sendSingle: true }, {}, { sendSingle: true, enableCache: true }]) {
    const rows = await rule('SELECT a, b FROM s', sink);
    rows.feed({ a: 1, b: 'x' }, { a: 2 });
    await rows.lines('out.csv', 3);
    await rows.change('restart');
    rows.feed({ a: 3, b: 'z' });
    // A followed file is read from its begin after a restart.
    const lines = await rows.lines('out.csv', 6);
    assert.equal(lines, ['a,b', '1,x', '2,', '1,x', '2,', '3,z']);
  }
});

test('a file that was there has its header, whoever wrote it', async () => {
  const there = join(temporaryFolder(), 'there.csv');
  writeFileSync(there, 'a,b\n8,9\n');
  const rows = await rule('SELECT a, b FROM s', { path: there });
  rows.feed({ a: 1, b: 2 });
  const text = await eventually('the row', () => (found(there).includes('1,2') ? found(there) : undefined));
  assert.is(text, 'a,b\n8,9\n1,2\n');
});

test('a rule with other columns names them', async () => {
  const rows = await rule('SELECT a FROM s', { sendSingle: true }, { qos: 1, checkpointInterval: '1h' });
  rows.feed({ a: 1, b: 2 });
  await rows.lines('out.csv', 2);
  await rows.change('update', 'SELECT a, b FROM s');
  rows.feed({ a: 3, b: 4 });
  const lines = await eventually('the new columns', async () => {
    const all = await rows.lines('out.csv', 4);
    return all.at(-1) === '3,4' ? all : undefined;
  });
  assert.equal(lines.slice(0, 3), ['a', '1', 'a,b']);
  assert.is(lines.filter((line) => line === 'a,b').length, 1);
});

test('after a file was put aside the next has a header, too', async () => {
  const rows = await rule('SELECT a, b FROM s', { sendSingle: true, rollingSize: 40 });
  for (let a = 0; a < 30; a++) {
    rows.feed({ a, b: 'xxxxx' });
    if (a % 10 === 9) await eventually('a file more', () => readdirSync(rows.folder).length > 2 + Math.floor(a / 10));
  }
  const files = await eventually('all rows', () => {
    const names = readdirSync(rows.folder).filter((name) => name.startsWith('out'));
    const texts = names.map((name) => found(join(rows.folder, name)));
    return texts.join('').match(/,xxxxx\n/g)?.length === 30 ? texts : undefined;
  });
  for (const text of files) if (text !== '') assert.match(text, /^a,b\n(\d+,xxxxx\n)+$/);
  assert.ok(files.length > 2);
});

test('each file of a path made of rows has one', async () => {
  const rows = await rule('SELECT a, b FROM s', { sendSingle: true, maxOpenFiles: 1 }, {}, '{{.b}}.csv');
  rows.feed({ a: 1, b: 'x' }, { a: 2, b: 'y' }, { a: 3, b: 'x' }, { a: 4, b: 'y' });
  assert.equal(await rows.lines('x.csv', 3), ['a,b', '1,x', '3,x']);
  assert.equal(await rows.lines('y.csv', 3), ['a,b', '2,y', '4,y']);
});

test('a file that was moved away, or made empty, begins anew', async () => {
  const rows = await rule('SELECT a FROM s', { sendSingle: true });
  rows.feed({ a: 1 });
  await rows.lines('out.csv', 2);
  renameSync(join(rows.folder, 'out.csv'), join(rows.folder, 'moved.csv'));
  // The name is looked at a few times a second.
  const fed = async () => {
    rows.feed({ a: 2 });
    await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await eventually('a new file', async () => {
    await fed();
    return existsSync(join(rows.folder, 'out.csv'));
  });
  assert.equal((await rows.lines('out.csv', 2)).slice(0, 2), ['a', '2']);
  truncateSync(join(rows.folder, 'out.csv'));
  await eventually('a header', async () => {
    await fed();
    return found(join(rows.folder, 'out.csv')).includes('a');
  });
  const lines = found(join(rows.folder, 'out.csv')).split('\n');
  assert.is(lines.filter((line) => line === 'a').length, 1);
});

test('rules with other columns that write to one file name theirs whenever it is their turn', async () => {
  const one = await rule('SELECT a FROM s', { sendSingle: true });
  const other = await rule('SELECT b FROM s', { sendSingle: true, path: join(one.folder, 'out.csv') });
  one.feed({ a: 1 });
  await one.lines('out.csv', 2);
  other.feed({ b: 2 });
  await one.lines('out.csv', 4);
  one.feed({ a: 3 });
  assert.equal(await one.lines('out.csv', 6), ['a', '1', 'b', '2', 'a', '3']);
});

test.run();
