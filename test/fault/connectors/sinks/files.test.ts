/** Faults of disks that sinks write to: files of lines, and files of SQLite beside a native program. */
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { announceSkip, temporaryFolder } from '../../../support/harness.js';
import { needsPython, openSqlite, python } from '../../../support/servers/sqlite.js';
import { smallDisk } from '../../../support/small-disk.js';

const disk = smallDisk(join(temporaryFolder(), 'small'), '256m');
test.after(() => disk?.unmount());
const noDisk = disk === undefined ? { full: 'no small disk can be mounted here' } : undefined;
if (noDisk !== undefined) announceSkip('full disks of sinks', noDisk.full);

/** Fills the disk up to its last byte. */
function fill(folder: string): void {
  for (let size = 1 << 22; size > 0; size >>= 1) {
    try {
      for (;;) writeFileSync(join(folder, 'filler'), Buffer.alloc(size, 'x'), { flag: 'a' });
    } catch {
      // Less may still find room.
    }
  }
}

const here = {
  absence: 'a folder is there or the rule is refused',
  kill: 'a disk has no process',
  refusal: 'a file has no login',
  tls: 'a file is no connection',
};

sinkFaults(
  test,
  'file',
  async () => {
    const folder = disk?.path ?? temporaryFolder();
    const none = async () => {};
    return {
      props: { path: join(folder, 'rows.lines'), fileType: 'lines' },
      arrived: () => idsOf(linesIn(folder)),
      start: none,
      kill: none,
      pause: () => {},
      resume: () => {},
      close: none,
      ...(disk && {
        full: {
          fill: () => fill(folder),
          free: () => rmSync(join(folder, 'filler')),
          reason: /ENOSPC|no space/i,
        },
      }),
    };
  },
  {
    lacks: { ...here, ...noDisk, hang: 'a disk that hangs stops its whole process', rejects: 'a disk takes any bytes' },
  },
);

function linesIn(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.lines'));
  return files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1));
}

if (needsPython('faults of SQLite as a sink')) {
  sinkFaults(
    test,
    'sql',
    async () => {
      const db = openSqlite(disk && join(disk.path, 'test.db'));
      await db.query('CREATE TABLE numbers (n integer PRIMARY KEY, id integer, text text)');
      let holder: ReturnType<typeof python> | undefined;
      return {
        props: { dburl: db.url, table: 'numbers', fields: ['id'], timeout: 1000 },
        arrived: async () => {
          // The file may be locked just now.
          const rows = await db.query('SELECT id FROM numbers').catch(() => []);
          return rows.map((row) => Number(row.id));
        },
        start: async () => {},
        kill: async () => {},
        /** Another program has the file for itself. */
        pause: () => {
          const script = `
import sqlite3, sys
db = sqlite3.connect(${JSON.stringify(db.path)}, timeout=30)
db.execute('BEGIN EXCLUSIVE')
sys.stdin.read()`;
          holder = python(script);
        },
        resume: () => void holder?.stdin?.end(),
        close: async () => {
          if (holder !== undefined && holder.exitCode === null) await once(holder, 'exit');
        },
        rejects: {
          prepare: (id: number) =>
            db.query(
              `CREATE TRIGGER wanted BEFORE INSERT ON numbers WHEN NEW.id = ${id} ` +
                `BEGIN SELECT RAISE(ABORT, 'no such id'); END`,
            ),
          reason: /no such id/,
        },
        ...(disk && {
          full: {
            fill: () => fill(disk.path),
            free: () => rmSync(join(disk.path, 'filler')),
            reason: /disk is full|full/i,
          },
        }),
      };
    },
    { name: 'sqlite', lacks: { ...here, ...noDisk, empty: 'it takes rows, not messages' } },
  );
}

test.run();
