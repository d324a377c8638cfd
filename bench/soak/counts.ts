/** Results of the rules that count messages: whether each message was counted once, and how late the windows are. */
import { FIRST_ID } from '../messages/frames.js';
import type { Result } from './feeder-process.js';

interface Row {
  /** Absent in a window without messages. */
  readonly n?: number;
  readonly low?: number;
  readonly high?: number;
  readonly until: number;
}

export class Counts {
  /** Messages by rule. */
  readonly totals: Record<string, number> = {};
  /** First faults that were found, one sentence each. */
  readonly findings: string[] = [];
  #next = FIRST_ID;
  #late: number[] = [];
  /** The latest window of all, ms. */
  maxLateMs = 0;

  take({ topic, text, at }: Result): void {
    const row = JSON.parse(text) as Row;
    this.totals[topic] = (this.totals[topic] ?? 0) + (row.n ?? 0);
    if (topic !== 'count') return;
    const lateMs = at - row.until;
    this.#late.push(lateMs);
    this.maxLateMs = Math.max(this.maxLateMs, lateMs);
    if (row.n !== undefined) this.#follow(row);
  }

  /** Windows have all messages between their lowest and their highest, and begin where the one before ended. */
  #follow({ n = 0, low = 0, high = 0, until }: Row): void {
    const wanted = `messages ${this.#next} to ${high}`;
    if (low !== this.#next || n !== high - low + 1) {
      if (this.findings.length < 5)
        this.findings.push(`window ${until}: ${n} messages ${low} to ${high}, not ${wanted}`);
    }
    this.#next = high + 1;
  }

  /** Mean lateness of the windows since the last call, ms; NaN when there were none. */
  late(): number {
    const sum = this.#late.reduce((all, ms) => all + ms, 0);
    const mean = sum / this.#late.length;
    this.#late = [];
    return mean;
  }
}
