/** Faults of a SQLite file as a sink: it is away, another program holds it, or its disk is full. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { Site } from '../../../support/connectors/faults/site.js';
import { announceSkip, eventually, temporaryFolder } from '../../../support/harness.js';
import { holdSqlite, needsPython, openSqlite } from '../../../support/servers/sqlite.js';
import { fillDisk, smallDisk } from '../../../support/small-disk.js';

const disk = smallDisk(join(temporaryFolder(), 'small'), '64m');
test.after(() => disk?.unmount());
const noDisk = disk === undefined ? { full: 'no small disk can be mounted here' } : undefined;
if (noDisk !== undefined) announceSkip('full disks of SQLite', noDisk.full);

async function openSide(): Promise<SinkSide> {
  const path = join(disk?.path ?? temporaryFolder(), 'rows.db');
  const away = `${path}.away`;
  const db = openSqlite(path);
  await db.query('CREATE TABLE numbers (id INTEGER)');
  const copy = openSqlite();
  let letGo = () => {};
  let last: readonly number[] = [];
  return {
    props: { dburl: db.url, table: 'numbers', fields: ['id'], timeout: 3000 },
    start: async () => renameSync(away, path),
    kill: async () => renameSync(path, away),
    pause: () => {
      letGo = holdSqlite(path);
    },
    resume: () => letGo(),
    close: async () => letGo(),
    // A program that has the file open keeps the sink from it: a copy is looked at.
    arrived: async () => {
      const bytes = wholeFile(path);
      if (bytes === undefined) return last;
      writeFileSync(copy.path, bytes);
      last = (await copy.query('SELECT id FROM numbers')).map((row) => Number(row.id));
      return last;
    },
    rejects: {
      prepare: (id) =>
        db.query(`CREATE TRIGGER wanted BEFORE INSERT ON numbers WHEN new.id = ${id}
          BEGIN SELECT RAISE(ABORT, 'no such number'); END`),
      reason: /no such number/,
    },
    ...(disk && {
      full: {
        fill: () => fillDisk(disk.path),
        free: () => rmSync(join(disk.path, 'filler')),
        reason: /full|no space/i,
      },
    }),
  };
}

/** Content of the file; undefined while a transaction is under way, or the file is away. */
function wholeFile(path: string): Buffer | undefined {
  const isQuiet = () => existsSync(path) && !existsSync(`${path}-journal`);
  if (!isQuiet()) return undefined;
  const before = readFileSync(path);
  return isQuiet() && readFileSync(path).equals(before) ? before : undefined;
}

if (needsPython('faults of SQLite as a sink')) {
  sinkFaults(test, 'sql', openSide, {
    name: 'sqlite',
    lacks: {
      empty: 'it takes rows, not messages',
      refusal: 'a file has no login',
      tls: 'a file is no connection',
      ...noDisk,
    },
  });

  test('sqlite sink: a file that takes the place of another gets the rows from then on', async () => {
    const site = await Site.open();
    const db = openSqlite();
    await db.query('CREATE TABLE numbers (id INTEGER)');
    const other = openSqlite();
    await other.query('CREATE TABLE numbers (id INTEGER)');
    const source = (name: string) => site.stream('memory', name, {});
    const sink = { sql: { dburl: db.url, table: 'numbers', sendSingle: true } };
    const id = await site.rule(await source('sqlite/rows'), sink);
    const send = async (number: number) => {
      const feed = await site.rows(number, 1);
      const feeder = await site.rule(feed, { memory: { topic: 'sqlite/rows' } });
      await eventually('the row', async () => (await site.figure(id, 'sink', 'records_out_total')) === number);
      await site.delete(feeder);
    };
    await send(1);
    renameSync(db.path, `${db.path}.old`);
    renameSync(other.path, db.path);
    await send(2);
    await site.delete(id);
    assert.equal(await db.query('SELECT id FROM numbers'), [{ id: 2 }]);
    await site.server.stop();
  });
}

test.run();
