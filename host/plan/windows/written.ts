/** Windows as GROUP BY has them. */

const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'dd'],
  [3_600_000, 'hh'],
  [60_000, 'mi'],
  [1000, 'ss'],
];

/** The name of a window with its lengths in their unit; `unitMs` 0: the largest in which all are whole. */
export function written(name: string, unitMs: number, ...lengths: readonly number[]): string {
  const isUnit = (ms: number) => (unitMs === 0 ? lengths.every((length) => length % ms === 0) : ms === unitMs);
  const [ms, unit] = units.find(([size]) => isUnit(size)) ?? [1, 'ms'];
  return `${name}(${[unit, ...lengths.map((length) => length / ms)].join(', ')})`;
}
