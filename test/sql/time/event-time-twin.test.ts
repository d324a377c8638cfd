/**
 * Windows of all kinds over one to three streams, of which some come late and some fall silent, beside a naive model:
 * what each window sends and when, that nothing is sent twice, which rows are late.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

interface Row {
  id: number;
  ts: number;
  v: number;
}

/**
 * What a window makes of the rows so far, which are in order, when time has come to `watermark`; empty windows aside.
 */
type Windows = (rows: readonly Row[], watermark: number) => Row[][];

const idleMs = 5000;

function aligned(lengthMs: number, hopMs: number): Windows {
  return (rows, watermark) => {
    const [first] = rows;
    const sent: Row[][] = [];
    if (first === undefined) return sent;
    const last = Math.min(watermark, rows.at(-1)!.ts + lengthMs);
    for (let end = (Math.floor(first.ts / hopMs) + 1) * hopMs; end <= last; end += hopMs) {
      sent.push(rows.filter(({ ts }) => ts >= end - lengthMs && ts < end));
    }
    return sent;
  };
}

const sliding =
  (lengthMs: number, delayMs: number): Windows =>
  (rows, watermark) =>
    rows
      .filter(({ ts }) => ts + delayMs <= watermark)
      .map((row) =>
        rows.filter(({ ts }) => ts >= row.ts - lengthMs && (delayMs === 0 ? ts <= row.ts : ts < row.ts + delayMs)),
      );

const session =
  (timeoutMs: number): Windows =>
  (rows, watermark) => {
    const sessions: Row[][] = [];
    for (const row of rows) {
      const open = sessions.at(-1);
      if (open !== undefined && row.ts - open.at(-1)!.ts <= timeoutMs) open.push(row);
      else sessions.push([row]);
    }
    return sessions.filter((open, i) => i < sessions.length - 1 || watermark - open.at(-1)!.ts > timeoutMs);
  };

const state: Windows = (rows) => {
  const sent: Row[][] = [];
  let open: Row[] | undefined;
  for (const row of rows) {
    if (open === undefined) {
      if (row.v > 70) open = [row];
      continue;
    }
    open.push(row);
    if (row.v >= 30) continue;
    sent.push(open);
    open = undefined;
  }
  return sent;
};

const kinds: Record<string, Windows> = {
  'TUMBLINGWINDOW(ss, 1)': aligned(1000, 1000),
  'TUMBLINGWINDOW(ms, 250)': aligned(250, 250),
  'HOPPINGWINDOW(ss, 4, 1)': aligned(4000, 1000),
  'HOPPINGWINDOW(ss, 5, 2)': aligned(5000, 2000),
  'HOPPINGWINDOW(ss, 1, 3)': aligned(1000, 3000),
  'SLIDINGWINDOW(ss, 2)': sliding(2000, 0),
  'SLIDINGWINDOW(ms, 700, 900)': sliding(700, 900),
  'SESSIONWINDOW(ss, 9000000, 1)': session(1000),
  'SESSIONWINDOW(ms, 900000000, 150)': session(150),
  'STATEWINDOW(v > 70, v < 30)': state,
};

/** The rows as event time orders them: one after the other, as the documentation has it. */
class Model {
  readonly #newest: number[];
  readonly #heard: (number | null)[];
  readonly #isSilent: boolean[];
  #watermark = Number.NEGATIVE_INFINITY;
  #accepted: Row[] = [];
  #sent = 0;
  late: number[] = [];

  constructor(
    streams: number,
    private readonly toleranceMs: number,
    private readonly windows: Windows,
  ) {
    this.#newest = Array.from({ length: streams }, () => Number.NEGATIVE_INFINITY);
    this.#heard = this.#newest.map(() => null);
    this.#isSilent = this.#newest.map(() => false);
  }

  push(stream: number, rows: readonly Row[], now: number): void {
    this.#heard.forEach((heard, i) => {
      if (i === stream || heard === null) this.#heard[i] = now;
    });
    this.#isSilent[stream] = false;
    for (const row of rows) {
      if (row.ts < this.#watermark) {
        this.late.push(row.id);
        continue;
      }
      this.#newest[stream] = Math.max(this.#newest[stream]!, row.ts);
      this.#advance();
      this.#accepted.push(row);
    }
  }

  tick(now: number): void {
    if (this.#newest.length === 1) return;
    this.#heard.forEach((heard, i) => {
      if (now - (heard ?? now) >= idleMs) this.#isSilent[i] = true;
    });
    this.#advance();
  }

  #advance(): void {
    const counted = this.#newest.filter((_newest, i) => !this.#isSilent[i]);
    const reached = counted.length === 0 ? Math.max(...this.#newest) : Math.min(...counted);
    this.#watermark = Math.max(this.#watermark, reached - this.toleranceMs);
  }

  /** Ids of the windows that were sent since the last call. */
  taken(): number[][] {
    const rows = this.#accepted.filter(({ ts }) => ts <= this.#watermark).sort((a, b) => a.ts - b.ts || a.id - b.id);
    const sent = this.windows(rows, this.#watermark);
    const fresh = sent.slice(this.#sent);
    this.#sent = sent.length;
    return fresh.filter((window) => window.length > 0).map(idsOf);
  }
}

const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id).sort((a, b) => a - b);

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const names = ['a', 'b', 'c'];

function open(streams: number, window: string, toleranceMs: number) {
  const own = names.slice(0, streams);
  const joins = own.slice(1).map((name) => `FULL JOIN ${name} ON a.id = ${name}.id`);
  const ids = own.map((name) => `${name}.id AS ${name}`);
  const sql = `SELECT ${streams === 1 ? 'id' : ids.join(', ')} FROM a ${joins.join(' ')} GROUP BY ${window}`;
  return openRule(
    own.map((name) => `CREATE STREAM ${name} (id BIGINT, v BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")`),
    sql,
    {
      options: { isEventTime: true, lateToleranceMs: toleranceMs, maxFutureSkewMs: 0, idleTimeoutMs: idleMs },
      lateProps: { sendSingle: true },
    },
  );
}

for (const [window, windows] of Object.entries(kinds)) {
  test(`${window}: late rows and silent streams`, () => {
    for (const streams of window.startsWith('STATE') ? [1] : [1, 2, 3]) {
      for (const [seed, toleranceMs] of [
        [1, 600],
        [2, 1],
        [3, 2500],
      ] as const) {
        const where = `${streams} streams, seed ${seed}`;
        const random = numbers(seed * 10 + streams);
        const rule = open(streams, window, toleranceMs);
        const model = new Model(streams, toleranceMs, windows);
        const late: number[] = [];
        const taken = (): number[][] => {
          late.push(...(rule.takenLate() as unknown as { id: number }[]).map(({ id }) => id));
          const messages = rule.taken() as { id?: number; a?: number; b?: number; c?: number }[][];
          return messages
            .filter((rows) => rows.length > 0)
            .map((rows) => idsOf(rows.map(({ id, a, b, c }) => ({ id: id ?? a ?? b ?? c! }))));
        };
        let now = 1_700_000_000_000;
        let id = 0;
        let sent = 0;
        for (let step = 0; step < 90; step++) {
          now += random(10) === 0 ? 3000 + random(9000) : random(400);
          rule.kernel.tick(now);
          model.tick(now);
          assert.equal(taken(), model.taken(), `tick of step ${step}, ${where}`);
          // Each stream has phases without rows.
          const stream = random(streams);
          if (streams > 1 && (Math.floor(step / 25) + stream) % 3 === 0) continue;
          const rows = Array.from({ length: 1 + random(4) }, () => ({
            id: ++id,
            v: random(100),
            ts: now - random(1500),
          }));
          rule.feed(names[stream]!, rows, now);
          model.push(stream, rows, now);
          const messages = taken();
          assert.equal(messages, model.taken(), `rows of step ${step}, ${where}`);
          sent += messages.length;
        }
        assert.ok(sent > 2, `${sent} messages, ${where}`);
        assert.equal(late, model.late, `late rows, ${where}`);
        assert.is(rule.kernel.timeliness(rule.node('eventTime')).late, late.length);
        if (toleranceMs < 1000) assert.ok(late.length > 2, `rows came late, ${where}`);
        rule.close();
      }
    }
  });
}

test.run();
