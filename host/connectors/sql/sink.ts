/**
 * Writes rows to a table. All messages that have come while a batch is written are the next one. With checkpoints at
 * qos 2 batches go to a table of their own first, and from there when the checkpoint counts.
 */
import { isAscii } from 'node:buffer';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { sqlPeer } from '../../clients/sql/address.js';
import type { SharedDatabase } from '../../clients/sql/database.js';
import { dialects } from '../../clients/sql/dialect.js';
import type { SqlConnection } from '../../clients/sql/driver.js';
import { isForLater } from '../../clients/sql/errors.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { TableColumns } from './columns.js';
import { sqlErrors } from './errors.js';
import { checkFile } from './file.js';
import { type RowForm, RowReader, type SqlRow } from './rows.js';
import { type SqlConf, takeDatabase } from './settings.js';
import { Stage, type StagePosition } from './stage.js';
import { RowWriter } from './writer.js';

export interface SqlSinkConf extends SqlConf, RowForm {
  table: string;
}

/** Messages as they came. They are read when their turn comes: there may be many that wait. */
interface Unread {
  readonly bytes: Buffer;
  /** Where each message ends. */
  readonly ends: Uint32Array;
  /** The first that is not read. */
  next: number;
  readonly cut: number;
}

interface Message {
  /** Credit that is given back when the message is written, bytes. */
  readonly bytes: number;
  readonly rows: readonly SqlRow[];
  /** Number of the transaction that it belongs to; 0 without transactions. */
  readonly cut: number;
}

/** A row that is not written, as its JSON, and why. */
interface Refusal {
  readonly text: string;
  readonly reason: string;
}

/** Most rows and bytes of a batch. */
const batchRows = 5000;
const batchBytes = 1 << 20;

export class SqlSink implements Sink {
  readonly peer: string;
  #database: SharedDatabase;
  /** The database with the renewed login, used from the next call of `open` on. */
  #renewed: SharedDatabase | undefined;
  readonly #writer: RowWriter;
  readonly #reader: RowReader;
  readonly #stage: Stage | undefined;
  #queue: Unread[] = [];
  /** Batch that is being written. When its answer is lost the database may have it, so it comes again as it was. */
  #unsure: readonly Message[] | undefined;
  /** The batch behind it, which is read while the database works. */
  #ahead: readonly Message[] | undefined;
  #isConnected = false;
  #isBusy = false;
  #isClosed = false;
  /** What is under way when it closes is given up. */
  readonly #ending = new AbortController();
  #isScheduled = false;
  #onIdle: (() => void)[] = [];

  constructor(
    readonly conf: SqlSinkConf,
    readonly context: SinkContext,
  ) {
    checkFile(conf.dburl, context.paths, 'write');
    this.#database = takeDatabase(conf, context);
    this.peer = sqlPeer(conf.dburl);
    this.#reader = new RowReader(conf);
    const dialect = dialects[this.#database.address.kind];
    this.#writer = new RowWriter(dialect, new TableColumns(dialect, conf.table), conf);
    const { transactionName: name } = context;
    this.#stage =
      name === undefined
        ? undefined
        : new Stage(name, this.#writer, (text, reason) => this.#refuse(0, [{ text, reason }], false));
  }

  renew(conf: SqlSinkConf): void {
    this.#renewed?.giveBack();
    this.#renewed = takeDatabase(conf, this.context);
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      this.#database.giveBack();
      this.#database = this.#renewed;
      this.#renewed = undefined;
    }
    const begin = async (connection: SqlConnection) => {
      if (this.#stage === undefined) await connection.run('SELECT 1');
      else await this.#stage.open(connection);
    };
    try {
      await this.#database.use(begin, this.#ending.signal);
    } catch (error) {
      if (error instanceof HaumeaError && error.kind === 'config') throw error;
      throw sqlErrors.away(reasonOf(error), { cause: error });
    }
    this.#isConnected = true;
    void this.#work();
  }

  write({ bytes, ends: given }: SinkChunk): void {
    const ends = given === null ? Uint32Array.of(bytes.length) : given.slice();
    const left = bytes.length - (ends.at(-1) ?? 0);
    this.#queue.push({ bytes: Buffer.from(bytes), ends, next: 0, cut: this.#stage?.cut ?? 0 });
    if (left > 0) this.context.accepted(left, 0);
    this.#schedule();
  }

  /** Reads a message; undefined when there is nothing in it to write. */
  #read(text: string, view: Uint8Array, cut: number): Message | undefined {
    const refusals: Refusal[] = [];
    try {
      const rows = this.#reader.read(text, (row, reason) => refusals.push({ text: row, reason }));
      this.#refuse(rows.length > 0 ? 0 : view.length, refusals, rows.length === 0);
      if (rows.length > 0) return { bytes: view.length, rows, cut };
      if (refusals.length === 0) this.context.accepted(view.length, 1);
    } catch (error) {
      this.context.refused(view, view.length, 1, reasonOf(error));
    }
    return undefined;
  }

  /** Counts refused rows; the message is lost with them when none of its rows is left. */
  #refuse(bytes: number, refusals: readonly Refusal[], isLost: boolean): void {
    refusals.forEach(({ text, reason }, i) => {
      const isFirst = i === 0;
      this.context.refused(Buffer.from(text), isFirst ? bytes : 0, isFirst && isLost ? 1 : 0, reason);
    });
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  position(): StagePosition | undefined {
    return this.#stage?.next();
  }

  cutBack(position: unknown): void {
    this.#stage?.keep(position as StagePosition);
  }

  sync(): Promise<void> {
    return this.flush();
  }

  commit(position: unknown): void {
    this.#stage?.release(position as StagePosition);
    this.#schedule();
  }

  async close(): Promise<void> {
    // What is not released by then is at the next start.
    if (this.#isConnected && this.#stage !== undefined) await this.flush();
    this.#isClosed = true;
    this.#isConnected = false;
    this.#ending.abort();
    this.#renewed?.giveBack();
    this.#database.giveBack();
  }

  get #isIdle(): boolean {
    const isWritten = this.#queue.length === 0 && this.#unsure === undefined && this.#ahead === undefined;
    return !this.#isBusy && isWritten && this.#stage?.isReleasing !== true;
  }

  /** Begins at the end of this turn of the event loop. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      void this.#work();
    });
  }

  /** Writes until nothing is left. */
  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#isConnected && !this.#isClosed) {
      const batch = this.#unsure ?? this.#ahead ?? this.#batch();
      if (batch !== this.#unsure) this.#ahead = undefined;
      if (batch.length === 0 && this.#stage?.isReleasing !== true) break;
      this.#unsure = batch.length === 0 ? undefined : batch;
      const reading = setImmediate(() => this.#readAhead());
      try {
        await this.#database.use((connection) => this.#do(connection, batch), this.#ending.signal);
        this.#unsure = undefined;
      } catch (error) {
        this.#lost(error);
        break;
      } finally {
        clearImmediate(reading);
      }
    }
    this.#isBusy = false;
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }

  /** Reads the next batch when the database has got the one before. */
  #readAhead(): void {
    if (this.#isClosed || this.#ahead !== undefined) return;
    const batch = this.#batch();
    if (batch.length > 0) this.#ahead = batch;
  }

  /** The next messages of one transaction. */
  #batch(): Message[] {
    const batch: Message[] = [];
    let rows = 0;
    let bytes = 0;
    let over = 0;
    for (const unread of this.#queue) {
      if (unread.cut !== (batch[0] ?? unread).cut || rows >= batchRows || bytes >= batchBytes) break;
      const { ends, cut } = unread;
      let from = unread.next === 0 ? 0 : ends[unread.next - 1]!;
      const start = from;
      const part = unread.bytes.subarray(start, start + batchBytes);
      // Places of letters are those of bytes then.
      const text = isAscii(part) ? part.toString('latin1') : '';
      for (; unread.next < ends.length && rows < batchRows && bytes < batchBytes; unread.next++) {
        const end = ends[unread.next]!;
        const view = unread.bytes.subarray(from, end);
        const own = end - start <= text.length ? text.slice(from - start, end - start) : view.toString();
        const message = this.#read(own, view, cut);
        from = end;
        if (message === undefined) continue;
        batch.push(message);
        rows += message.rows.length;
        bytes += message.bytes;
      }
      if (unread.next < ends.length) break;
      over++;
    }
    if (over > 0) this.#queue = this.#queue.slice(over);
    return batch;
  }

  async #do(connection: SqlConnection, batch: readonly Message[]): Promise<void> {
    const first = batch[0];
    if (first !== undefined) {
      const refused = new Map<SqlRow, string>();
      const rows = batch.length === 1 ? first.rows : batch.flatMap((message) => message.rows);
      if (this.#stage === undefined) {
        await this.#writer.write(connection, rows, (row, reason) => refused.set(row, reason));
      } else {
        await this.#stage.add(connection, first.cut, rows);
      }
      this.#settle(batch, refused);
    }
    const { cut } = this.#ahead?.[0] ?? this.#queue[0] ?? {};
    const isReleased = this.#stage?.isReleased(cut) === true;
    // What is released has to be in the table of its own as a whole.
    if (this.#stage?.isReleasing === true && !isReleased) await this.#stage.releaseAll(connection);
  }

  #settle(batch: readonly Message[], refused: ReadonlyMap<SqlRow, string>): void {
    if (this.#isClosed) return;
    let bytes = 0;
    let messages = 0;
    for (const message of batch) {
      const refusals = refused.size === 0 ? [] : refusalsOf(message.rows, refused);
      const isLost = refusals.length > 0 && refusals.length === message.rows.length;
      this.#refuse(isLost ? message.bytes : 0, refusals, isLost);
      if (isLost) continue;
      bytes += message.bytes;
      messages++;
    }
    if (messages > 0) this.context.accepted(bytes, messages);
  }

  /** The batch is written on the next connection. */
  #lost(error: unknown): void {
    if (this.#isClosed) return;
    this.#isConnected = false;
    this.#writer.table.forget();
    this.context.disconnected(reasonOf(error), isForLater(error));
  }
}

function refusalsOf(rows: readonly SqlRow[], refused: ReadonlyMap<SqlRow, string>): Refusal[] {
  return rows.flatMap((row) => {
    const reason = refused.get(row);
    return reason === undefined ? [] : { text: row.text, reason };
  });
}
