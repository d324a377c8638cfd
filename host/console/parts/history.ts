/** The last values of counters, as rates a second. */
import { useRef } from 'preact/hooks';

/** Points kept: two minutes of a look every two seconds. */
const most = 60;

export interface Rates {
  /** Epoch seconds. */
  readonly times: readonly number[];
  /** For each counter its rate at each time; null where there was none. */
  readonly series: readonly (readonly (number | null)[])[];
}

/** Adds the counters of a look and returns the rates so far; `name` begins a new history when it changes. */
export function useRates(name: string, timeMs: number | undefined, counters: readonly number[]): Rates {
  const history = useRef<{ name: string; points: [time: number, counters: readonly number[]][] }>({ name, points: [] });
  if (history.current.name !== name) history.current = { name, points: [] };
  const { points } = history.current;
  const last = points.at(-1);
  if (timeMs !== undefined && (last === undefined || timeMs > last[0])) {
    points.push([timeMs, counters]);
    if (points.length > most) points.shift();
  }
  return {
    times: points.slice(1).map(([time]) => time / 1000),
    series: counters.map((_counter, k) =>
      points.slice(1).map(([time, values], i) => {
        const [before, old] = points[i]!;
        const change = (values[k] ?? 0) - (old[k] ?? 0);
        // A counter that fell began anew.
        return change < 0 ? null : (change * 1000) / (time - before);
      }),
    ),
  };
}
