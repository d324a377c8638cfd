/**
 * Other programs do not see the locks of the SQLite that runs here, and it does not see theirs. So the file is looked
 * at: it may be read while others write, for a read that a change falls into is repeated; it is only written when
 * nobody else uses it.
 */
import { closeSync, openSync, readSync, realpathSync, rmdirSync, statSync } from 'node:fs';
import { SqlError } from '../errors.js';
import { type Holder, isOpenTwice, lockerOf, openersOf, seesProcesses } from './holders.js';

/** What tells whether a file was changed. */
interface Facts {
  /** Rises with each transaction that writes. */
  readonly counter: number;
  readonly size: number;
}

/** Interval at which processes are searched for the file, ms: that takes milliseconds. */
const searchMs = 1000;
/** Pause between two looks, ms. */
const lookMs = 10;

export class FileGuard {
  /** Absolute, without links. */
  readonly path: string;
  /**
   * What a killed program has left half written may be rolled back. While another program may be at work that would
   * undo what it does.
   */
  mayRecover = false;
  #last: Facts | undefined;
  /** Number of the file that is open: another one may get its name. */
  readonly #inode: number;
  #searchedAt = Number.NEGATIVE_INFINITY;

  constructor(
    path: string,
    readonly waitMs: number,
  ) {
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined) throw new SqlError('away', `there is no file ${path}`);
    this.#inode = file.ino;
    this.path = realpathSync(path);
  }

  /** Reads until no change falls into it. */
  read<T>(look: () => T): T {
    const end = performance.now() + this.waitMs;
    for (;;) {
      this.#unlocked(end);
      const before = this.#quiet(end);
      let result: { readonly value: T } | { readonly error: unknown };
      try {
        result = { value: look() };
      } catch (error) {
        result = { error };
      }
      if (this.#isStill(before)) {
        if ('value' in result) return result.value;
        throw result.error;
      }
      if (performance.now() > end) throw new SqlError('later', 'other programs change the file all the time');
    }
  }

  /** To be called before a transaction that writes; throws `SqlError` when somebody else uses the file. */
  beforeWrite(): void {
    const end = performance.now() + this.waitMs;
    this.#unlocked(end);
    if (performance.now() - this.#searchedAt > searchMs) {
      const [other] = openersOf(this.path);
      if (other !== undefined) throw new SqlError('later', `${needsAlone}: ${named(other)} has it open`);
      this.#searchedAt = performance.now();
    }
    const locker = lockerOf(this.path);
    if (locker !== undefined) throw new SqlError('later', `${needsAlone}: ${named(locker)} has locked it`);
    const hasJournal = this.#hasJournal();
    this.mayRecover = hasJournal && this.#isLeft();
    if (hasJournal && !this.mayRecover) throw new SqlError('later', `${needsAlone}: another program writes it`);
    const facts = this.#facts();
    const last = this.#last;
    this.#last = facts;
    if (last !== undefined && (last.counter !== facts.counter || last.size !== facts.size)) {
      throw new SqlError('later', `${needsAlone}: another program has changed it since the last transaction`);
    }
  }

  /** To be called after it. */
  afterWrite(): void {
    const now = this.#facts();
    const expected = ((this.#last?.counter ?? now.counter) + 1) >>> 0;
    // A change between is found before the next transaction.
    if (now.counter !== this.#last?.counter) this.#last = { counter: expected, size: now.size };
  }

  /** Waits until no other writer is at work; throws when that takes too long. */
  #quiet(end: number): Facts {
    for (;;) {
      const locker = lockerOf(this.path);
      this.mayRecover = false;
      const hasJournal = this.#hasJournal();
      if (locker === undefined && !hasJournal) return this.#facts();
      if (locker === undefined && this.#isLeft()) {
        this.mayRecover = true;
        return this.#facts();
      }
      if (performance.now() > end) {
        throw new SqlError(
          'later',
          `${locker === undefined ? 'another program' : named(locker)} keeps the file locked`,
        );
      }
      pause(lookMs);
    }
  }

  /** Whether nobody writes the journal that is there. Where the system does not tell that, nobody may. */
  #isLeft(): boolean {
    return seesProcesses && openersOf(this.path).length === 0;
  }

  #isStill(before: Facts): boolean {
    if (this.#hasJournal()) return false;
    const after = this.#facts();
    return before.counter === after.counter && before.size === after.size;
  }

  /** A journal without a header belongs to no transaction. */
  #hasJournal(): boolean {
    const head = headOf(`${this.path}-journal`, 8);
    return head?.some((byte) => byte !== 0) === true;
  }

  #facts(): Facts {
    const file = statSync(this.path, { throwIfNoEntry: false });
    const head = file && headOf(this.path, 100);
    if (head === undefined) throw new SqlError('away', `there is no file ${this.path}`);
    if (file?.ino !== this.#inode) throw new SqlError('away', `another file is at ${this.path} now`);
    if (head.length < 100) return { counter: 0, size: head.length };
    if (head[18] === 2 || head[19] === 2) {
      throw new SqlError('later', 'the file is in WAL mode, which is not supported: set PRAGMA journal_mode = DELETE');
    }
    return { counter: head.readUInt32BE(24), size: file.size };
  }

  /**
   * The lock of the library is a folder. One that stays while no other process and no other thread has the file open is
   * what a killed program has left.
   */
  #unlocked(end: number): void {
    const lock = `${this.path}.lock`;
    const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (made === undefined) return;
    for (;;) {
      const now = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
      if (now === undefined) return;
      const [other] = openersOf(this.path);
      if (seesProcesses && other === undefined && !isOpenTwice(this.path)) {
        removeFolder(lock);
        return;
      }
      if (performance.now() > end) {
        const who = other === undefined ? 'another program' : named(other);
        throw new SqlError('later', `${who} has the lock ${lock}`);
      }
      pause(lookMs);
    }
  }
}

const needsAlone = 'the sql sink needs the file for itself';

const named = ({ pid, name }: Holder) => `process ${pid} (${name})`;

function headOf(path: string, length: number): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const head = Buffer.alloc(length);
    return head.subarray(0, readSync(file, head, 0, length, 0));
  } finally {
    closeSync(file);
  }
}

function removeFolder(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Somebody else has removed it.
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
