/**
 * Writes rows to a table. All messages that have come while a batch is written are the next one. With checkpoints at
 * qos 2 batches go to a table of their own first, and from there when the checkpoint counts.
 */
import { isAscii } from 'node:buffer';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { sqlPeer } from '../../clients/sql/address.js';
import { type DatabaseConf, type SharedDatabase, SqlDatabases } from '../../clients/sql/database.js';
import { dialects } from '../../clients/sql/dialect.js';
import type { SqlConnection } from '../../clients/sql/driver.js';
import { isForLater } from '../../clients/sql/errors.js';
import { MessageCutter } from '../frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { TableColumns } from './columns.js';
import { sqlErrors } from './errors.js';
import { checkFile } from './file.js';
import { type RowForm, RowReader, type SqlRow } from './rows.js';
import { Stage, type StagePosition } from './stage.js';
import { RowWriter } from './writer.js';

export interface SqlSinkConf extends DatabaseConf, RowForm {
  table: string;
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
  readonly #database: SharedDatabase;
  readonly #writer: RowWriter;
  readonly #reader: RowReader;
  readonly #cutter = new MessageCutter();
  readonly #stage: Stage | undefined;
  #queue: Message[] = [];
  /** Messages at the begin of the queue that are taken out already. */
  #taken = 0;
  /** Batch whose answer was lost: the database may have it, so it comes again as it was. */
  #unsure: readonly Message[] | undefined;
  #isConnected = false;
  #isBusy = false;
  #isClosed = false;
  #isScheduled = false;
  #onIdle: (() => void)[] = [];

  constructor(
    readonly conf: SqlSinkConf,
    readonly context: SinkContext,
  ) {
    checkFile(conf.dburl, context.paths, 'write');
    this.#database = context.shared('sql.databases', () => new SqlDatabases()).take(conf);
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

  async open(): Promise<void> {
    try {
      await this.#database.use(async (connection) => {
        if (this.#stage === undefined) await connection.run('SELECT 1');
        else await this.#stage.open(connection);
      });
    } catch (error) {
      if (error instanceof HaumeaError && error.kind === 'config') throw error;
      throw sqlErrors.away(reasonOf(error), { cause: error });
    }
    this.#isConnected = true;
    void this.#work();
  }

  write(chunk: SinkChunk): void {
    const { bytes } = chunk;
    let left = bytes.length;
    // Places of letters are those of bytes then.
    const whole = isAscii(bytes) ? textOf(bytes, 'latin1') : undefined;
    this.#cutter.cut(chunk, (view) => {
      const from = bytes.length - left;
      left -= view.length;
      this.#add(whole?.slice(from, from + view.length) ?? textOf(view, 'utf8'), view);
    });
    if (left > 0) this.context.accepted(left, 0);
    this.#schedule();
  }

  #add(text: string, view: Uint8Array): void {
    const refusals: Refusal[] = [];
    try {
      const rows = this.#reader.read(text, (row, reason) => refusals.push({ text: row, reason }));
      if (rows.length > 0) this.#queue.push({ bytes: view.length, rows, cut: this.#stage?.cut ?? 0 });
      this.#refuse(rows.length > 0 ? 0 : view.length, refusals, rows.length === 0);
      if (rows.length + refusals.length === 0) this.context.accepted(view.length, 1);
    } catch (error) {
      this.context.refused(view, view.length, 1, reasonOf(error));
    }
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
    this.#database.giveBack();
  }

  get #isIdle(): boolean {
    return !this.#isBusy && this.#taken === this.#queue.length && this.#stage?.isReleasing !== true;
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
      const batch = this.#unsure ?? this.#batch();
      if (batch.length === 0 && this.#stage?.isReleasing !== true) break;
      try {
        await this.#database.use((connection) => this.#do(connection, batch));
        this.#unsure = undefined;
      } catch (error) {
        this.#unsure = batch.length === 0 ? undefined : batch;
        this.#lost(error);
        break;
      }
    }
    this.#isBusy = false;
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }

  /** The next messages of one transaction; they stay in the queue until they are written. */
  #batch(): Message[] {
    const batch: Message[] = [];
    let rows = 0;
    let bytes = 0;
    for (let i = this.#taken; i < this.#queue.length && rows < batchRows && bytes < batchBytes; i++) {
      const message = this.#queue[i]!;
      if (message.cut !== (batch[0] ?? message).cut) break;
      batch.push(message);
      rows += message.rows.length;
      bytes += message.bytes;
    }
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
    const isReleased = this.#stage?.isReleased(this.#queue[this.#taken]?.cut) === true;
    // What is released has to be in the table of its own as a whole.
    if (this.#stage?.isReleasing === true && !isReleased) await this.#stage.releaseAll(connection);
  }

  #settle(batch: readonly Message[], refused: ReadonlyMap<SqlRow, string>): void {
    this.#taken += batch.length;
    if (this.#taken > 1000 || this.#taken === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#taken);
      this.#taken = 0;
    }
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

function textOf({ buffer, byteOffset, length }: Uint8Array, encoding: 'latin1' | 'utf8'): string {
  return Buffer.from(buffer, byteOffset, length).toString(encoding);
}
