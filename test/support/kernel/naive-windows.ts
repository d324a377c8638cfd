/** Windows as their definition reads, over whole lists of rows: the oracle of the window kernels. */
import type { WindowPlan } from '../../../kernels/plan/ir.js';

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

type Send = (content: Row[], start: number, end: number) => void;
type Of<K extends WindowPlan['kind']> = Extract<WindowPlan, { kind: K }>;

const first = (rows: Row[]): Row => rows[0] as Row;
const last = (rows: Row[]): Row => rows.at(-1) as Row;

/**
 * With which part of the input each row is released, when parts arrive one after the other. The rows of one time that
 * are released together are in each other's sliding windows, if rows wait at all.
 */
export function releasesOf(parts: Row[][], tolerance: number): Map<Row, number> {
  const releases = new Map<Row, number>();
  const all: Row[] = [];
  for (const [i, part] of parts.entries()) {
    all.push(...part);
    for (const row of naiveEventTime(all, tolerance).released) if (!releases.has(row)) releases.set(row, i);
  }
  return releases;
}

/**
 * Messages of a window over rows in order; units are seconds. With `watermark` Infinity all is over.
 * @param releases see `releasesOf`; without it rows of the same time come one after the other
 */
export function naiveWindows(
  window: WindowPlan,
  rows: Row[],
  watermark: number,
  sendEmpty: boolean,
  releases?: ReadonlyMap<Row, number>,
): Sent[] {
  if ('partition' in window && window.partition !== undefined && window.kind !== 'state') {
    const alone = { ...window, partition: undefined };
    return partsOf(rows).flatMap((part) => naiveWindows(alone, part, watermark, sendEmpty, releases));
  }
  const sent: Sent[] = [];
  const send: Send = (content, start, end) => {
    const kept = content.filter((row) => row.isIn);
    if (kept.length > 0 || sendEmpty) sent.push({ rows: kept, start, end });
  };
  switch (window.kind) {
    case 'tumbling':
      byTime(window.lengthMs, window.lengthMs, rows, watermark, send);
      return sent;
    case 'hopping':
      byTime(window.lengthMs, window.hopMs, rows, watermark, send);
      return sent;
    case 'sliding':
      sliding(window, rows, watermark, send, releases);
      return sent;
    case 'session':
      sessions(window, rows, watermark, send);
      return sent;
    case 'count':
      for (let n = window.step; n <= rows.length; n += window.step) {
        if (n >= window.length) send(rows.slice(n - window.length, n), 0, 0);
      }
      return sent;
    case 'state':
      states(window, rows, send);
      return sent;
    case 'row':
      return rows.filter((row) => row.isIn).map((row) => ({ rows: [row], start: row.ts, end: row.ts }));
    case 'message':
      // Its windows come from above: the twin of joins has them.
      throw new Error('windows that are messages are no function of the rows alone');
    default:
      return window satisfies never;
  }
}

/** What a row is partitioned by: values that print alike are one, except that null is no text. */
export function partOf({ k }: Pick<Row, 'k'>): string | null {
  return k === null ? null : String(k);
}

/** The rows of each partition. */
function partsOf(rows: readonly Row[]): Row[][] {
  const parts = new Map<string | null, Row[]>();
  for (const row of rows) parts.set(partOf(row), [...(parts.get(partOf(row)) ?? []), row]);
  return [...parts.values()];
}

/** The first window of a rule says that it began when it could have. */
function byTime(length: number, hop: number, rows: Row[], watermark: number, send: Send): void {
  if (rows.length === 0) return;
  let end = alignedAfter(first(rows).ts, hop);
  let start = first(rows).ts - (length - hop);
  if (start <= 0) start = end - length;
  for (; end <= watermark; end += hop, start = end - length) {
    const from = end - length;
    const before = end;
    send(
      rows.filter((row) => row.ts >= from && row.ts < before),
      start,
      end,
    );
  }
}

function sliding(
  { lengthMs, delayMs }: Of<'sliding'>,
  rows: Row[],
  watermark: number,
  send: Send,
  releases?: ReadonlyMap<Row, number>,
): void {
  const isWith = (row: Row, trigger: Row): boolean =>
    releases !== undefined && row.ts === trigger.ts && releases.get(row) === releases.get(trigger);
  for (const trigger of rows.filter((row) => row.starts)) {
    const from = trigger.ts - lengthMs;
    const end = trigger.ts + delayMs;
    const seen =
      delayMs > 0
        ? rows.filter((row) => row.ts < end)
        : rows.filter((row, i) => i <= rows.indexOf(trigger) || isWith(row, trigger));
    if (delayMs > 0 && end > watermark) continue;
    send(
      seen.filter((row) => row.ts >= from),
      from,
      end,
    );
  }
}

/**
 * A session ends when nothing comes for the timeout, or at a tick of its greatest length; the next begins at that tick.
 */
function sessions({ maxMs, timeoutMs }: Of<'session'>, rows: Row[], watermark: number, send: Send): void {
  const tickOf = (open: Row[]) => alignedAfter(first(open).ts, maxMs) + maxMs;
  let open: Row[] = [];
  let start = 0;
  let cut = 0;
  const close = (end: number) => {
    send(open, start, end);
    open = [];
  };
  for (const row of rows) {
    if (open.length > 0) {
      const tick = tickOf(open);
      const timeout = last(open).ts + timeoutMs;
      const isOver = row.ts > timeout;
      if (isOver && timeout <= tick) close(timeout);
      else if (row.ts >= tick) {
        close(tick);
        cut = isOver ? 0 : tick;
      }
    }
    if (open.length === 0) {
      start = cut > 0 ? cut : row.ts;
      cut = 0;
    }
    open.push(row);
  }
  if (open.length > 0 && watermark - last(open).ts > timeoutMs)
    close(Math.min(last(open).ts + timeoutMs, tickOf(open)));
}

/** With a second condition a window ends with the row that meets it, else before the next that meets the first. */
function states({ emit, partition }: Of<'state'>, rows: Row[], send: Send): void {
  const open = new Map<string | null, Row[]>();
  for (const row of rows) {
    const part = partition === undefined ? null : partOf(row);
    const close = (kept: Row[]) => {
      send(kept, first(kept).ts, last(kept).ts);
      open.delete(part);
    };
    const before = open.get(part);
    if (before !== undefined && emit === undefined && row.starts) close(before);
    const kept = open.get(part);
    if (kept === undefined) {
      if (row.starts) open.set(part, [row]);
      continue;
    }
    kept.push(row);
    if (emit !== undefined && row.ends) close(kept);
  }
}
