/** Histograms of durations: how often work took how long. */
import { histogramBounds, histogramFirstUs } from '../gen/layouts.js';

/** Upper bounds of the buckets, microseconds; longer times are counted in one more bucket. */
export const latencyBounds: readonly number[] = Array.from(
  { length: histogramBounds },
  (_, i) => histogramFirstUs * 2 ** i,
);

/** Histogram of the times that work took. */
export interface Histogram {
  sumUs: number;
  /** Number of times up to each of `latencyBounds`, and above the last. */
  counts: number[];
}

/** A histogram that has seen nothing. */
export function emptyHistogram(): Histogram {
  return { sumUs: 0, counts: new Array<number>(latencyBounds.length + 1).fill(0) };
}

/** Notes one time. */
export function noteLatency(histogram: Histogram, us: number): void {
  const found = latencyBounds.findIndex((bound) => us <= bound);
  const i = found < 0 ? latencyBounds.length : found;
  histogram.counts[i] = (histogram.counts[i] ?? 0) + 1;
  histogram.sumUs += us;
}

/** Adds the times of `more` since `base`. */
export function addLatencies(to: Histogram, more: Histogram | null, base: Histogram | null): void {
  if (more === null) return;
  to.sumUs += Math.max(0, more.sumUs - (base?.sumUs ?? 0));
  to.counts.forEach((count, i) => {
    to.counts[i] = count + (more.counts[i] ?? 0) - (base?.counts[i] ?? 0);
  });
}
