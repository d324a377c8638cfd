/** A statement that runs on live rows or on given ones, until it is stopped. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../../../sdk/client.js';
import { client, noted, reasonOf } from '../../state/server.js';

/** Rows shown: the last ones. */
const mostRows = 200;
/** Rows that came are drawn so often, ms: a fast stream would keep the page busy. */
const drawMs = 150;

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
  /** Rows that stand for those of streams. */
  readonly rows?: Readonly<Record<string, readonly Row[]>>;
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

export function useRun(): Run {
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
    void follow(question, { signal: run.signal, change })
      .catch((error: unknown) => {
        if (!run.signal.aborted) change({ error: reasonOf(error) });
      })
      .finally(end);
  };
  return { ...state, start, stop };
}

interface Follower {
  readonly signal: AbortSignal;
  readonly change: (part: Partial<Run>) => void;
}

async function follow({ sql, rows: given, options }: Question, { signal, change }: Follower): Promise<void> {
  const rows: Arrived[] = [];
  let count = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    timer = undefined;
    change({ rows: [...rows], count });
  };
  try {
    for await (const found of client.query(sql, { rows: given, options, signal })) {
      if ('note' in found) {
        change({ note: found.note });
        continue;
      }
      const isError = 'error' in found;
      const arrived = { number: count + 1, time: Date.now(), row: isError ? found : found.row, isError };
      count++;
      rows.unshift(arrived);
      rows.length = Math.min(rows.length, mostRows);
      timer ??= setTimeout(draw, drawMs);
    }
  } catch (error) {
    noted(error);
    throw error;
  } finally {
    clearTimeout(timer);
    if (count > 0) change({ rows: [...rows], count });
  }
}
