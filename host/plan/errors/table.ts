/** Tables of the planner's refusals: a row is the text, made of what it names. */
import { HaumeaError } from '../../base/errors.js';
import type { Span } from '../../sql/ast.js';

type Row = string | ((...named: never[]) => string);

type Named<R> = R extends (...named: infer N) => string ? N : [];

/** Makes the refusal of each row; its place in the statement may follow what the text names. */
type PlanErrors<T extends Readonly<Record<string, Row>>> = {
  readonly [C in keyof T]: (...given: [...named: Named<T[C]>, span?: Span | undefined]) => HaumeaError;
};

/** Declares the refusals of an area of the planner. */
export function planErrors<const T extends Readonly<Record<string, Row>>>(area: string, rows: T): PlanErrors<T> {
  const makers = Object.entries<Row>(rows).map(([name, row]) => [
    name,
    (...given: never[]) => {
      const text = typeof row === 'string' ? row : row(...given);
      const span = given[typeof row === 'string' ? 0 : row.length] as Span | undefined;
      const place = span === undefined ? '' : ` (line ${span.line}, column ${span.column})`;
      return new HaumeaError('plan', `${text}${place}`, { code: `${area}.${name}` });
    },
  ]);
  return Object.fromEntries(makers);
}
