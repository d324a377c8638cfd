/**
 * Checks of rule results that have one row for each passing message: each expected id exactly once, however the rows
 * are gathered into messages (arrays of one, arrays of many, single objects).
 */
import { FIRST_ID } from '../gen/frames.js';
import type { Checker } from './workload.js';

/** Row of message i of the cycle without its id: text before and after it; null when the message must not pass. */
export interface ExpectedLine {
  before: string;
  after: string;
}

const MAX_FINDINGS = 5;

/** @param expected one entry for each message of the cycle (all blocks in turn) */
export function rowChecker(expected: (ExpectedLine | null)[], count: number): Checker {
  const seen = new Uint8Array(count);
  const before = expected.map((e) => (e ? Buffer.from(e.before) : null));
  const after = expected.map((e) => (e ? Buffer.from(e.after) : null));
  const findings: string[] = [];
  let right = 0;
  let passing = 0;
  for (let i = 0; i < count; i++) if (expected[i % expected.length]) passing++;
  const complain = (text: string): void => {
    if (findings.length < MAX_FINDINGS) findings.push(text);
  };
  return {
    lines(bytes) {
      let at = 0;
      while (at < bytes.length) {
        const byte = bytes[at] as number;
        if (byte === 10 || byte === 0x2c || byte === 0x5b || byte === 0x5d) {
          at++;
          continue;
        }
        // Rows hold no braces but their own.
        let end = byte === 0x7b ? bytes.indexOf(0x7d, at) + 1 : bytes.indexOf(10, at);
        if (end <= 0) end = bytes.length;
        const mark = bytes.indexOf('"id":', at);
        let index = -FIRST_ID;
        let p = mark + 5;
        if (mark >= 0 && mark < end) {
          let id = 0;
          for (; p < end; p++) {
            const digit = (bytes[p] as number) - 48;
            if (digit < 0 || digit > 9) break;
            id = id * 10 + digit;
          }
          index = id - FIRST_ID;
        }
        const head = index >= 0 && index < count ? before[index % expected.length] : undefined;
        const tail = index >= 0 && index < count ? after[index % expected.length] : undefined;
        if (!head || !tail) complain(`unexpected row: ${bytes.toString('utf8', at, Math.min(end, at + 200))}`);
        else if (seen[index]) complain(`id ${index + FIRST_ID} came twice`);
        else if (
          bytes.compare(head, 0, head.length, at, mark + 5) !== 0 ||
          bytes.compare(tail, 0, tail.length, p, end) !== 0
        ) {
          complain(`wrong row: ${bytes.toString('utf8', at, end)}, expected ${head}…${tail}`);
        } else {
          seen[index] = 1;
          right++;
        }
        at = end;
      }
    },
    get accounted() {
      return right >= passing ? count : Math.floor((right / Math.max(1, passing)) * count);
    },
    finish() {
      if (right < passing) {
        const first = seen.findIndex((s, i) => !s && expected[i % expected.length] !== null);
        complain(`${passing - right} of ${passing} results are missing, the first is id ${first + FIRST_ID}`);
      }
      return findings;
    },
  };
}
