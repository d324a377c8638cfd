/** Expressions of MEASURES and DEFINE as data: how statements have them, and their values by the rows of a match. */
import type { Labelled, PatternRow } from './naive-search.js';

/** What is looked at: variable or subset by its place among the names that are there, -1 for all rows. */
interface Of {
  readonly of: number;
  readonly nav: 'plain' | 'first' | 'last';
  readonly offset: number;
  /** Rows before (below 0) or behind the row that was found. */
  readonly shift: number;
  readonly isFinal: boolean;
}

export type Term =
  | ({ readonly kind: 'look' } & Of)
  | ({ readonly kind: 'classifier' } & Of)
  | {
      readonly kind: 'aggregate';
      readonly fn: 'rows' | 'count' | 'sum' | 'avg' | 'min' | 'max' | 'collect' | 'names';
      readonly of: number;
      readonly isFiltered: boolean;
      readonly isFinal: boolean;
    };

export type Condition =
  | { readonly kind: 'compare'; readonly op: '>' | '<' | '>='; readonly left: Term; readonly right: Term | number }
  | { readonly kind: 'isNull'; readonly term: Term }
  | { readonly kind: 'isA'; readonly term: Term; readonly name: number }
  | { readonly kind: 'and' | 'or'; readonly of: readonly [Condition, Condition] };

/** The names that terms may use: variables of the pattern, and the subset where there is one. */
export interface Names {
  readonly variables: readonly string[];
  readonly subset: readonly string[] | null;
}

/** Name of the subset. */
export const subsetName = 'U';

const nameOf = ({ variables, subset }: Names, of: number): string | null => {
  const all = subset === null ? variables : [...variables, subsetName];
  return of < 0 ? null : all[of % all.length]!;
};

/** The variables that a name stands for, null: all. */
export const membersOf = ({ subset }: Names, name: string | null): readonly string[] | null =>
  name === null ? null : name === subsetName ? (subset ?? []) : [name];

// ---- text ----------------------------------------------------------------------------------------------------------

function withWay(inner: string, { nav, offset, shift, isFinal }: Of, semantics: boolean): string {
  const edge = nav === 'plain' ? inner : `${nav.toUpperCase()}(${inner}${offset > 0 ? `, ${offset}` : ''})`;
  const whole = semantics && nav !== 'plain' && isFinal ? `FINAL ${edge}` : edge;
  if (shift === 0) return whole;
  const far = Math.abs(shift);
  return `${shift < 0 ? 'PREV' : 'NEXT'}(${whole}${far > 1 ? `, ${far}` : ''})`;
}

/** `semantics`: FINAL may stand, as in MEASURES. */
export function termText(term: Term, names: Names, semantics: boolean): string {
  const name = nameOf(names, term.of);
  const column = name === null ? 'v' : `${name}.v`;
  if (term.kind === 'look') return withWay(column, term, semantics);
  if (term.kind === 'classifier') return withWay(`CLASSIFIER(${name ?? ''})`, term, semantics);
  const args = {
    rows: `count(${name === null ? '*' : `${name}.*`})`,
    names: `collect(CLASSIFIER(${name ?? ''}))`,
  };
  const call = term.fn === 'rows' || term.fn === 'names' ? args[term.fn] : `${term.fn}(${column})`;
  const filter = isFilteredOf(term) ? ` FILTER (WHERE ${column} > 1)` : '';
  return `${semantics && term.isFinal ? 'FINAL ' : ''}${call}${filter}`;
}

const isFilteredOf = (term: Extract<Term, { kind: 'aggregate' }>): boolean => term.isFiltered && term.fn !== 'names';

const namedBy = ({ name }: { readonly name: number }, { variables }: Names): string =>
  variables[name % variables.length]!;

export function conditionText(condition: Condition, names: Names): string {
  switch (condition.kind) {
    case 'compare': {
      const { right } = condition;
      const left = termText(condition.left, names, false);
      return `${left} ${condition.op} ${typeof right === 'number' ? right : termText(right, names, false)}`;
    }
    case 'isNull':
      return `${termText(condition.term, names, false)} IS NULL`;
    case 'isA':
      return `${termText(condition.term, names, false)} = '${namedBy(condition, names)}'`;
    default: {
      const [left, right] = condition.of.map((one) => conditionText(one, names));
      return `(${left} ${condition.kind.toUpperCase()} ${right})`;
    }
  }
}

/** Terms within a condition. */
export function termsOf(condition: Condition): readonly Term[] {
  switch (condition.kind) {
    case 'compare':
      return typeof condition.right === 'number' ? [condition.left] : [condition.left, condition.right];
    case 'and':
    case 'or':
      return condition.of.flatMap(termsOf);
    default:
      return [condition.term];
  }
}

/** True for what looks at rows behind the one that is found. */
export const looksAhead = (term: Term): boolean => term.kind === 'look' && term.shift > 0;

// ---- values --------------------------------------------------------------------------------------------------------

export interface Looking {
  readonly rows: readonly PatternRow[];
  readonly labels: readonly Labelled[];
  /** How many of the labels running values look at. */
  readonly limit: number;
  readonly names: Names;
}

type Value = number | string | null | readonly (number | string | null)[];

function seen(term: Term, { labels, limit, names }: Looking): readonly Labelled[] {
  const isWhole = term.isFinal && (term.kind === 'aggregate' || term.nav !== 'plain');
  const set = membersOf(names, nameOf(names, term.of));
  return labels.slice(0, isWhole ? labels.length : limit).filter(({ name }) => set === null || set.includes(name));
}

/** The row that a term finds, before its shift. */
export function foundBy(term: Exclude<Term, { kind: 'aggregate' }>, looking: Looking): Labelled | undefined {
  const rows = seen(term, looking);
  if (term.nav === 'first') return rows[term.offset];
  return rows.at(-1 - (term.nav === 'last' ? term.offset : 0));
}

export function termValue(term: Term, looking: Looking): Value {
  if (term.kind === 'aggregate') return aggregateValue(term, looking);
  const found = foundBy(term, looking);
  if (found === undefined) return null;
  const at = found.at + term.shift;
  if (term.kind === 'look') return looking.rows[at]?.v ?? null;
  return looking.labels.find((one) => one.at === at)?.name ?? null;
}

function aggregateValue(term: Extract<Term, { kind: 'aggregate' }>, looking: Looking): Value {
  const ofRow = ({ at }: Labelled): number | null => looking.rows[at]!.v;
  const rows = seen(term, looking).filter((one) => !isFilteredOf(term) || (ofRow(one) ?? 0) > 1);
  const values = rows.map(ofRow);
  const there = values.filter((value) => value !== null);
  const sum = there.reduce((total, value) => total + value, 0);
  switch (term.fn) {
    case 'rows':
      return rows.length;
    case 'count':
      return there.length;
    case 'names':
      return rows.map(({ name }) => name);
    case 'collect':
      return values;
    default:
      if (there.length === 0) return null;
      if (term.fn === 'sum') return sum;
      if (term.fn === 'avg') return sum / there.length;
      return term.fn === 'min' ? Math.min(...there) : Math.max(...there);
  }
}

export function conditionHolds(condition: Condition, looking: Looking): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every((one) => conditionHolds(one, looking));
    case 'or':
      return condition.of.some((one) => conditionHolds(one, looking));
    case 'isNull':
      return termValue(condition.term, looking) === null;
    case 'isA':
      return termValue(condition.term, looking) === namedBy(condition, looking.names);
    default: {
      const { op, right } = condition;
      const a = termValue(condition.left, looking) as number | null;
      const b = typeof right === 'number' ? right : (termValue(right, looking) as number | null);
      if (a === null || b === null) return false;
      return op === '>' ? a > b : op === '<' ? a < b : a >= b;
    }
  }
}
