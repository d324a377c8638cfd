/** Whether a figure grows: a line through its samples. */

export interface Point {
  /** Hours since the begin. */
  readonly hours: number;
  readonly value: number;
}

export interface Trend {
  /** Mean of the blocks; `min` and `max` are of the judged points. */
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** Growth per hour, with half the width of its confidence interval (95 %). */
  readonly slope: number;
  readonly range: number;
  /** Growth of the line over the judged time. */
  readonly growth: number;
}

/** Number of blocks into which neighbouring points are put together, as they resemble each other. */
const blocks = 20;
/** 97.5 % of the distribution of t, by degrees of freedom from 1 on; further ones are near enough. */
const quantiles = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101,
];

/** Shortest time that can be judged, hours: until then rules, caches and compiled code still warm up. */
const leastHours = 1 / 12;

/** Figure that stands for a block: `low` for measures that go up and down with garbage collection. */
export type BlockFigure = 'mean' | 'low';

/** The line through the second half of the points; undefined when they are too few or the time is too short. */
export function trendOf(points: readonly Point[], figure: BlockFigure): Trend | undefined {
  const judged = points.slice(points.length >> 1).filter(({ value }) => Number.isFinite(value));
  const size = Math.max(1, Math.floor(judged.length / blocks));
  const taken: Point[] = [];
  for (let i = 0; i + size <= judged.length; i += size) taken.push(blockOf(judged.slice(i, i + size), figure));
  if (taken.length < 3 || judged.at(-1)!.hours - judged[0]!.hours < leastHours) return undefined;
  const n = taken.length;
  const mean = (of: (point: Point) => number) => taken.reduce((sum, point) => sum + of(point), 0) / n;
  const [x, y] = [mean(({ hours }) => hours), mean(({ value }) => value)];
  const spread = taken.reduce((sum, { hours }) => sum + (hours - x) ** 2, 0);
  const slope = taken.reduce((sum, { hours, value }) => sum + (hours - x) * (value - y), 0) / spread;
  const rest = taken.reduce((sum, { hours, value }) => sum + (value - y - slope * (hours - x)) ** 2, 0);
  const error = Math.sqrt(rest / (n - 2) / spread);
  const values = judged.map(({ value }) => value);
  return {
    mean: y,
    min: Math.min(...values),
    max: Math.max(...values),
    slope,
    range: error * (quantiles[n - 3] ?? quantiles.at(-1)!),
    growth: slope * (taken.at(-1)!.hours - taken[0]!.hours),
  };
}

function blockOf(points: readonly Point[], figure: BlockFigure): Point {
  const values = points.map(({ value }) => value);
  const hours = points.reduce((sum, point) => sum + point.hours, 0) / points.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { hours, value: figure === 'low' ? Math.min(...values) : mean };
}

/** How much is no growth: less than that part of the mean, or less than that much. */
export interface Bound {
  readonly part: number;
  readonly least: number;
}

export type Verdict = 'flat' | 'falls' | 'grows' | 'grows, within its bound' | 'too short to tell';

/** Verdict on a trend: growth counts when it is significant and exceeds the bound. */
export function verdictOf(trend: Trend | undefined, bound: Bound): Verdict {
  if (trend === undefined) return 'too short to tell';
  const { slope, range, growth, mean } = trend;
  if (slope + range < 0) return 'falls';
  if (slope - range <= 0) return 'flat';
  return growth > Math.max(bound.part * Math.abs(mean), bound.least) ? 'grows' : 'grows, within its bound';
}
