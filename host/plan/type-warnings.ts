/** Comparisons that can't be made of what the columns are declared to be: each row would be an error. */
import type { ColumnType } from '../../kernels/ir.js';
import { chainOf, type Logical, valuesOf } from './logical.js';
import { childrenOf, type OpValue, type Value } from './value.js';

type Kind = 'a text' | 'a number';

const kinds: Partial<Record<ColumnType['type'], Kind>> = { string: 'a text', bigint: 'a number', float: 'a number' };
const constKinds: Readonly<Record<string, Kind>> = { str: 'a text', i64: 'a number', f64: 'a number' };
const comparisons: readonly string[] = ['eq', 'lt', 'le', 'gt', 'ge'].map((name) => `compare.${name}`);

/** Returns a sentence for each comparison of a declared column with a constant of another kind. */
export function typeWarnings(root: Logical): string[] {
  const found = new Set<string>();
  const seen = new Set<Value>();
  const look = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'op') {
      const warning = warningOf(value);
      if (warning !== undefined) found.add(warning);
    }
    for (const child of childrenOf(value)) look(child);
  };
  for (const node of chainOf(root)) for (const value of valuesOf(node)) look(value);
  return [...found];
}

function warningOf({ op, operands }: OpValue): string | undefined {
  if (!comparisons.includes(op)) return undefined;
  const [left, right] = operands;
  const column = [left, right].find((operand) => operand?.kind === 'column');
  const constant = [left, right].find((operand) => operand?.kind === 'const');
  if (column?.kind !== 'column' || constant?.kind !== 'const' || column.use.kind !== 'field') return undefined;
  const { name, type } = column.use;
  const declared = kinds[type.type];
  const given = constKinds[constant.value.tag];
  if (declared === undefined || given === undefined || declared === given) return undefined;
  return `column ${name} is declared ${type.type.toUpperCase()} and compared with ${given}: rows in which it is ${declared} are errors`;
}
