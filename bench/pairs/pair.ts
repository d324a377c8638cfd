/** A statement beside a plain JavaScript program of the same job: what both get, and what each is. */
import type { KernelRule, RuleWishes } from '../../test/support/engine/rule-kernel.js';

/**
 * Input that arrives at once: whole lines of JSON at a clock time (epoch ms). Without lines only time has passed.
 */
export interface Piece {
  readonly stream: string;
  readonly bytes: Buffer;
  readonly now: number;
}

/** Takes a piece and returns the output for it: lines of JSON. */
export type Program = (piece: Piece) => string;

/** Gives the row of a lookup table for a key. */
export type Asked = (key: unknown) => object;

export interface Pair {
  readonly name: string;
  /** CREATE statements of the streams and tables. */
  readonly definitions: readonly string[];
  readonly sql: string;
  readonly options?: RuleWishes['options'];
  /** Properties of the sink; without them each row is a message of its own. */
  readonly sink?: Record<string, unknown>;
  /** Rows that are measured. */
  readonly rows: number;
  readonly input: (rows: number) => Piece[];
  /** Part of the pieces after which each side tells how many bytes it keeps for a row that came; 0 without it. */
  readonly holds?: number;
  /** Prepares the rule before the measured time. */
  readonly prepare?: (rule: KernelRule) => void;
  /** Rows of a lookup table; the engine asks for them before the measured time. */
  readonly asked?: Asked;
  /** Makes the plain program with nothing in its memory. */
  readonly program: () => Program;
}

export const pieceBytes = 65536;
export const startMs = 1_700_000_000_000;

/** Deterministic pseudo-random numbers in [0, 1). */
export function randomNumbers(seed = 12345): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

export const deviceName = (i: number): string => `dev-${String(i).padStart(4, '0')}`;

/** Pieces of whole lines, of about 64 KiB each. */
export function piecesOf(stream: string, count: number, line: (i: number) => string, now = startMs): Piece[] {
  const pieces: Piece[] = [];
  let lines = '';
  for (let i = 0; i < count; i++) {
    lines += `${line(i)}\n`;
    if (lines.length < pieceBytes && i < count - 1) continue;
    pieces.push({ stream, bytes: Buffer.from(lines), now });
    lines = '';
  }
  return pieces;
}

/** Calls `take` with each row of the piece. */
export function eachRow<Row>({ bytes }: Piece, take: (row: Row) => void): void {
  for (const line of bytes.toString().split('\n')) if (line !== '') take(JSON.parse(line) as Row);
}

/** A program that gives a line for each row, or none. */
export function rowByRow<Row>(step: (row: Row) => object | undefined): Program {
  return (piece) => {
    let out = '';
    eachRow<Row>(piece, (row) => {
      const result = step(row);
      if (result !== undefined) out += `${JSON.stringify(result)}\n`;
    });
    return out;
  };
}
