/** Texts of the state that rules keep, in the words of their statements. */
import { aggregates } from '../../../kernels/gen/ops.js';
import { type Prefix, showCall, showValue } from '../values/show.js';
import type { AggregateValue, AnalyticValue, Value } from '../values/value.js';

/** Longest text of a part of a statement. */
const maxLength = 120;
/** Higher values have no text: it is made from the top down. */
const maxHeight = 1000;

export class Words {
  readonly #prefix: Prefix;

  constructor(
    names: readonly string[],
    /** Name of a function that folds rows. */
    private readonly call: (number: number) => string,
  ) {
    this.#prefix = names.length > 1 ? (source) => (names[source] === undefined ? '' : `${names[source]}.`) : () => '';
  }

  value(value: Value): string {
    if (value.height > maxHeight) return 'a long expression';
    const text = showValue(value, this.#prefix, (one, show) => this.#asWritten(one, show));
    return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  }

  all(values: readonly Value[]): string {
    return values.map((value) => this.value(value)).join(', ');
  }

  /** Functions as statements have them: without what they get besides. */
  #asWritten(value: Value, show: (child: Value) => string): string | undefined {
    if (value.kind === 'aggregate') return this.#aggregate(value, show);
    if (value.kind !== 'analytic') return undefined;
    const when = isOfSource(value.when) ? null : value.when;
    return showCall({ ...value, when }, argumentsOf(value, show), show);
  }

  #aggregate({ fn, args, filter, call }: AggregateValue, show: (child: Value) => string): string {
    const name = call === 0 ? aggregates[fn].sql : this.call(call);
    const given = fn === 'countAll' ? '*' : args.map(show).join(', ');
    return `${name}(${given})${filter === null ? '' : ` FILTER (WHERE ${show(filter)})`}`;
  }
}

/** A row is there of the source that the function is of: joins add that. */
function isOfSource(when: Value | null): boolean {
  if (when?.kind !== 'op' || when.op !== 'logic.isNotNull') return false;
  const [of] = when.operands;
  return of?.kind === 'column' && of.use.kind === 'arrival';
}

/**
 * Arguments without the usual ones at their end: `lag(temp)` is one row back, null before the first, and passes nulls
 * by.
 */
function argumentsOf({ fn, args, size }: AnalyticValue, show: (child: Value) => string): string[] {
  const shown = args.map(show);
  if (fn !== 'lag') return shown;
  const usual = ['1', 'null', 'true'];
  const [first = '', ...rest] = [...shown.slice(0, 1), String(size), ...shown.slice(1)];
  while (rest.length > 0 && rest.at(-1) === usual[rest.length - 1]) rest.pop();
  return [first, ...rest];
}
