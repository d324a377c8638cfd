/** Jobs of the plain program for each message: lines for the result file. */
import type { TwinKind } from '../workloads/workload.js';

/** A message within the bytes that came: topic from `topicAt`, payload from `payloadAt` to `end`. */
export type Take = (data: Buffer, topicAt: number, payloadAt: number, end: number) => void;

export interface TwinJob {
  readonly take: Take;
  /** All messages of a piece of input were taken. */
  settle(): void;
}

/** @param lines takes the results; @param flush writes them */
export function twinJob(kind: TwinKind, lines: (line: string) => void, flush: () => void): TwinJob {
  switch (kind.kind) {
    case 'raw':
      return {
        take: (data, topicAt, payloadAt, end) => {
          const state = data.toString('base64', payloadAt, end);
          lines(JSON.stringify([{ state, topic: data.toString('utf8', topicAt, payloadAt) }]));
        },
        settle: flush,
      };
    case 'filter':
      return {
        take: (data, _topicAt, payloadAt, end) => {
          const { temp, device, id, speed } = JSON.parse(data.toString('utf8', payloadAt, end));
          if (temp > 21.0) lines(JSON.stringify([{ device, id, speed_kmh: speed * 3.6, temp }]));
        },
        settle: flush,
      };
    case 'sliding':
      return { take: new Sliding(kind.rows, lines).take, settle: flush };
    case 'group': {
      const groups = new Groups(lines, flush);
      if (kind.session === undefined) groups.sendEvery(kind.windowMs);
      return { take: groups.take, settle: kind.session === undefined ? flush : groups.session(kind.session) };
    }
    default:
      return kind satisfies never;
  }
}

interface Group {
  n: number;
  sum: number;
  max: number;
}

class Groups {
  readonly #groups = new Map<string, Group>();
  readonly #lines: (line: string) => void;
  readonly #flush: () => void;

  constructor(lines: (line: string) => void, flush: () => void) {
    this.#lines = lines;
    this.#flush = flush;
  }

  readonly take: Take = (data, _topicAt, payloadAt, end) => {
    const { device, temp, speed } = JSON.parse(data.toString('utf8', payloadAt, end));
    const group = this.#groups.get(device);
    if (group === undefined) this.#groups.set(device, { n: 1, sum: temp, max: speed });
    else {
      group.n++;
      group.sum += temp;
      if (speed > group.max) group.max = speed;
    }
  };

  /** Sends the groups at the end of each window; windows begin at multiples of their length. */
  sendEvery(windowMs: number): void {
    const rest = windowMs - (Date.now() % windowMs);
    setTimeout(() => {
      this.#send();
      this.sendEvery(windowMs);
    }, rest);
  }

  /** Returns what keeps the session: it ends when nothing comes for the timeout, or at its greatest length. */
  session({ maxMs, timeoutMs }: { maxMs: number; timeoutMs: number }): () => void {
    let start = 0;
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      this.#send();
      start = 0;
    };
    return () => {
      if (this.#groups.size === 0) return;
      start ||= Date.now();
      if (Date.now() - start > maxMs) end();
      clearTimeout(timer);
      timer = setTimeout(end, timeoutMs);
    };
  }

  #send(): void {
    const rows = Array.from(this.#groups, ([device, { n, sum, max }]) => ({
      avg_temp: sum / n,
      device,
      max_speed: max,
      n,
    }));
    this.#groups.clear();
    if (rows.length > 0) this.#lines(JSON.stringify(rows));
    this.#flush();
  }
}

/**
 * The last rows in rings, their sum kept by adding and subtracting, and the places of the rows that are larger than all
 * behind them.
 */
class Sliding {
  readonly #rows: number;
  readonly #lines: (line: string) => void;
  readonly #temps: Float64Array;
  readonly #speeds: Float64Array;
  readonly #largest: Float64Array;
  #first = 0;
  #to = 0;
  #count = 0;
  #sum = 0;

  constructor(rows: number, lines: (line: string) => void) {
    this.#rows = rows;
    this.#lines = lines;
    this.#temps = new Float64Array(rows);
    this.#speeds = new Float64Array(rows);
    this.#largest = new Float64Array(rows + 1);
  }

  readonly take: Take = (data, _topicAt, payloadAt, end) => {
    const { id, temp, speed } = JSON.parse(data.toString('utf8', payloadAt, end));
    const [rows, ring] = [this.#rows, this.#largest.length];
    const i = this.#count++;
    const place = i % rows;
    this.#sum += temp - (i >= rows ? (this.#temps[place] as number) : 0);
    if (this.#first < this.#to && (this.#largest[this.#first % ring] as number) <= i - rows) this.#first++;
    this.#temps[place] = temp;
    this.#speeds[place] = speed;
    while (
      this.#first < this.#to &&
      (this.#speeds[(this.#largest[(this.#to - 1) % ring] as number) % rows] as number) <= speed
    ) {
      this.#to--;
    }
    this.#largest[this.#to++ % ring] = i;
    const n = Math.min(i + 1, rows);
    const max = this.#speeds[(this.#largest[this.#first % ring] as number) % rows] as number;
    this.#lines(JSON.stringify([{ avg_temp: this.#sum / n, id, max_speed: max, n }]));
  };
}
