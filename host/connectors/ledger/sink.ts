/**
 * Writes messages in transactions. All that comes between two checkpoints is one: it ends when the checkpoint is taken,
 * is prepared before that counts, and committed when it does. At the start what the checkpoint holds is committed, if
 * it is not yet, and all else is aborted. Orders go out in order, are confirmed in order, and are sent again on the
 * next connection as long as they are not; the ledger knows those that it has.
 */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { errorTable, reasonOf } from '../../base/errors.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';

const ledgerErrors = errorTable('ledger', {
  connection: ['connection', (reason: string) => `ledger: ${reason}`],
});

/** Position behind a transaction, by its number. */
interface LedgerPosition {
  readonly transaction: number;
}

interface Order {
  /** Number of the order; rises by one. */
  readonly seq: number;
  readonly text: string;
  readonly bytes: number;
  readonly messages: number;
  readonly done?: () => void;
}

const host = '127.0.0.1';

export class LedgerSink implements Sink {
  /** Name of this run of the sink, by which the ledger listens to the latest run only. */
  readonly #session = `${String(Date.now()).padStart(16, '0')}-${randomUUID()}`;
  readonly #cutter = new MessageCutter();
  #socket: Socket | undefined;
  #transaction = 1;
  /** Last transaction in the checkpoint that the rule goes on from. */
  #kept = 0;
  #seq = 0;
  /** Orders that the ledger has not confirmed, in order. */
  readonly #orders: Order[] = [];
  /** Number of orders that were sent on this connection. */
  #sent = 0;
  #isRecovered = false;

  constructor(
    readonly conf: { port: number },
    readonly context: SinkContext,
  ) {}

  get peer(): string {
    return `tcp://${host}:${this.conf.port}`;
  }

  async open(): Promise<void> {
    const socket = connect(this.conf.port, host);
    const lines = linesOf(socket);
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', reject);
      });
      const { transactionName: name } = this.context;
      // Without checkpoints each message counts at once.
      const recover = name === undefined || this.#isRecovered ? undefined : this.#kept;
      const sink = name ?? `${this.context.ruleId}/${this.#session}`;
      socket.write(`${JSON.stringify({ do: 'open', sink, session: this.#session, recover })}\n`);
      const { value } = await lines.next();
      if (value !== 'ok') throw new Error(value ?? 'the ledger has ended the connection');
    } catch (error) {
      socket.destroy();
      throw ledgerErrors.connection(reasonOf(error), { cause: error });
    }
    this.#isRecovered = true;
    this.#socket = socket;
    this.#sent = 0;
    void this.#listen(socket, lines);
    this.#send();
  }

  /** Each line confirms the first unconfirmed order, or gives the reason why it fails. */
  async #listen(socket: Socket, lines: AsyncGenerator<string, undefined>): Promise<void> {
    let reason = 'the ledger has ended the connection';
    for await (const line of lines) {
      // Confirmed on another connection.
      if (this.#socket !== socket) return;
      if (line !== 'ok') {
        reason = line;
        break;
      }
      const order = this.#orders.shift();
      this.#sent--;
      if (order === undefined) continue;
      if (order.messages > 0) this.context.accepted(order.bytes, order.messages);
      order.done?.();
    }
    socket.destroy();
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.context.disconnected(reason, true);
  }

  write(chunk: SinkChunk): void {
    const rows: string[] = [];
    this.#cutter.cut(chunk, (message) => rows.push(Buffer.from(message).toString()));
    const { messages } = chunk;
    this.#order({ do: 'write', transaction: this.#current, rows }, chunk.bytes.length, messages);
  }

  /** Number of the transaction under way; 0 without transactions, when each write counts at once. */
  get #current(): number {
    return this.context.transactionName === undefined ? 0 : this.#transaction;
  }

  #order(what: object, bytes = 0, messages = 0, done?: () => void): void {
    const seq = ++this.#seq;
    this.#orders.push({ seq, text: `${JSON.stringify({ seq, ...what })}\n`, bytes, messages, ...(done && { done }) });
    this.#send();
  }

  #send(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    while (this.#sent < this.#orders.length) socket.write(this.#orders[this.#sent++]!.text);
  }

  /** Resolves when the ledger has confirmed all orders so far. */
  flush(): Promise<void> {
    return this.#orders.length === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#order({ do: 'nothing' }, 0, 0, resolve));
  }

  position(): LedgerPosition | undefined {
    if (this.context.transactionName === undefined) return undefined;
    const transaction = this.#transaction++;
    this.#order({ do: 'prepare', transaction });
    return { transaction };
  }

  cutBack(position: unknown): void {
    this.#kept = Number((position as LedgerPosition).transaction);
    this.#transaction = this.#kept + 1;
  }

  sync(): Promise<void> {
    return this.flush();
  }

  commit(position: unknown): void {
    this.#order({ do: 'commit', transaction: (position as LedgerPosition).transaction });
  }

  async close(): Promise<void> {
    // Transactions that are not confirmed by then are committed at the next start.
    if (this.#socket !== undefined) await this.flush();
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }
}

/** The lines that come, until the connection ends. */
async function* linesOf(socket: Socket): AsyncGenerator<string, undefined> {
  let rest = '';
  socket.setEncoding('utf8');
  try {
    for await (const chunk of socket) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } catch {
    // As when it ended without an error.
  }
}
