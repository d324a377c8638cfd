/** A statement that runs on live rows or on given ones, until it is stopped. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, client, reasonOf } from '../../state/server.js';

/** Rows shown: the last ones. */
const mostRows = 200;
/** Rows that came are drawn so often, ms: a fast stream would keep the page busy. */
const drawMs = 150;

export type Row = Readonly<Record<string, unknown>>;

export interface Run {
  readonly isOn: boolean;
  /** The last rows, the newest first, with their numbers. */
  readonly rows: readonly (readonly [number: number, row: Row])[];
  readonly count: number;
  /** What the server notes about the run: a source that is not connected, its end. */
  readonly note: string;
  readonly error: string | undefined;
  readonly start: (sql: string, sample?: { stream: string; rows: readonly Row[] }) => void;
  readonly stop: () => void;
}

const idle = { isOn: false, rows: [], count: 0, note: '', error: undefined } as const;

export function useRun(): Run {
  const [state, setState] = useState<Omit<Run, 'start' | 'stop'>>(idle);
  const current = useRef<AbortController>(undefined);
  const stop = () => {
    current.current?.abort();
    current.current = undefined;
  };
  useEffect(() => stop, []);
  const start: Run['start'] = (sql, sample) => {
    stop();
    const run = new AbortController();
    current.current = run;
    setState({ ...idle, isOn: true });
    const change = (part: Partial<Run>) => {
      if (current.current === run) setState((old) => ({ ...old, ...part }));
    };
    const end = () =>
      setState((old) => (current.current === undefined || current.current === run ? { ...old, isOn: false } : old));
    void follow(bodyOf(sql, sample), run.signal, change)
      .catch((error: unknown) => {
        if (!run.signal.aborted) change({ error: reasonOf(error) });
      })
      .finally(end);
  };
  return { ...state, start, stop };
}

/** A test of its own for each run, so that two pages do not end each other's. */
function bodyOf(sql: string, sample?: { stream: string; rows: readonly Row[] }) {
  const id = `console-${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
  const mock = sample && { [sample.stream]: { data: sample.rows, interval: 100, loop: false } };
  return { id, sql, ...(mock && { mockSource: mock }), sinkProps: { sendSingle: true } };
}

async function follow(
  body: ReturnType<typeof bodyOf>,
  signal: AbortSignal,
  change: (part: Partial<Run>) => void,
): Promise<void> {
  const path = { id: body.id };
  const rows: (readonly [number, Row])[] = [];
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
        for (const row of [JSON.parse(event.data)].flat()) rows.unshift([++count, row]);
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
