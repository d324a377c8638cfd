import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import initSqlJs from 'sql.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Logger, silent } from '../../../host/base/log/log.js';
import { textOf, writeDatabase } from '../../../host/meta/journal/database.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { LossRepository } from '../../../host/meta/journal/losses.js';
import type { Store } from '../../../host/meta/store.js';
import { temporaryFolder } from '../../support/harness.js';

const place = () => join(temporaryFolder(), 'sqliteKV.db');

/** Stores that a test leaves open to stand for a process that was killed; closed when all is over. */
const abandoned: Store[] = [];

async function open(path: string, log: Logger = silent, snapshotBytes?: number): Promise<Store> {
  const store = await openStore({ path, log, snapshotBytes });
  abandoned.push(store);
  return store;
}

test.after(async () => {
  for (const store of abandoned) await store.close();
});

/** Bytes of a journal, without the zeros that it has grown by ahead of its records. */
function written(journal: string): Buffer {
  const bytes = readFileSync(journal);
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

/** A logger that keeps its lines. */
function listener(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const take = (line: string) => lines.push(line);
  return { lines, log: { debug: take, info: take, warn: take, error: take } };
}

test('keeps changes over a clean stop in a real SQLite file', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'b', '{"x":"ü"}');
  await store.put('rule', 'a', '1');
  await store.put('rule', 'c', '2');
  await store.delete('rule', 'c');
  await store.close();
  assert.equal(readdirSync(join(path, '..')).sort(), ['sqliteKV.db', 'sqliteKV.db.image']);
  const sql = await initSqlJs();
  const db = new sql.Database(readFileSync(path));
  assert.equal(db.exec('SELECT key, val FROM rule ORDER BY key')[0]?.values, [
    ['a', '1'],
    ['b', '{"x":"ü"}'],
  ]);
  const again = await open(path);
  assert.equal(again.list('rule'), [
    ['a', '1'],
    ['b', '{"x":"ü"}'],
  ]);
  await again.close();
});

test('reads what another tool changed in the database, and a torn copy beside it does no harm', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'a', '1');
  await store.put('rule', 'b', '2');
  await store.close();
  const sql = await initSqlJs();
  const db = new sql.Database(readFileSync(path));
  db.run("DELETE FROM rule WHERE key = 'a'");
  db.run("UPDATE rule SET val = '3' WHERE key = 'b'");
  writeFileSync(path, db.export());
  db.close();
  const changed = await open(path);
  assert.equal(changed.list('rule'), [['b', '3']]);
  await changed.put('rule', 'c', '4');
  await changed.close();
  const image = readFileSync(`${path}.image`);
  writeFileSync(`${path}.image`, image.subarray(0, image.length - 3));
  const torn = await open(path);
  assert.equal(torn.list('rule'), [
    ['b', '3'],
    ['c', '4'],
  ]);
  await torn.close();
});

test('writes nothing when nothing is defined', async () => {
  const path = place();
  const store = await open(path);
  assert.equal(store.keys('rule'), []);
  await store.close();
  assert.equal(readdirSync(join(path, '..')), []);
});

test('replays the journal when there was no clean stop', async () => {
  const path = place();
  const store = await open(path);
  await store.batch([
    ['stream', 's', '1'],
    ['rule', 'r', '2'],
  ]);
  await store.delete('stream', 's');
  const again = await open(path);
  assert.equal(again.keys('stream'), []);
  assert.is(again.get('rule', 'r'), '2');
});

test('cuts a torn tail and goes on behind what is whole', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'whole', '1');
  const journal = `${path}.changes-000000`;
  const whole = written(journal);
  await store.put('rule', 'torn', '2');
  const both = written(journal);
  for (const end of [whole.length + 1, whole.length + 8, both.length - 1]) {
    writeFileSync(journal, both.subarray(0, end));
    const { log, lines } = listener();
    const again = await open(path, log);
    assert.equal(again.keys('rule'), ['whole']);
    assert.match(lines.join('\n'), /cut \d+ bytes/);
  }
  const again = await open(path);
  await again.put('rule', 'next', '3');
  const last = await open(path);
  assert.equal(last.keys('rule'), ['next', 'whole']);
});

test('grows in steps: the room behind the records is no damage, and a torn record before it is cut', async () => {
  const path = place();
  const store = await open(path);
  const journal = `${path}.changes-000000`;
  await store.put('rule', 'first', '1');
  const { size } = statSync(journal);
  const first = written(journal);
  await store.put('rule', 'second', '2');
  assert.is(statSync(journal).size, size);
  assert.ok(size > written(journal).length);
  const { log, lines } = listener();
  const again = await open(path, log);
  assert.equal(again.keys('rule'), ['first', 'second']);
  assert.equal(lines, []);
  await again.put('rule', 'large', 'x'.repeat(2 * size));
  assert.equal((await open(path)).keys('rule'), ['first', 'large', 'second']);
  // The second record as a disk may have it that lost its power: the end was not written.
  const torn = Buffer.alloc(size);
  torn.set(written(journal).subarray(0, first.length + 20));
  writeFileSync(journal, torn);
  const last = await open(path, log);
  assert.equal(last.keys('rule'), ['first']);
  assert.match(lines.join('\n'), /cut 20 bytes/);
  assert.equal(new LossRepository(last).list(), []);
});

test('ignores rubbish behind the journal', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'r', '1');
  appendFileSync(`${path}.changes-000000`, Buffer.alloc(4096, 0xff));
  const again = await open(path);
  assert.equal(again.keys('rule'), ['r']);
  assert.is(statSync(`${path}.changes-000000.cut`).mode & 0o777, 0o600, 'what was cut may hold passwords');
});

test('damage within the journal costs the change it hit, not those behind it', async () => {
  const path = place();
  const store = await open(path);
  const journal = `${path}.changes-000000`;
  const ends: number[] = [];
  for (let i = 0; i < 20; i++) {
    // What looks like the begin of a record within one is none.
    await store.put('rule', `r${i}`, `[["rule","x",${i}]]`);
    ends.push(written(journal).length);
  }
  const whole = written(journal);
  for (const [name, lost, damage] of [
    ['the magic number', [], (bytes) => bytes.fill(0, 0, 8)],
    ['a length', ['r4'], (bytes) => bytes.writeUInt32LE(0x7fffffff, ends[3])],
    ['a checksum', ['r0'], (bytes) => bytes.writeUInt8((bytes[12] as number) ^ 1, 12)],
    [
      'two texts',
      ['r10', 'r17'],
      (bytes) => bytes.fill(0xff, ends[9]! + 20, ends[9]! + 22).fill(0, ends[17]! - 3, ends[17]),
    ],
    ['a block', ['r6', 'r7', 'r8'], (bytes) => bytes.fill(0, ends[5]! + 4, ends[8]! - 4)],
  ] as [string, string[], (bytes: Buffer) => unknown][]) {
    const bytes = Buffer.from(whole);
    damage(bytes);
    writeFileSync(journal, bytes);
    const { log, lines } = listener();
    const expected = Array.from({ length: 20 }, (_, i) => `r${i}`).filter((key) => !lost.includes(key));
    const store = await open(path, log);
    assert.equal(store.keys('rule').sort(byNumber), expected, name);
    // Where the damage hit the name itself it is lost with the rest.
    const named = name === 'two texts' ? ['', 'r17'] : name === 'a block' ? [''] : lost;
    assert.equal(
      new LossRepository(store).list().map((loss) => loss.name),
      named,
      name,
    );
    for (const rule of named) if (rule !== '') assert.match(lines.join('\n'), `rule ${rule} is lost: the journal`);
    const aside = /kept as (\S+),/.exec(lines.join('\n'))?.[1];
    assert.equal(readFileSync(aside ?? ''), bytes, name);
    const again = await open(path);
    await again.put('rule', 'r20', 'next');
    assert.equal((await open(path)).keys('rule').sort(byNumber), [...expected, 'r20'], `${name}, later changes`);
  }
});

test('what damage has cost is noted by its name until it is acknowledged, over restarts', async () => {
  const path = place();
  const store = await open(path);
  const journal = `${path}.changes-000000`;
  const ends: number[] = [];
  for (const [kind, key, value] of [
    ['rule', 'gone', '{"sql":"SELECT 1"}'],
    ['rule', 'changed', '1'],
    ['rule', 'changed', '2'],
    ['rule', 'superseded', '1'],
    ['rule', 'superseded', '2'],
    ['stream', 't', '{"statement":"CREATE TABLE t"}'],
    ['confKVStorage', 'sources.mqtt.plant', '{}'],
    ['script', 'say "so"', '{}'],
    ['rule', 'deleted', '1'],
    ['rule', 'deleted', null],
    ['ruleState', 'changed', '{"triggered":false}'],
    ['importStatus', 'last', '{}'],
  ] as const) {
    if (value === null) await store.delete(kind, key);
    else await store.put(kind, key, value);
    ends.push(written(journal).length);
  }
  await store.put('rule', 'last', '1');
  const bytes = written(journal);
  for (const i of [0, 2, 3, 5, 6, 7, 9, 10, 11]) bytes[ends[i]! - 3]! ^= 1;
  writeFileSync(journal, bytes);
  const { log, lines } = listener();
  const again = await open(path, log);
  const losses = new LossRepository(again);
  assert.equal(
    losses.list().map(({ resource, name, what }) => [resource, name, what]),
    [
      ['rule', 'gone', 'definition'],
      ['rule', 'changed', 'change'],
      ['table', 't', 'definition'],
      ['confKey', 'sources.mqtt.plant', 'definition'],
      ['script', 'say "so"', 'definition'],
      ['rule', 'deleted', 'deletion'],
    ],
  );
  const [gone] = losses.list();
  assert.equal(readFileSync(gone!.file ?? ''), bytes);
  assert.ok(Date.now() - gone!.time < 60_000);
  const text = lines.join('\n');
  assert.match(text, 'rule gone is lost: the journal');
  assert.match(text, 'the last change of rule changed is lost, it is as it was before: the journal');
  assert.match(text, 'that rule deleted was deleted is lost, it is there again: the journal');
  for (const id of ['2', '3', '4', '5', '6']) await losses.remove(id);
  const last = await open(path);
  assert.equal(
    new LossRepository(last).list().map(({ name }) => name),
    ['gone'],
  );
  await last.close();
  assert.equal(new LossRepository(await open(path)).list(), [gone]);
});

test('a flipped byte in the last change is told from a write that was cut short', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'first', '1');
  await store.put('rule', 'second', '2');
  const journal = `${path}.changes-000000`;
  const bytes = written(journal);
  bytes[bytes.length - 4]! ^= 1;
  writeFileSync(journal, bytes);
  const losses = new LossRepository(await open(path)).list();
  assert.equal(
    losses.map(({ name, what }) => [name, what]),
    [['second', 'definition']],
  );
  assert.match(losses[0]!.reason, 'or was never written as a whole');
});

test('what is other in the database than it was written is named', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'a', '{"sql":"SELECT a FROM s WHERE a > 1"}');
  await store.put('rule', 'b', '{"sql":"SELECT b FROM s"}');
  await store.close();
  const bytes = readFileSync(path);
  bytes[bytes.indexOf('a > 1') + 4]! ^= 1;
  writeFileSync(path, bytes);
  const again = await open(path);
  assert.is(again.get('rule', 'a'), '{"sql":"SELECT a FROM s WHERE a > 0"}');
  const losses = new LossRepository(again).list();
  assert.equal(
    losses.map(({ name, what }) => [name, what]),
    [['a', 'change']],
  );
  assert.match(losses[0]!.reason, 'another program has changed it, or it is damaged');
});

test('when database and copy are damaged that is noted, without names', async () => {
  const path = place();
  const store = await open(path);
  await store.put('rule', 'a', '1');
  await store.close();
  writeFileSync(path, readFileSync(path).fill(0xee, 100));
  writeFileSync(`${path}.image`, 'torn');
  const [loss, ...others] = new LossRepository(await open(path)).list();
  assert.equal([loss?.name, loss?.file, others.length], ['', `${path}.damaged`, 0]);
});

const byNumber = (a: string, b: string) => Number(a.slice(1)) - Number(b.slice(1));

test('sets a damaged database aside and names it', async () => {
  const path = place();
  writeFileSync(path, 'this is no database, but somebody may want it back');
  const { log, lines } = listener();
  const store = await open(path, log);
  assert.match(lines.join('\n'), new RegExp(`the database ${path} is damaged`));
  assert.match(readFileSync(`${path}.damaged`, 'utf8'), /want it back/);
  assert.match(lines.join('\n'), 'definitions come from the journal only');
  await store.put('rule', 'r', '1');
  await store.close();
  writeFileSync(path, 'damaged again');
  await open(path);
  assert.ok(existsSync(`${path}.damaged-1`));
});

test('a database that was damaged or emptied loses nothing: its content comes from the copy beside it', async () => {
  const path = place();
  const first = await open(path);
  await first.put('rule', 'a', '1');
  await first.put('rule', 'b', '1');
  await first.close();
  const killed = await open(path);
  await killed.put('rule', 'b', '2');
  for (const [damage, reason] of [
    [readFileSync(path).fill(0xee, 100), 'damaged'],
    [Buffer.alloc(0), 'it is empty'],
  ] as const) {
    writeFileSync(path, damage);
    const { log, lines } = listener();
    const again = await open(path, log);
    assert.equal(again.list('rule'), [
      ['a', '1'],
      ['b', '2'],
    ]);
    assert.match(lines.join('\n'), reason);
    assert.match(lines.join('\n'), 'definitions come from the copy of its content and the journal');
  }
  assert.equal(readFileSync(`${path}.damaged-1`).length, 0);
});

test('what could not become the database does not stay and take the room of the journal', async () => {
  const path = place();
  mkdirSync(path);
  await assertRejects(writeDatabase(path, new Map([['rule', new Map([['r', '1']])]]), 1), /EISDIR|ENOTEMPTY|EEXIST/);
  assert.equal(readdirSync(path), []);
  assert.not.ok(existsSync(`${path}.tmp`));
  // A process that is killed while it writes leaves its half.
  rmSync(path, { recursive: true });
  writeFileSync(`${path}.tmp`, 'half');
  await open(path);
  assert.not.ok(existsSync(`${path}.tmp`));
});

async function assertRejects(promise: Promise<unknown>, reason: RegExp): Promise<void> {
  const error = await promise.catch((thrown: unknown) => thrown);
  assert.match(String(error), reason);
}

test('an empty file is an empty database', async () => {
  const path = place();
  writeFileSync(path, '');
  const { log, lines } = listener();
  assert.equal((await open(path, log)).keys('rule'), []);
  assert.equal(lines, []);
});

test('folds the journal into the database when it grows', async () => {
  const path = place();
  const store = await open(path, silent, 2000);
  for (let i = 0; i < 200; i++) await store.put('rule', `r${i % 7}`, `${i}`.padStart(100, ' '));
  await store.close();
  const again = await open(path);
  assert.equal(
    again.list('rule').map(([, value]) => Number(value)),
    [196, 197, 198, 199, 193, 194, 195],
  );
  assert.equal(readdirSync(join(path, '..')).sort(), ['sqliteKV.db', 'sqliteKV.db.image']);
});

test('keeps what was acknowledged when the process ends while folding', async () => {
  const path = place();
  const store = await open(path, silent, 500);
  for (let i = 0; i < 60; i++) {
    await store.put('rule', `r${i}`, 'x'.repeat(50));
    if (i % 10 === 0) {
      const again = await open(copyOf(path));
      assert.is(again.keys('rule').length, i + 1);
    }
  }
  await store.close();
});

/** Copies the folder of a store as it is on disk at this moment. */
function copyOf(path: string): string {
  const folder = join(path, '..');
  const target = temporaryFolder();
  for (const name of readdirSync(folder)) writeFileSync(join(target, name), readFileSync(join(folder, name)));
  return join(target, 'sqliteKV.db');
}

test('changes that arrive together share a write', async () => {
  const path = place();
  const store = await open(path);
  const started = performance.now();
  await Promise.all(Array.from({ length: 2000 }, (_, i) => store.put('rule', `r${i}`, `${i}`)));
  assert.ok(performance.now() - started < 2000);
  const again = await open(path);
  assert.is(again.keys('rule').length, 2000);
});

test('undoes a change that could not be written', async () => {
  const blocked = join(temporaryFolder(), 'gone');
  const lost = await open(join(blocked, 'db'));
  rmSync(blocked, { recursive: true });
  let reason = '';
  await lost.put('rule', 'r', '1').catch((error: Error) => {
    reason = error.message;
  });
  assert.match(reason, /the change could not be saved/);
  assert.is(lost.get('rule', 'r'), undefined);
  mkdirSync(blocked);
  await lost.put('rule', 'r', '2');
  assert.is(lost.get('rule', 'r'), '2');
});

test(
  'takes over streams and rules of an eKuiper database, tells what else it has, and keeps the ' + 'original',
  async () => {
    const path = place();
    const sql = await initSqlJs();
    const db = new sql.Database();
    db.run("CREATE TABLE 'stream'('key' VARCHAR(255) PRIMARY KEY, 'val' BLOB)");
    const text = `{"streamType":0,"statement":"${'x'.repeat(300)}"}`;
    const size = text.length;
    const inner = [0x0c, 0x00, 0xfe, size >> 8, size & 255];
    const message = inner.length + size;
    const gob = Buffer.concat([Buffer.from([0xfe, message >> 8, message & 255, ...inner]), Buffer.from(text)]);
    db.run("INSERT INTO 'stream' VALUES ('demo', ?)", [gob]);
    for (const table of ['script', 'confKVStorage', 'schemaStatus']) {
      db.run(`CREATE TABLE '${table}'('key' VARCHAR(255) PRIMARY KEY, 'val' BLOB)`);
    }
    db.run("INSERT INTO 'script' VALUES ('f', ?)", [gob]);
    db.run("INSERT INTO 'confKVStorage' VALUES ('sources.mqtt.a', ?), ('sources.mqtt.b', ?)", [gob, gob]);
    db.run("INSERT INTO 'confKVStorage' VALUES ('connectionYamlProvision.hash', ?)", [gob]);
    writeFileSync(path, db.export());
    const { log, lines } = listener();
    const store = await open(path, log);
    assert.is(store.get('stream', 'demo'), text);
    assert.equal([store.keys('script'), store.keys('confKVStorage')], [[], []]);
    assert.is(lines.length, 1);
    assert.match(lines[0] ?? '', /other records are not \(script 1, confKVStorage 2\); export them there/);
    assert.ok(existsSync(`${path}.before-haumea`));
    await store.close();
    assert.is(textOf(Buffer.from('plain text')), 'plain text');
  },
);

test.run();
