/** Connections to SQLite files. A thread of its own has the file open: reading and syncing a disk waits there. */
import type { Worker } from 'node:worker_threads';
import { threadEntry } from '../../../base/program/bundle.js';
import { startThread } from '../../../base/program/heap.js';
import type { Driver, SqlConnection, SqlParam, SqlRows, TableColumn } from '../driver.js';
import { SqlError } from '../errors.js';
import { inTime } from '../in-time.js';
import type { FileSettings, FromFile, ToFile } from './messages.js';

export const sqlite: Driver = {
  // The file is locked as a whole.
  maxConnections: 1,
  async connect({ address, timeoutMs, lost }) {
    await import('node-sqlite3-wasm');
    const settings: FileSettings = { path: address.database, waitMs: Math.min(timeoutMs / 2, 5000) };
    const worker = startThread(threadEntry('sqlite-worker.mjs', 'host/clients/sql/sqlite/worker.ts'), {
      workerData: settings,
    });
    worker.unref();
    const connection = new SqliteConnection(worker, timeoutMs, lost);
    try {
      await connection.run('SELECT 1 FROM sqlite_master LIMIT 1');
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  },
};

interface Asked {
  take(answer: FromFile): void;
  fail(error: Error): void;
}

class SqliteConnection implements SqlConnection {
  #asked: Asked | undefined;
  #isEnded = false;

  constructor(
    readonly worker: Worker,
    readonly timeoutMs: number,
    lost: () => void,
  ) {
    worker.on('message', (answer: FromFile) => this.#end((asked) => asked.take(answer)));
    const gone = (reason: string) => {
      if (this.#isEnded) return;
      this.#isEnded = true;
      this.#end((asked) => asked.fail(new SqlError('away', reason)));
      lost();
    };
    worker.once('error', (error) => gone(error.message));
    worker.once('exit', () => gone('the thread that has the file open ended'));
  }

  async run(text: string, params: readonly SqlParam[] = []): Promise<SqlRows> {
    const answer = await this.#ask({ do: 'run', text, params });
    return 'rows' in answer ? answer.rows : { columns: [], rows: [], changed: 0 };
  }

  async pieces(text: string, params: readonly SqlParam[], take: (rows: SqlRows) => Promise<void>): Promise<void> {
    let answer = await this.#ask({ do: 'read', text, params });
    while ('rows' in answer) {
      await take(answer.rows);
      if (answer.isLast) return;
      answer = await this.#ask({ do: 'more' });
    }
  }

  async columns(table: string): Promise<TableColumn[]> {
    const answer = await this.#ask({ do: 'columns', table });
    return 'columns' in answer ? answer.columns : [];
  }

  destroy(): void {
    this.#isEnded = true;
    void this.worker.terminate();
    this.#end((asked) => asked.fail(new SqlError('away', 'the file was closed')));
  }

  async #ask(order: ToFile): Promise<FromFile> {
    if (this.#isEnded) throw new SqlError('away', 'the file was closed');
    const asked = new Promise<FromFile>((resolve, reject) => {
      this.#asked = { take: resolve, fail: reject };
      this.worker.postMessage(order);
    });
    const answer = await inTime(asked, this.timeoutMs, 'the statement', () => this.destroy());
    if ('failure' in answer) throw new SqlError(answer.failure, answer.reason);
    return answer;
  }

  #end(settle: (asked: Asked) => void): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked !== undefined) settle(asked);
  }
}
