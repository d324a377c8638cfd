/** Form of a workload: messages in, one or more rules, and the check of the results. */
import type { Message } from '../messages/frames.js';

/** Messages of the plain shape, or the same values with other key order, spaces, extra fields and escapes. */
export type DataSet = 'plain' | 'varied';

/** Running check of a result file. */
export interface Checker {
  /** Takes complete lines; the last byte is a line feed. */
  lines(bytes: Buffer): void;
  /** Messages whose result has been seen, as far as the workload can tell; used to know when a run is complete. */
  readonly accounted: number;
  /** Empty when everything is right; else the first findings. */
  finish(): string[];
}

export interface Workload {
  name: string;
  title: string;
  /** Name of the stream that the rule reads. */
  stream: string;
  /** CREATE STREAM statement with TYPE mqtt. */
  ddl: string;
  /** CREATE STREAM statement without declared columns. */
  ddlSchemaless: string;
  sql: string;
  /** Options of the rule. */
  options?: Record<string, unknown>;
  /** Topic filter the stream subscribes to. */
  topic: string;
  /** Blocks of equal size, sent in turn. */
  messages(dataSet: string): Message[][];
  /** Checks the output of messages 0 … count-1. */
  checker(dataSet: string, count: number): Checker;
  /** Longest time from the last message to the last result, ms. */
  settleMs: number;
  /** Work of the plain JavaScript program of the same job for one payload. */
  twin: TwinKind;
}

export type TwinKind =
  | { kind: 'filter' }
  | { kind: 'group'; windowMs: number; session?: { maxMs: number; timeoutMs: number } }
  | { kind: 'sliding'; rows: number }
  | { kind: 'raw' };

export const BLOCK_ROWS = 10_000;
export const BLOCKS = 4;

/** Deterministic pseudo-random numbers in [0, 1) (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
