/** Random cases of MATCH_RECOGNIZE: patterns, conditions, measures, rows, and how the rows come. */
import fc from 'fast-check';
import type { PatternPart } from '../../../../host/sql/ast.js';
import { printPart } from '../../../../host/sql/match/print.js';
import {
  type Condition,
  conditionText,
  looksAhead,
  type Names,
  subsetName,
  type Term,
  termsOf,
  termText,
} from './terms.js';

const span = { start: 0, end: 0, line: 1, column: 1 };
export const variableNames = ['A', 'B', 'C', 'D'] as const;
/** A variable that only NOT may have. */
const absentName = 'N';

const bounds = fc.constantFrom<[number, number | null]>(
  [0, null],
  [1, null],
  [0, 1],
  [2, null],
  [1, 2],
  [0, 2],
  [2, 3],
  [2, 2],
);

const { part } = fc.letrec<{ part: PatternPart }>((tie) => {
  const several = (minLength: number) => fc.array(tie('part'), { minLength, maxLength: 3 });
  const variable = fc.constantFrom(...variableNames).map((name): PatternPart => ({ kind: 'variable', name, span }));
  const sequence = several(0).map(
    (parts): PatternPart => (parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }),
  );
  const choice = several(2).map((options): PatternPart => ({ kind: 'choice', options }));
  const repeat = fc
    .tuple(tie('part'), bounds, fc.boolean())
    .map(([of, [least, most], isReluctant]): PatternPart => ({ kind: 'repeat', of, least, most, isReluctant }));
  const excluded = tie('part').map((of): PatternPart => ({ kind: 'excluded', of }));
  const permute = several(2).map((of): PatternPart => ({ kind: 'permute', of }));
  return {
    part: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      { weight: 5, arbitrary: variable },
      { weight: 4, arbitrary: sequence },
      { weight: 2, arbitrary: choice },
      { weight: 4, arbitrary: repeat },
      { weight: 1, arbitrary: excluded },
      { weight: 1, arbitrary: permute },
    ),
  };
});

const of = fc.integer({ min: -1, max: 5 });
const way = {
  of,
  nav: fc.constantFrom('plain' as const, 'plain' as const, 'first' as const, 'last' as const),
  offset: fc.integer({ min: 0, max: 2 }),
  shift: fc.constantFrom(0, 0, 0, -1, -1, -2, 1, 2),
  isFinal: fc.boolean(),
};
const look: fc.Arbitrary<Term> = fc.record({ kind: fc.constant('look' as const), ...way });
const classifier: fc.Arbitrary<Term> = fc.record({ kind: fc.constant('classifier' as const), ...way });
const fns = ['rows', 'count', 'sum', 'avg', 'min', 'max', 'collect', 'names'] as const;
const aggregateOf = (...some: (typeof fns)[number][]): fc.Arbitrary<Term> =>
  fc.record({
    kind: fc.constant('aggregate' as const),
    fn: fc.constantFrom(...some),
    of,
    isFiltered: fc.boolean(),
    isFinal: fc.boolean(),
  });
const number = fc.oneof({ weight: 3, arbitrary: look }, { weight: 1, arbitrary: aggregateOf(...fns.slice(0, 6)) });
const measure = fc.oneof(look, classifier, aggregateOf(...fns));

const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('compare' as const),
        op: fc.constantFrom('>' as const, '<' as const, '>=' as const),
        left: number,
        right: fc.oneof(fc.integer({ min: 0, max: 3 }), number),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('isNull' as const), term: look }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('isA' as const), term: classifier, name: fc.nat({ max: 3 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        of: fc.tuple(tie('condition'), tie('condition')),
      }),
    },
  ),
}));

export const cases = fc.record({
  pattern: part,
  absent: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.record({
        name: fc.constantFrom(absentName, absentName, ...variableNames),
        ms: fc.integer({ min: 1, max: 6 }),
      }),
    },
  ),
  defined: fc.tuple(...[...variableNames, absentName].map(() => fc.option(condition, { freq: 4 }))),
  subset: fc.option(fc.integer({ min: 1, max: 31 }), { freq: 2 }),
  within: fc.option(fc.integer({ min: 1, max: 8 }), { freq: 2 }),
  shape: fc.constantFrom('one' as const, 'all' as const, 'all' as const, 'omit' as const, 'unmatched' as const),
  measures: fc.array(measure, { maxLength: 3 }),
  skip: fc.record({
    to: fc.constantFrom('pastLast' as const, 'next' as const, 'first' as const, 'last' as const),
    of: fc.nat({ max: 5 }),
  }),
  isPartitioned: fc.boolean(),
  /** Longest lateness of rows, in event time; null: time is that of the clock. */
  tolerance: fc.option(fc.integer({ min: 0, max: 4 }), { freq: 2 }),
  rows: fc.array(
    fc.record({
      k: fc.nat({ max: 2 }),
      v: fc.option(fc.integer({ min: 0, max: 4 }), { freq: 12 }),
      after: fc.integer({ min: 0, max: 3 }),
      lag: fc.constantFrom(0, 0, 0, 1, 2, 5),
    }),
    { minLength: 1, maxLength: 14 },
  ),
  /** What makes matches final: rows alone, the end of the input, or time. */
  over: fc.constantFrom('rows' as const, 'end' as const, 'time' as const),
  /** Rows that a kernel works on at once; null: all. */
  longRows: fc.option(fc.constantFrom(0, 1, 3, 8), { freq: 2 }),
  cuts: fc.array(
    fc.record({
      rows: fc.integer({ min: 1, max: 5 }),
      moves: fc.boolean(),
      ticks: fc.boolean(),
      /** Pieces of the work that waits which are done before the next rows come. */
      pieces: fc.nat({ max: 4 }),
    }),
    { maxLength: 6 },
  ),
});

export type PatternCase = typeof cases extends fc.Arbitrary<infer C> ? C : never;

/** What a case comes to: its texts, and how much of it is there. */
export interface Resolved {
  readonly sql: string;
  readonly names: Names;
  readonly skipTo: string;
  readonly over: PatternCase['over'];
  readonly conditions: readonly (readonly [name: string, condition: Condition])[];
  readonly hasExcluded: boolean;
}

const skips = { pastLast: 'PAST LAST ROW', next: 'TO NEXT ROW', first: 'TO FIRST', last: 'TO LAST' };
const shapes = {
  one: 'ONE ROW PER MATCH',
  all: 'ALL ROWS PER MATCH',
  omit: 'ALL ROWS PER MATCH OMIT EMPTY MATCHES',
  unmatched: 'ALL ROWS PER MATCH WITH UNMATCHED ROWS',
};

/** The statement; null where the pattern has no variable. */
export function resolve(one: PatternCase): Resolved | null {
  const body = printPart(one.pattern, (name) => name);
  const used = variableNames.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  if (used.length === 0) return null;
  const { absent } = one;
  const variables =
    absent === null || (used as readonly string[]).includes(absent.name) ? used : [...used, absent.name];
  const subset = one.subset === null ? null : variables.filter((_name, i) => (one.subset! >> i) & 1);
  const names: Names = { variables, subset: subset?.length === 0 ? null : subset };
  const conditions = [...variableNames, absentName].flatMap((name, i) => {
    const condition = one.defined[i];
    return condition == null || !(variables as readonly string[]).includes(name) ? [] : [[name, condition] as const];
  });
  const targets = names.subset === null ? variables : [...variables, subsetName];
  const skipTo = targets[one.skip.of % targets.length]!;
  const ms = (length: number) => `INTERVAL '${length}' MILLISECOND`;
  // A choice at the top would take NOT as part of its last alternative.
  const whole =
    absent === null
      ? body
      : `${one.pattern.kind === 'choice' ? `(${body})` : body} NOT ${absent.name} WITHIN ${ms(absent.ms)}`;
  const columns = one.shape === 'one' ? ['FIRST(id) AS s', 'LAST(id) AS e'] : [];
  const all = [
    'MATCH_NUMBER() AS m',
    one.shape === 'one' ? 'collect(CLASSIFIER()) AS c' : 'CLASSIFIER() AS c',
    ...columns,
    ...one.measures.map((term, i) => `${termText(term, names, true)} AS x${i}`),
  ];
  const shown = [
    ...(one.shape === 'one' ? [...(one.isPartitioned ? ['k'] : []), 's', 'e'] : ['id', 'k']),
    ...['m', 'c', ...one.measures.map((_term, i) => `x${i}`)],
  ];
  const defines = conditions.map(([name, condition]) => `${name} AS ${conditionText(condition, names)}`);
  const sql =
    `SELECT ${shown.join(', ')} FROM s MATCH_RECOGNIZE (${one.isPartitioned ? 'PARTITION BY k ' : ''}` +
    `MEASURES ${all.join(', ')} ${shapes[one.shape]} ` +
    `AFTER MATCH SKIP ${skips[one.skip.to]}${one.skip.to === 'first' || one.skip.to === 'last' ? ` ${skipTo}` : ''} ` +
    `PATTERN (${whole})${one.within === null ? '' : ` WITHIN ${ms(one.within)}`}` +
    `${names.subset === null ? '' : ` SUBSET ${subsetName} = (${names.subset.join(', ')})`}` +
    `${defines.length === 0 ? '' : ` DEFINE ${defines.join(', ')}`}) AS p`;
  return { sql, names, skipTo, conditions, over: overOf(one, conditions), hasExcluded: body.includes('{-') };
}

/** Rows alone do not say what is final where time counts, and time does so only where it bounds matches. */
function overOf(one: PatternCase, conditions: Resolved['conditions']): PatternCase['over'] {
  const isAhead = conditions.some(([, condition]) => termsOf(condition).some(looksAhead));
  if (one.over === 'rows' && (isAhead || one.within !== null || one.absent !== null || one.tolerance !== null)) {
    return 'end';
  }
  const waits = isAhead || one.measures.some(looksAhead) || one.within === null;
  if (one.over === 'time' && (waits || (one.tolerance !== null && !one.isPartitioned))) return 'end';
  return one.over;
}
