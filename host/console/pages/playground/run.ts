/** A statement that runs on live rows or on given ones, until it is stopped. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, client, reasonOf } from '../../state/server.js';

/** Rows shown: the last ones. */
const mostRows = 200;
/** Rows that came are drawn so often, ms: a fast stream would keep the page busy. */
const drawMs = 150;

export type Row = Readonly<Record<string, unknown>>;

/** A row as it came. */
export interface Arrived {
  readonly number: number;
  readonly time: number;
  readonly row: Row;
  /** The row is the error that came in its place. */
  readonly isError: boolean;
}

/** What runs. */
export interface Question {
  readonly sql: string;
  /** Rows that stand for those of a stream. */
  readonly sample?: { readonly stream: string; readonly rows: readonly Row[] };
  /** Options of a rule. */
  readonly options?: Row;
}

export interface Run {
  readonly isOn: boolean;
  /** The last rows, the newest first. */
  readonly rows: readonly Arrived[];
  readonly count: number;
  /** What the server notes about the run: a source that is not connected, its end. */
  readonly note: string;
  readonly error: string | undefined;
  readonly start: (question: Question) => void;
  readonly stop: () => void;
}

const idle = { isOn: false, rows: [], count: 0, note: '', error: undefined } as const;

/** @param isWanted tells which rows are kept and counted */
export function useRun(isWanted: (row: Arrived) => boolean = () => true): Run {
  const [state, setState] = useState<Omit<Run, 'start' | 'stop'>>(idle);
  const current = useRef<AbortController>(undefined);
  const stop = () => {
    current.current?.abort();
    current.current = undefined;
  };
  useEffect(() => stop, []);
  const start: Run['start'] = (question) => {
    stop();
    const run = new AbortController();
    current.current = run;
    setState({ ...idle, isOn: true });
    const change = (part: Partial<Run>) => {
      if (current.current === run) setState((old) => ({ ...old, ...part }));
    };
    const end = () =>
      setState((old) => (current.current === undefined || current.current === run ? { ...old, isOn: false } : old));
    void follow(bodyOf(question), { signal: run.signal, isWanted, change })
      .catch((error: unknown) => {
        if (!run.signal.aborted) change({ error: reasonOf(error) });
      })
      .finally(end);
  };
  return { ...state, start, stop };
}

/** A test of its own for each run, so that two pages do not end each other's. */
function bodyOf({ sql, sample, options }: Question) {
  const id = `console-${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
  const mock = sample && { [sample.stream]: { data: sample.rows, interval: 100, loop: false } };
  return { id, sql, ...(mock && { mockSource: mock }), ...(options && { options }), sinkProps: { sendSingle: true } };
}

interface Follower {
  readonly signal: AbortSignal;
  readonly isWanted: (row: Arrived) => boolean;
  readonly change: (part: Partial<Run>) => void;
}

async function follow(body: ReturnType<typeof bodyOf>, { signal, isWanted, change }: Follower): Promise<void> {
  const path = { id: body.id };
  const rows: Arrived[] = [];
  let count = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    timer = undefined;
    change({ rows: [...rows], count });
  };
  await ask('POST /ruletest', { body });
  try {
    let isStarted = false;
    while (!signal.aborted) {
      const events = await client.events('GET /ruletest/{id}/events', { path, signal });
      if (!isStarted) await ask('POST /ruletest/{id}/start', { path });
      isStarted = true;
      for await (const event of events) {
        if ('note' in event) {
          change({ note: event.note });
          if (/^the (stream|query) has ended/.test(event.note)) return;
          continue;
        }
        const time = Date.now();
        for (const row of rowsIn(event.data)) {
          const arrived = { number: count + 1, time, ...row };
          if (!isWanted(arrived)) continue;
          count++;
          rows.unshift(arrived);
        }
        rows.length = Math.min(rows.length, mostRows);
        timer ??= setTimeout(draw, drawMs);
      }
    }
  } finally {
    clearTimeout(timer);
    if (count > 0) change({ rows: [...rows], count });
    await ask('DELETE /ruletest/{id}', { path }).catch(() => {});
  }
}

/** The rows of an event; the error of a row comes as a text in its place. */
function rowsIn(data: string): readonly Pick<Arrived, 'row' | 'isError'>[] {
  try {
    return [JSON.parse(data) as Row | Row[]].flat().map((row) => ({ row, isError: false }));
  } catch {
    return [{ row: { error: data }, isError: true }];
  }
}
