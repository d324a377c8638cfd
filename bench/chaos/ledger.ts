/**
 * Stand-in for databases and logs with transactions: a process that keeps rows in a file, shows those of
 * transactions that are committed, and can be killed at any time. Each line of the file is a change; rows are all those
 * of transactions with a later line `commit`, in the order of these.
 *
 *     client    {"do":"open","sink":NAME,"session":ID,"recover":N}    commits all up to N, aborts what is open besides;
 *     of
 *                                                                     two sessions the one that sorts behind the other
 *                                                                     counts
 *               {"seq":…,"do":"write","transaction":N,"rows":[…]}     0: they count at once
 *               {"seq":…,"do":"prepare"|"commit","transaction":N}     "commit" of all up to N
 *     ledger    ok, or why not, for each line in order
 */
import { closeSync, existsSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';

interface Change {
  readonly sink: string;
  readonly do: 'open' | 'write' | 'prepare' | 'commit' | 'abort' | 'nothing';
  readonly session?: string;
  readonly seq?: number;
  readonly recover?: number;
  readonly transaction?: number;
  readonly rows?: readonly string[];
}

/** State of one sink. */
interface Account {
  session: string;
  /** Last order of the session. */
  seq: number;
  /** Rows of transactions that are neither committed nor aborted. */
  readonly open: Map<number, string[]>;
}

class Book {
  readonly rows: string[] = [];
  readonly #accounts = new Map<string, Account>();

  of(sink: string): Account {
    const account = this.#accounts.get(sink) ?? { session: '', seq: 0, open: new Map<number, string[]>() };
    this.#accounts.set(sink, account);
    return account;
  }

  apply({ sink, do: what, session, seq, transaction = 0, rows = [] }: Change): void {
    const account = this.of(sink);
    if (what === 'open') Object.assign(account, { session, seq: 0 });
    else if (seq !== undefined) account.seq = seq;
    if (what === 'write') {
      const written = transaction === 0 ? this.rows : (account.open.get(transaction) ?? []);
      // Not spread: a long transaction has more rows than a call may have arguments.
      for (const row of rows) written.push(row);
      if (transaction !== 0) account.open.set(transaction, written);
    }
    if (what === 'commit') this.#close(account, transaction, true);
    if (what === 'abort') this.#close(account, Number.POSITIVE_INFINITY, false);
  }

  #close({ open }: Account, until: number, isCommitted: boolean): void {
    for (const number of [...open.keys()].sort((a, b) => a - b)) {
      if (number > until) return;
      if (isCommitted) for (const row of open.get(number)!) this.rows.push(row);
      open.delete(number);
    }
  }
}

/** Reads the file; a last line that was being written is left out. */
function readBook(path: string): { book: Book; bytes: number } {
  const book = new Book();
  const content = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const whole = content.slice(0, content.lastIndexOf('\n') + 1);
  for (const line of whole.split('\n')) if (line !== '') book.apply(JSON.parse(line) as Change);
  return { book, bytes: Buffer.byteLength(whole) };
}

/** The rows that others see. */
export function committedRows(path: string): readonly string[] {
  return readBook(path).book.rows;
}

/** The file of the ledger: changes stand there as a whole or not at all. */
class Ledger {
  readonly book: Book;
  readonly #file: number;
  #size: number;

  constructor(path: string) {
    const { book, bytes } = readBook(path);
    this.book = book;
    // Not for appending: what is cut off is written over.
    if (!existsSync(path)) closeSync(openSync(path, 'w'));
    this.#file = openSync(path, 'r+');
    this.#size = bytes;
    ftruncateSync(this.#file, bytes);
  }

  /** Throws the reason when it can't be written. */
  note(change: Change): void {
    const bytes = Buffer.from(`${JSON.stringify(change)}\n`);
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, this.#size + done);
      }
      if (change.do === 'prepare' || change.do === 'commit') fdatasyncSync(this.#file);
    } catch (error) {
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
    this.book.apply(change);
  }

  /**
   * A new run of a sink: what the earlier one left is decided. An earlier one is refused: its connection may be heard
   * late, when this process stood still while the engine was killed.
   */
  open({ sink, session = '', recover }: Change): void {
    if (session < this.book.of(sink).session) throw new Error('a later run of the sink is there');
    if (recover !== undefined) {
      this.note({ sink, do: 'commit', transaction: recover });
      this.note({ sink, do: 'abort' });
    }
    if (this.book.of(sink).session !== session) {
      this.note({ sink, do: 'open', session });
    }
  }

  order(change: Change): void {
    const isKnown = (change.seq ?? 0) <= this.book.of(change.sink).seq;
    if (change.do !== 'nothing' && !isKnown) this.note(change);
  }
}

/** Runs the ledger until it is killed. */
export function runLedger([path, port]: readonly string[]): void {
  const ledger = new Ledger(path!);
  const sockets = new Map<string, Socket>();
  createServer((socket) => {
    let sink = '';
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        // Left for another connection of the same sink: what is still unread is not wanted any more.
        if (socket.destroyed) return;
        const change: Change = Object.assign({ sink }, JSON.parse(line));
        try {
          if (change.do === 'open') {
            ledger.open(change);
            sink = change.sink;
            if (sockets.get(sink) !== socket) sockets.get(sink)?.destroy();
            sockets.set(sink, socket);
          } else ledger.order(change);
          socket.write('ok\n');
        } catch (error) {
          socket.write(`${(error as Error).message}\n`);
          socket.destroySoon();
          return;
        }
      }
    });
  }).listen(Number(port), '127.0.0.1');
}
