/** Windows as their definition reads, over whole lists of rows: the oracle of the window kernels. */
import type { WindowPlan } from '../../kernels/ir.js';

export interface Row {
  ts: number;
  k: string | number | null;
  v: number | null;
  id: number;
  /** WHERE of the window. */
  isIn: boolean;
  /** OVER (WHEN …), or the first condition of a state window. */
  starts: boolean;
  /** Second condition of a state window. */
  ends: boolean;
}

export interface Sent {
  rows: Row[];
  start: number;
  end: number;
}

/** Drops late rows and orders the others; returns those released and the last watermark. */
export function naiveEventTime(
  rows: Row[],
  tolerance: number,
): { released: Row[]; watermark: number; dropped: number } {
  let newest = -Infinity;
  let watermark = -Infinity;
  const accepted: Row[] = [];
  for (const row of rows) {
    if (row.ts < watermark) continue;
    accepted.push(row);
    newest = Math.max(newest, row.ts);
    watermark = newest - tolerance;
  }
  const released = accepted.filter((row) => row.ts <= watermark).sort((a, b) => a.ts - b.ts);
  return { released, watermark, dropped: rows.length - accepted.length };
}

function alignedAfter(ts: number, step: number): number {
  const minute = Math.floor(ts / 60_000) * 60_000;
  let end = minute + step;
  while (end <= ts) end += step;
  return end;
}

const inside = (rows: Row[]): Row[] => rows.filter((row) => row.isIn);

/** Messages of a window over rows in order; units are seconds. With `watermark` Infinity all is over. */
export function naiveWindows(window: WindowPlan, rows: Row[], watermark: number, sendEmpty: boolean): Sent[] {
  const sent: Sent[] = [];
  const send = (content: Row[], start: number, end: number) => {
    const kept = inside(content);
    if (kept.length > 0 || sendEmpty) sent.push({ rows: kept, start, end });
  };
  switch (window.kind) {
    case 'tumbling':
    case 'hopping': {
      const first = rows[0];
      if (first === undefined) return sent;
      const hop = window.kind === 'hopping' ? window.hopMs : window.lengthMs;
      const length = window.lengthMs;
      let end = alignedAfter(first.ts, hop);
      let start = first.ts - (length - hop);
      if (start <= 0) start = end - length;
      for (; end <= watermark; end += hop, start = end - length) {
        send(
          rows.filter((row) => row.ts >= end - length && row.ts < end),
          start,
          end,
        );
      }
      return sent;
    }
    case 'sliding': {
      const triggers = rows.filter((row) => row.starts);
      for (const trigger of triggers) {
        const from = trigger.ts - window.lengthMs;
        if (window.delayMs > 0) {
          const end = trigger.ts + window.delayMs;
          if (end <= watermark)
            send(
              rows.filter((row) => row.ts >= from && row.ts < end),
              from,
              end,
            );
        } else {
          const before = rows.slice(0, rows.indexOf(trigger) + 1);
          send(
            before.filter((row) => row.ts >= from),
            from,
            trigger.ts,
          );
        }
      }
      return sent;
    }
    case 'session': {
      let open: Row[] = [];
      let start = 0;
      let cut = 0;
      for (const row of rows) {
        const last = open.at(-1);
        if (last !== undefined) {
          const tick = alignedAfter((open[0] as Row).ts, window.maxMs) + window.maxMs;
          const over = row.ts - last.ts > window.timeoutMs;
          if (over && last.ts + window.timeoutMs <= tick) {
            send(open, start, last.ts + window.timeoutMs);
            open = [];
          } else if (row.ts >= tick) {
            send(open, start, tick);
            open = [];
            cut = over ? 0 : tick;
          }
        }
        if (open.length === 0) {
          start = cut > 0 ? cut : row.ts;
          cut = 0;
        }
        open.push(row);
      }
      const last = open.at(-1);
      if (last !== undefined && watermark - last.ts > window.timeoutMs) {
        const tick = alignedAfter((open[0] as Row).ts, window.maxMs) + window.maxMs;
        send(open, start, Math.min(last.ts + window.timeoutMs, tick));
      }
      return sent;
    }
    case 'count':
      for (let n = window.step; n <= rows.length; n += window.step) {
        if (n >= window.length) send(rows.slice(n - window.length, n), 0, 0);
      }
      return sent;
    case 'state': {
      let open: Row[] | null = null;
      for (const row of rows) {
        if (open !== null && window.emit === undefined && row.starts) {
          send(open, (open[0] as Row).ts, (open.at(-1) as Row).ts);
          open = null;
        }
        if (open === null) {
          if (row.starts) open = [row];
          continue;
        }
        open.push(row);
        if (window.emit !== undefined && row.ends) {
          send(open, (open[0] as Row).ts, row.ts);
          open = null;
        }
      }
      return sent;
    }
    case 'row':
      for (const row of rows) if (row.isIn) sent.push({ rows: [row], start: row.ts, end: row.ts });
      return sent;
    case 'message':
      // Its windows come from above: the twin of joins has them.
      throw new Error('windows that are messages are no function of the rows alone');
    default:
      return window satisfies never;
  }
}
