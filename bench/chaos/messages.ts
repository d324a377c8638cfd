/** The messages of a run, the same for the same seed. */
import { random } from '../workloads/workload.js';

/** Time of the first one, epoch ms; the next ones follow each 10 ms of event time. */
const firstTs = 1_700_000_000_000;
const stepMs = 10;
/** Most by which a message may be older than one before it, ms; rules have it as their lateTolerance. */
export const latenessMs = 100;
/** Messages after which, about, a pause in event time ends sessions. */
const sessionRows = 150;
const sessionPauseMs = 3000;
const keys = 'abcdefgh';

export interface Messages {
  /** Numbered from 0. */
  readonly lines: readonly string[];
}

/** `closing`: messages at the end are much later, so that all windows before them are over. */
export function messagesOf(stream: string, count: number, seed: number, closing: boolean): Messages {
  const next = random(seed);
  // The streams of a join have the same times and keys, in another order within the tolerance.
  const jitter = random(seed ^ stream.charCodeAt(0));
  const lines: string[] = [];
  let ts = firstTs;
  for (let id = 0; id < count; id++) {
    ts += stepMs + (next() < 1 / sessionRows ? sessionPauseMs : 0);
    const key = keys[Math.floor(next() * keys.length)];
    const value = Math.floor(next() * 1000);
    lines.push(JSON.stringify({ id, k: key, v: value, ts: ts - Math.floor(jitter() * latenessMs) }));
  }
  for (let i = 0; closing && i < 3; i++) {
    lines.push(JSON.stringify({ id: count + i, k: 'end', v: 0, ts: ts + 3_600_000 * (i + 1) }));
  }
  return { lines };
}
