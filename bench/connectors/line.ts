/** A line of the benchmark: messages through a connector, and a plain Node.js program with the same library. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Props = Readonly<Record<string, unknown>>;

/** The other side of a connector. */
export interface Side {
  /** Where the plain program finds it. */
  readonly address: string;
  /** A stream that reads from it. */
  readonly source?: { readonly type: string; readonly dataSource: string; readonly props: Props };
  /** An action that writes to it, a message for each row. */
  readonly sink?: { readonly type: string; readonly props: Props };
  /** Action of another rule, which feeds the first from the file of rows. */
  readonly feeder?: { readonly type: string; readonly props: Props };
  /** Sends all messages to a reader that is connected; left out where they are there already. */
  feed?(): Promise<void>;
  /** Number of messages that have arrived since `begin`; for a sink. */
  arrived?(): Promise<number> | number;
  /** Empties it for the next turn. */
  begin?(): Promise<void>;
  close(): Promise<void>;
}

export interface Line {
  readonly name: string;
  readonly connector: string;
  /** Rows of a turn. */
  readonly rows: number;
  /** Why it can't run here; undefined when it can. */
  missing?(): string | undefined;
  /** @param folder for files @param file with the rows, a line each */
  open(folder: string, file: string): Promise<Side>;
  /**
   * The job of the rule by the library alone. Calls `ready` when it is connected, resolves when all rows are through.
   */
  plain(work: Plain): Promise<void>;
}

export interface Plain {
  readonly address: string;
  readonly rows: number;
  /** File with the rows, a line each. */
  readonly file: string;
  ready(): void;
}

/** What rules and programs do with each message, so that both read and write JSON. */
export const statement = 'SELECT id, device, temperature FROM';

export function message(id: number): string {
  const temperature = 20 + (id % 100) / 10;
  return `{"id":${id},"device":"d${id % 50}","temperature":${temperature},"humidity":${id % 60},"status":"ok"}`;
}

/** The job of `statement` in JavaScript. */
export function work(text: string): string {
  const { id, device, temperature } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify({ id, device, temperature });
}

/** Writes the rows of a turn; returns the path of the file. */
export function fileOfRows(folder: string, rows: number): string {
  const path = join(folder, `rows${rows}.in`);
  const lines: string[] = [];
  for (let id = 0; id < rows; id++) lines.push(message(id));
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
