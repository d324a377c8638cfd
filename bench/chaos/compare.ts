/** Comparison of the rows that came out with the expected rows. */

/** Guarantees that the rules give together. */
const promises = ['nothing', 'at most once', 'at least once', 'exactly once'] as const;
export type Promised = (typeof promises)[number];

export const isPromise = (text: unknown): text is Promised => promises.includes(text as Promised);

export interface Comparison {
  readonly expected: number;
  readonly received: number;
  /** Rows that never came. */
  readonly lost: number;
  /** Rows that came once more than they should. */
  readonly repeated: number;
  /** Rows that came for the first time after one that belongs behind them. */
  readonly reordered: number;
  /** Rows that should not be there at all. */
  readonly wrong: number;
  /** The first of each. */
  readonly examples: readonly string[];
}

const maxExamples = 3;

/** Compares rows as texts. */
export function compare(expected: readonly string[], received: readonly string[]): Comparison {
  const places = new Map<string, { place: number; left: number; seen: boolean }>();
  expected.forEach((row, place) => {
    const known = places.get(row);
    if (known === undefined) places.set(row, { place, left: 1, seen: false });
    else known.left++;
  });
  const examples = new Map<string, string[]>();
  const note = (what: string, row: string) => {
    const list = examples.get(what) ?? [];
    examples.set(what, list);
    if (list.length < maxExamples) list.push(`${what}: ${row.slice(0, 200)}`);
  };
  let [repeated, reordered, wrong] = [0, 0, 0];
  let highest = -1;
  for (const row of received) {
    const known = places.get(row);
    if (known === undefined) {
      wrong++;
      note('wrong', row);
      continue;
    }
    if (known.left === 0) {
      repeated++;
      note('repeated', row);
      continue;
    }
    known.left--;
    if (!known.seen && known.place < highest) {
      reordered++;
      note('reordered', row);
    }
    known.seen = true;
    highest = Math.max(highest, known.place);
  }
  let lost = 0;
  for (const [row, { left }] of places) {
    lost += left;
    if (left > 0) note('lost', row);
  }
  return {
    expected: expected.length,
    received: received.length,
    lost,
    repeated,
    reordered,
    wrong,
    examples: [...examples.values()].flat(),
  };
}

/** Breaches of the promise, one sentence each. */
export function brokenBy(
  found: Pick<Comparison, 'lost' | 'repeated' | 'reordered' | 'wrong'>,
  promised: Promised,
  isOrdered: boolean,
): string[] {
  if (promised === 'nothing') return [];
  const broken: string[] = [];
  if (promised !== 'at most once' && found.lost > 0) broken.push(`${found.lost} rows are lost`);
  if (promised !== 'at least once' && found.repeated > 0) broken.push(`${found.repeated} rows came twice`);
  if (found.wrong > 0) broken.push(`${found.wrong} rows are wrong`);
  if (isOrdered && found.reordered > 0) broken.push(`${found.reordered} rows are out of order`);
  return broken;
}
