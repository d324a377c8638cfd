/** Rows of the sql connector come once, whenever the engine or the database is killed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { loadConnector } from '../../../../host/connectors/index.js';
import type { Sink, SinkChunk, SinkContext } from '../../../../host/connectors/running.js';
import { needsMariadb, sharedMariadb } from '../../../support/servers/mariadb.js';
import { needsPostgres, sharedPostgres } from '../../../support/servers/postgres.js';
import { needsPython, openSqlite } from '../../../support/servers/sqlite.js';

/** A database at which a sink can be tried. */
interface Tried {
  readonly url: string;
  query(text: string): Promise<unknown[]>;
  close(): Promise<void>;
}

interface Run {
  readonly sink: Sink;
  readonly failed: string[];
  /** Writes rows as one chunk. */
  write(...rows: object[]): void;
}

/** A run of the sink in a rule with checkpoints, which goes on from the position if there is one. */
async function run(url: string, position?: unknown): Promise<Run> {
  const { sink: part } = await loadConnector('sink', 'sql');
  await part!.load();
  const failed: string[] = [];
  const context = {
    ruleId: 'r',
    transactionName: 'r/0',
    dynamic: new Set(),
    paths: AllowedPaths.any(),
    shared: <T>(_key: string, make: () => T) => make(),
    accepted: () => {},
    refused: (row: Uint8Array, _bytes: number, _messages: number, _reason: string) =>
      failed.push(Buffer.from(row).toString()),
    disconnected: (reason: string) => assert.unreachable(reason),
  } as unknown as SinkContext;
  const sink = part!.create({ dburl: url, table: 'once' }, context);
  if (position !== undefined) sink.cutBack?.(JSON.parse(JSON.stringify(position)));
  await sink.open();
  const write = (...rows: object[]) => {
    const texts = rows.map((row) => Buffer.from(JSON.stringify(row)));
    let at = 0;
    const ends = Uint32Array.from(texts, (text) => (at += text.length));
    sink.write({ bytes: Buffer.concat(texts), ends, messages: rows.length, rows: rows.length } as unknown as SinkChunk);
  };
  return { sink, failed, write };
}

/** Adds the tests for a kind of database. */
function onceAt(name: string, open: () => Promise<Tried>): void {
  test(`${name}: rows are seen when their checkpoint counts, each of them once`, async () => {
    const db = await open();
    await db.query('CREATE TABLE once (id INTEGER PRIMARY KEY)');
    const ids = async () =>
      (await db.query('SELECT id FROM once ORDER BY id')).map((row) => Object.values(row as object)[0]);
    const first = await run(db.url);
    first.write({ id: 1 }, { id: 2 });
    const one = first.sink.position?.();
    first.write({ id: 3 });
    await first.sink.sync?.();
    assert.equal(await ids(), []);
    first.sink.commit?.(one);
    await first.sink.flush();
    assert.equal(await ids(), [1, 2]);
    // What came after the position is void, and comes again from the source.
    const second = await run(db.url, one);
    second.write({ id: 3 }, { id: 4 });
    const two = second.sink.position?.();
    await second.sink.sync?.();
    assert.equal(await ids(), [1, 2]);
    // The engine was killed before the commit: the checkpoint has the rows.
    const third = await run(db.url, two);
    assert.equal(await ids(), [1, 2, 3, 4]);
    third.write({ id: 4 }, { id: 5 });
    third.sink.commit?.(third.sink.position?.());
    await third.sink.close();
    assert.equal(await ids(), [1, 2, 3, 4, 5]);
    assert.equal(third.failed, ['{"id":4}']);
    // Without a checkpoint nothing of an earlier run counts.
    const fourth = await run(db.url);
    fourth.write({ id: 6 });
    fourth.sink.position?.();
    await fourth.sink.sync?.();
    const fifth = await run(db.url);
    await fifth.sink.close();
    assert.equal(await ids(), [1, 2, 3, 4, 5]);
    assert.equal(await db.query('SELECT sink FROM haumea_output'), []);
    for (const { sink } of [first, second, fourth]) await sink.close();
    await db.close();
  });
}

if (needsPostgres('rows come once at PostgreSQL')) onceAt('PostgreSQL', () => sharedPostgres());
if (needsMariadb('rows come once at MariaDB')) onceAt('MariaDB', () => sharedMariadb());
if (needsPython('rows come once at SQLite')) onceAt('SQLite', async () => openSqlite());

test.run();
