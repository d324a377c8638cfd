/**
 * The store on one machine: values in memory, every change appended to a journal before it is acknowledged, the whole
 * written to a SQLite file when the journal has grown and at a clean stop.
 *
 *     sqliteKV.db                 all changes of the journals below its generation
 *     sqliteKV.db.changes-000007  journal number 7; replayed at start when the generation is 7 or less
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { makeFolderSync, syncFolder } from '../../base/files/folder.js';
import type { Logger } from '../../base/log/log.js';
import { threadEntry } from '../../base/program/bundle.js';
import { compileNoBetter, startThread } from '../../base/program/heap.js';
import type { Loss } from '../../model/losses.js';
import { storedErrors } from '../errors.js';
import { kinds as names } from '../kinds.js';
import type { Store, StoreChange } from '../store.js';
import { applyChange, ValueStore } from '../values.js';
import { ChangeLog, type Damage, encodeRecord, readRecords } from './change-log.js';
import { readDatabase, temporaryOf } from './database.js';
import type { Kinds } from './database-content.js';
import { readLastImage } from './database-image.js';
import { lossChanges, lossText } from './losses.js';

export interface StoreOptions {
  /** Path of the SQLite file. */
  readonly path: string;
  readonly log: Logger;
  /** The journal is folded into the database when it is larger than this and than the database content. */
  readonly snapshotBytes?: number;
}

const defaultSnapshotBytes = 1 << 20;

/**
 * Opens the store, creating what is missing; recovers from torn writes and sets damaged files aside. What is lost with
 * them is told in the log and noted (losses.ts).
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, log } = options;
  makeFolderSync(dirname(path), true);
  // Left behind by a process that was killed while it wrote.
  rmSync(temporaryOf(path), { force: true });
  const { kinds, generation, losses } = await readContent(path, log);
  const journals = replay(path, kinds, generation, log);
  const known = kinds.get(names.loss) ?? new Map<string, string>();
  const all = [...losses, ...(await lossesIn(journals, kinds))];
  for (const loss of all) log.error(lossText(loss));
  const changes = lossChanges(all, known);
  let { goodBytes } = journals;
  for (const { name, repaired, number } of journals.damaged) {
    // Losses are noted in the same write that replaces the last journal by its whole records.
    const isLast = number === journals.last && changes.length > 0;
    const bytes = isLast ? Buffer.concat([repaired, encodeRecord(changes)]) : repaired;
    replaceFile(name, bytes);
    if (!isLast) continue;
    goodBytes = bytes.length;
    for (const change of changes.splice(0)) applyChange(kinds, change);
  }
  const store = new JournalStore(options, kinds, journals.last, goodBytes);
  // The log has them at least.
  await store.batch(changes).catch((error: unknown) => log.error(reasonOf(error)));
  return store;
}

/** Reads the content of the database; of a damaged database, the copy of its content. */
async function readContent(
  path: string,
  log: Logger,
): Promise<{ kinds: Kinds; generation: number; losses: readonly Loss[] }> {
  if (!existsSync(path)) return { kinds: new Map(), generation: 0, losses: [] };
  try {
    const content = await readDatabase(path);
    const { isOwn, generation } = content;
    const kinds = new Map(isOwn ? content.kinds : takenOver(content.kinds, log));
    // The other engine's file stays as it was: ours will take its name.
    const original = `${path}.before-haumea`;
    if (!isOwn && !existsSync(original)) await copyFile(path, original);
    const copy = isOwn && content.isAsWritten !== true ? readLastImage(path) : undefined;
    const cause = 'another program has changed it, or it is damaged';
    const reason = `the database ${path} is another than the server wrote: ${cause}`;
    if (copy?.generation !== generation) return { kinds, generation, losses: [] };
    const { differencesOf } = await import('./damage.js');
    const losses = differencesOf(copy.kinds, kinds, reason);
    return { kinds, generation, losses };
  } catch (error) {
    const aside = freeName(`${path}.damaged`);
    renameSync(path, aside);
    const copy = readLastImage(path);
    const origin = copy === undefined ? 'the journal only' : 'the copy of its content and the journal';
    log.error(`${reasonOf(error)}; it was kept as ${aside}, definitions come from ${origin}`);
    const reason = `${reasonOf(error)}, and so is the copy of its content, or there is none`;
    const losses: Loss[] = copy ? [] : [{ resource: '', name: '', what: 'definition', reason, file: aside }];
    return { kinds: new Map(copy?.kinds), generation: copy?.generation ?? 0, losses };
  }
}

interface Replayed {
  /** Number of the last journal, and the length of its whole part. */
  readonly last: number;
  readonly goodBytes: number;
  /** Damaged journals that are to be replaced by their whole records. */
  readonly damaged: readonly { name: string; number: number; repaired: Buffer }[];
  readonly lost: readonly { damages: readonly Damage[]; reason: string; file: string }[];
}

/** Makes the changes of the journals from a generation on, and removes those before it. */
function replay(path: string, kinds: Kinds, generation: number, log: Logger): Replayed {
  let goodBytes = 0;
  let last = generation;
  const damaged: { name: string; number: number; repaired: Buffer }[] = [];
  let lost: Replayed['lost'] = [];
  for (const number of journalNumbers(path)) {
    const name = journalName(path, number);
    if (number < generation) {
      rmSync(name);
      continue;
    }
    const { records, damages, goodBytes: good, tail, repaired } = readRecords(readFileSync(name));
    for (const changes of records) for (const change of changes) applyChange(kinds, change);
    lost = lost.map((one) => ({
      ...one,
      damages: one.damages.map(({ bytes, later }) => ({ bytes, later: [...later, ...records] })),
    }));
    let file = `${name}.cut`;
    if (repaired !== undefined) {
      file = freeName(`${name}.damaged`);
      copyFileSync(name, file);
      damaged.push({ name, number, repaired });
      log.error(`the journal ${name} is damaged; it was kept as ${file}, all of its changes that are whole are taken`);
    } else if (tail.length > 0) {
      writeFileSync(file, tail, { mode: 0o600 });
      log.warn(`cut ${tail.length} bytes of an unfinished change from ${name}, kept as ${file}`);
    }
    const ofTail =
      'the end of the journal is damaged, or was never written as a whole: then nobody was told that it is safe';
    const reason = repaired === undefined ? ofTail : `the journal ${name} is damaged`;
    if (damages.length > 0) lost = [...lost, { damages, file, reason }];
    last = number;
    goodBytes = repaired?.length ?? good;
  }
  return { last, goodBytes, damaged, lost };
}

async function lossesIn({ lost }: Replayed, kinds: Kinds): Promise<Loss[]> {
  if (lost.length === 0) return [];
  const { lossesOf } = await import('./damage.js');
  return lost.flatMap(({ damages, reason, file }) => lossesOf(damages, kinds, reason, file));
}

/** Kinds that eKuiper keeps in the same form; all others could not be read and are only named in a warning. */
const sharedKinds: ReadonlySet<string> = new Set([names.source, names.rule]);

/** Kind and key of the records that eKuiper keeps for itself and that nobody would miss. */
const ownNotes: ReadonlySet<string> = new Set([
  'eKuiperMeta_bump_version version',
  'confKVStorage connectionYamlProvision.hash',
]);

function takenOver(all: Kinds, log: Logger): Kinds {
  const left = [...all]
    .filter(([kind]) => !sharedKinds.has(kind))
    .map(([kind, rows]) => [kind, [...rows.keys()].filter((key) => !ownNotes.has(`${kind} ${key}`)).length] as const)
    .filter(([, count]) => count > 0);
  if (left.length > 0) {
    const counts = left.map(([kind, count]) => `${kind} ${count}`).join(', ');
    log.warn(
      `the database is of eKuiper: streams, tables and rules are taken over, other records are not (${counts}); ` +
        'export them there and import them here',
    );
  }
  return new Map([...all].filter(([kind]) => sharedKinds.has(kind)));
}

class JournalStore extends ValueStore {
  readonly #path: string;
  readonly #log: Logger;
  readonly #snapshotBytes: number;
  /** Number of the journal that takes changes. */
  #generation: number;
  /** Length of the journal's whole part, bytes, until the first change opens the journal. */
  #goodBytes: number;
  #journal: Promise<ChangeLog> | undefined;
  #snapshotSize = 0;
  #snapshot: Promise<void> | undefined;

  constructor(options: StoreOptions, kinds: Kinds, generation: number, goodBytes: number) {
    super(kinds);
    this.#path = options.path;
    this.#log = options.log;
    this.#snapshotBytes = options.snapshotBytes ?? defaultSnapshotBytes;
    this.#generation = generation;
    this.#goodBytes = goodBytes;
    this.#snapshotSize = sizeOf(kinds);
  }

  protected async write(changes: readonly StoreChange[]): Promise<void> {
    const before = this.apply(changes);
    try {
      const journal = await this.#openJournal();
      await journal.append(changes);
      this.#foldIfLarge(journal);
    } catch (error) {
      this.apply(before.reverse());
      throw storedErrors.notSaved(reasonOf(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.#snapshot;
    if (journalNumbers(this.#path).length > 0) {
      // Writing a large database would pay for faster code.
      if (sizeOf(this.kinds) < defaultSnapshotBytes) compileNoBetter();
      await this.#fold();
    }
    await (await this.#journal?.catch(() => undefined))?.close();
  }

  #openJournal(): Promise<ChangeLog> {
    if (this.#journal === undefined) {
      const name = journalName(this.#path, this.#generation);
      const opening = ChangeLog.open(name, this.#goodBytes).then(async (journal) => {
        await syncFolder(dirname(name));
        return journal;
      });
      this.#journal = opening;
      // A disk that was full may have room at the next change.
      opening.catch(() => {
        if (this.#journal === opening) this.#journal = undefined;
      });
    }
    return this.#journal;
  }

  #foldIfLarge(journal: ChangeLog): void {
    if (this.#snapshot !== undefined || this.isClosed) return;
    if (journal.sizeBytes < Math.max(this.#snapshotBytes, 2 * this.#snapshotSize)) return;
    this.#snapshot = this.#fold().finally(() => {
      this.#snapshot = undefined;
    });
  }

  /** Starts the next journal, writes everything known into the database file and removes the journals it contains. */
  async #fold(): Promise<void> {
    const contained = this.#generation;
    const old = this.#journal;
    try {
      this.#generation++;
      this.#goodBytes = 0;
      this.#journal = undefined;
      // Changes that wait in the old journal are in the copy below already; the journal is removed after they settled.
      await (await old)?.close();
      this.#snapshotSize = sizeOf(this.kinds);
      await writeInThread(this.#path, this.kinds, this.#generation);
      for (const number of journalNumbers(this.#path)) {
        if (number <= contained) rmSync(journalName(this.#path, number), { force: true });
      }
    } catch (error) {
      // The journals stay and are replayed in order: nothing is lost, the next attempt comes with more changes.
      this.#log.error(`the database ${this.#path} could not be written: ${reasonOf(error)}`);
    }
  }
}

/** Copies the values to a thread that writes them. */
function writeInThread(path: string, kinds: Kinds, generation: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = startThread(threadEntry('snapshot-worker.mjs', 'host/meta/journal/snapshot-worker.ts'), {
      workerData: { path, kinds, generation },
    });
    worker.once('message', ({ error }: { error: string | undefined }) => {
      if (error === undefined) resolve();
      else reject(new Error(error));
    });
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the writing thread ended with code ${code}`)));
  });
}

function journalName(path: string, number: number): string {
  return `${path}.changes-${String(number).padStart(6, '0')}`;
}

/** Numbers of the journals that exist, ascending. */
function journalNumbers(path: string): number[] {
  const prefix = `${basename(path)}.changes-`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** Puts a file in the place of another, on disk before it takes the name. */
function replaceFile(path: string, bytes: Buffer): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

function freeName(wanted: string): string {
  for (let i = 0; ; i++) {
    const name = i === 0 ? wanted : join(dirname(wanted), `${basename(wanted)}-${i}`);
    if (!existsSync(name)) return name;
  }
}

/** Characters of all keys and values: about the size of the database. */
function sizeOf(kinds: Kinds): number {
  let size = 0;
  for (const rows of kinds.values()) for (const [key, value] of rows) size += key.length + value.length;
  return size;
}
