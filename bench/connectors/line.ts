/** A line of the benchmark: messages through a connector, and a plain Node.js program with the same library. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineUnderTest } from '../engine.js';

type Props = Readonly<Record<string, unknown>>;
export type Row = Readonly<Record<string, unknown>>;

export interface Input {
  readonly type: string;
  readonly dataSource: string;
  readonly props: Props;
  /** Format of the messages, `json` without it. */
  readonly format?: string;
  /** Columns of the stream, for formats without names. */
  readonly columns?: string;
  /** Further options of the stream, as `SCHEMAID="a.B"`. */
  readonly options?: string;
}

/** The other side of a connector. */
export interface Side {
  /** Where the plain program finds it, or opens it itself. */
  readonly address: string;
  /** A stream that reads from it. */
  readonly source?: Input;
  /** An action that writes to it, a message for each row. */
  readonly sink?: { readonly type: string; readonly props: Props };
  /** Action of another rule, which feeds the first from the file of rows. */
  readonly feeder?: { readonly type: string; readonly props: Props };
  /** Makes what the rule needs in the engine, as schemas. */
  prepare?(engine: EngineUnderTest): Promise<unknown>;
  /**
   * Sends all messages to a reader that is connected; left out where they are there already.
   *
   * @param at address of the reader, where it is a server
   */
  feed?(at: string): Promise<unknown>;
  /** Connects to a rule or program that is a server, before it has any rows. */
  listen?(at: string): Promise<unknown>;
  /** Number of messages that have arrived since `begin`; for a sink. */
  arrived?(): Promise<number> | number;
  /** Rows that a sink has written, once its rule has ended; where they can't be counted before that. */
  written?(): Promise<number> | number;
  /** Empties it for the next turn; in the checked one `check` follows. */
  begin?(isChecked: boolean): Promise<void> | void;
  /** Throws unless what has arrived in the checked turn is right, row by row; for a sink. */
  check?(): Promise<void> | void;
  close(): Promise<void>;
}

export interface Line {
  readonly name: string;
  /** Connectors that it tells the speed of. */
  readonly connectors: readonly string[];
  /** Format that it tells the speed of, in place of a connector. */
  readonly format?: string;
  /** Rows of a turn. */
  readonly rows: number;
  /** The source sends on and on: rows may be equal, and more may come. */
  readonly isEndless?: boolean;
  /** What the rule does with the rows; `statement` without it. */
  select?(stream: string): string;
  /** Whether a row that a source line makes is right; without it those of `statement` are. */
  isRight?(row: Row, id: number): boolean;
  /** Why it can't run here; undefined when it can. */
  missing?(): string | undefined;
  /** @param folder for files @param file with the rows, a line each */
  open(folder: string, file: string): Promise<Side>;
  /** The job of the rule by the library alone; resolves when all rows are through. */
  plain(work: Plain): Promise<void>;
}

export interface Plain {
  readonly address: string;
  readonly rows: number;
  /** File with the rows, a line each. */
  readonly file: string;
  /** The program is connected: the time of the turn begins. Where somebody connects to it, it resolves after that. */
  ready(): Promise<void>;
}

/** What rules and programs do with each message, so that both read and write JSON. */
export const statement = 'SELECT id, device, temperature FROM';

export interface Reading {
  readonly id: number;
  readonly device: string;
  readonly temperature: number;
  readonly humidity: number;
  readonly status: string;
}

export function reading(id: number): Reading {
  return { id, device: `d${id % 50}`, temperature: 20 + (id % 100) / 10, humidity: id % 60, status: 'ok' };
}

export function message(id: number): string {
  return JSON.stringify(reading(id));
}

/** Whether a row has the three members of `statement`; values may be texts. */
export function isWorked(row: Row, id: number): boolean {
  const { device, temperature } = reading(id);
  return Number(row.id) === id && row.device === device && Number(row.temperature) === temperature;
}

/** The job of `statement` in JavaScript. */
export function work(text: string): string {
  return worked(JSON.parse(text) as Row);
}

export function worked({ id, device, temperature }: Row): string {
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
