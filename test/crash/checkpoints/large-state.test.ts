/** Windows of many rows over kill -9: their rows stand in segments beside the checkpoints, written while rows flow. */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { smallDisk } from '../../support/small-disk.js';

const part = 20_000;
const parts = 3;

/** What a checkpoint says of itself. */
interface Head {
  readonly epoch: number;
  readonly sources: object;
  readonly rows: {
    readonly fresh?: number;
    readonly sets?: readonly number[];
    readonly segments: readonly { readonly file: string; readonly bytes: number }[];
  };
}

/** Of the newest checkpoint that is there. */
function headOf(folder: string): Head | undefined {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.checkpoint'));
    const bytes = readFileSync(join(folder, names.sort().at(-1)!));
    return JSON.parse(bytes.toString('utf8', 16, 16 + bytes.readUInt32LE(12))) as Head;
  } catch {
    return undefined;
  }
}

/** The lines of a part; texts and numbers of several kinds. */
function linesOf(number: number): string {
  return Array.from({ length: part }, (_row, i) => `${JSON.stringify(rowOf(number * part + i))}\n`).join('');
}

function rowOf(id: number): object {
  return { id, name: `row ${id % 100}`, x: (id % 1000) / 10, y: id % 3 === 0 ? null : id / 7 };
}

interface Opened {
  server: TestServer;
  readonly data: string;
  readonly out: string;
  readonly folder: string;
  /** Appends a part to the input and waits for a checkpoint that has all of it. */
  append(number: number): Promise<Head>;
}

const manyRows = `SELECT id, name, x, y FROM s GROUP BY COUNTWINDOW(${part * parts})`;
/** Each row is a group of its own. */
const manyGroups =
  'SELECT id, last_value(name, true) AS name, sum(x) AS x, max(y) AS y FROM s GROUP BY id, ' +
  `COUNTWINDOW(${part * parts})`;

async function open(data = temporaryFolder(), sql = manyRows): Promise<Opened> {
  const input = join(data, 'in');
  writeFileSync(input, '');
  const opened: Opened = {
    server: await startServer({ data }),
    data,
    out: join(data, 'out'),
    folder: join(data, 'checkpoints', 'r'),
    append: (number) => {
      appendFileSync(input, linesOf(number));
      const hasAll = new RegExp(`:${statSync(input).size}\\b`);
      return eventually('a checkpoint', () => {
        const head = headOf(opened.folder);
        return head !== undefined && hasAll.test(JSON.stringify(head.sources)) ? head : undefined;
      });
    },
  };
  const { server } = opened;
  const conf = { path: data, fileType: 'lines', follow: true, interval: '20ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  const made = async (path: string, body: object) => {
    const { status, text } = await server.request('POST', path, body);
    assert.is(status, 201, text);
  };
  await made('/streams', { sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  const actions = [{ file: { path: opened.out } }];
  await made('/rules', { id: 'r', sql, actions, options: { qos: 2, checkpointInterval: '50ms' } });
  return opened;
}

async function kill(opened: Opened): Promise<void> {
  await opened.server.stop('SIGKILL');
  opened.server = await startServer({ data: opened.data });
}

/** What a group shows of its row: nothing of null. */
function groupOf(id: number): object {
  return Object.fromEntries(Object.entries(rowOf(id)).filter(([, value]) => value !== null));
}

async function assertWindow({ out }: Opened, expected = rowOf): Promise<void> {
  await eventually('the window', () => existsSync(out) && readFileSync(out, 'utf8').endsWith(']\n'));
  const rows = JSON.parse(readFileSync(out, 'utf8')) as object[];
  assert.is(rows.length, part * parts);
  for (const [id, row] of rows.entries()) assert.equal(row, expected(id));
}

const segmentsIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.rows'))
    .sort();

test(
  'a window of many rows is whole after kills; each checkpoint writes only the rows that came since the ' + 'last',
  async () => {
    const opened = await open();
    const first = await opened.append(0);
    const second = await opened.append(1);
    assert.equal(second.rows.segments.slice(0, first.rows.segments.length), first.rows.segments);
    const rowBytes = second.rows.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    await eventually('the figures of that checkpoint', async () => {
      const { json } = await opened.server.request('GET', '/rules/r/status');
      const all = json.lastCheckpointBytes as number;
      return all > rowBytes && (json.lastCheckpointWrittenBytes as number) < all;
    });
    await kill(opened);
    await opened.append(2);
    await assertWindow(opened);
    await opened.server.stop();
  },
);

test(
  'a window of many groups is whole after kills: they are written while rows change them, and each ' +
    'checkpoint writes only those that rows came to since the last',
  async () => {
    const opened = await open(temporaryFolder(), manyGroups);
    const first = await opened.append(0);
    const { rows } = await opened.append(1);
    const set = first.rows.sets ?? [first.rows.fresh];
    assert.equal(rows.sets, set);
    assert.equal(rows.segments.slice(0, first.rows.segments.length), first.rows.segments);
    assert.ok(rows.segments.length > first.rows.segments.length);
    await kill(opened);
    // Some checkpoints are cut while these come.
    await opened.append(2);
    await assertWindow(opened, groupOf);
    await opened.server.stop();
  },
);

test('a window of many groups goes on after an orderly stop of the server', async () => {
  const opened = await open(temporaryFolder(), manyGroups);
  await opened.append(0);
  await opened.server.stop();
  opened.server = await startServer({ data: opened.data });
  await opened.append(1);
  await opened.append(2);
  await assertWindow(opened, groupOf);
  await opened.server.stop();
});

test('a damaged segment is named, and the checkpoint before it is used', async () => {
  const opened = await open();
  await opened.append(0);
  await opened.append(1);
  await opened.server.stop('SIGKILL');
  const newest = headOf(opened.folder)!.rows.segments.at(-1)!.file;
  const bytes = readFileSync(join(opened.folder, newest));
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(join(opened.folder, newest), bytes);
  opened.server = await startServer({ data: opened.data });
  await opened.append(2);
  await assertWindow(opened);
  const { server } = opened;
  const log = readFileSync(join(server.data, 'log', 'stream.log'), { encoding: 'utf8', flag: 'a+' }) + server.output();
  assert.match(log, new RegExp(`can't be used: its rows in .*${newest} are damaged: `));
  await server.stop();
});

test('a window of many rows goes on after an orderly stop of the server', async () => {
  const opened = await open();
  await opened.append(0);
  await opened.append(1);
  await opened.server.stop();
  const names = segmentsIn(opened.folder);
  opened.server = await startServer({ data: opened.data });
  await opened.append(2);
  await assertWindow(opened);
  await opened.server.request('DELETE', '/rules/r');
  await eventually('the end of the state', () => !existsSync(opened.folder));
  assert.ok(names.length > 0);
  await opened.server.stop();
});

test('a disk that is full while rows are written is named; with room again a checkpoint has them all', async () => {
  const data = temporaryFolder();
  const checkpoints = join(data, 'checkpoints');
  const disk = smallDisk(checkpoints, '128k');
  if (disk === undefined) {
    announceSkip('rows on a full disk', 'a file system of bounded size needs root');
    return;
  }
  try {
    const opened = await open(data);
    const appended = opened.append(0);
    await eventually('the failure', async () => {
      const { json } = await opened.server.request('GET', '/rules/r/status');
      return /ENOSPC/.test(String(json.lastCheckpointFailure));
    });
    disk.resize('64m');
    const { rows } = await appended;
    const there = segmentsIn(opened.folder);
    for (const { file } of rows.segments) assert.ok(there.includes(file));
    await opened.append(1);
    await kill(opened);
    await opened.append(2);
    await assertWindow(opened);
    await opened.server.stop();
  } finally {
    disk.unmount();
  }
});

test.run();
