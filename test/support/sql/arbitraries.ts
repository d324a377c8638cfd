/** Generators of syntax trees for the property tests of the SQL front. */
import fc from 'fast-check';
import type {
  CreateSource,
  Expr,
  FieldDef,
  FieldType,
  Join,
  Over,
  Query,
  Select,
  SelectItem,
  Span,
  Statement,
  TableRef,
  WindowClause,
} from '../../../host/sql/ast.js';

/** Trees are compared without spans. */
const span: Span = { start: 0, end: 0, line: 0, column: 0 };

/** Returns a copy without the spans at any depth. */
export function withoutSpans(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSpans);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'span');
  return Object.fromEntries(kept.map(([key, part]) => [key, withoutSpans(part)]));
}

const oddNames = [
  'from',
  'SELECT',
  'ss',
  'filter',
  'distinct',
  'TumblingWindow',
  'null',
  'a b',
  '`',
  '*',
  '1a',
  'größe',
];
const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'demo', 'x1', '_t', 'Abs') },
  { weight: 2, arbitrary: fc.constantFrom(...oddNames) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 4, unit: 'binary' }) },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const literal: fc.Arbitrary<Expr> = fc.oneof(
  fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean(), span: fc.constant(span) }),
  fc.record({
    kind: fc.constant('integer' as const),
    value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    span: fc.constant(span),
  }),
  fc.record({
    kind: fc.constant('number' as const),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    span: fc.constant(span),
  }),
  fc.record({ kind: fc.constant('string' as const), value: fc.string({ unit: 'binary' }), span: fc.constant(span) }),
);
const column: fc.Arbitrary<Expr> = fc.record({
  kind: fc.constant('column' as const),
  qualifier: maybe(name),
  name,
  span: fc.constant(span),
});

const conditionKinds = new Set(['boolean', 'isNull', 'between', 'in', 'like', 'call', 'case']);

function isCondition(expr: Expr): boolean {
  if (expr.kind === 'unary') return expr.op === 'NOT';
  if (expr.kind === 'binary') return !'+-*/%&|^'.includes(expr.op);
  return conditionKinds.has(expr.kind);
}

function isEmptySlice(from: Expr | null, to: Expr | null): boolean {
  return (
    from?.kind === 'integer' && to?.kind === 'integer' && from.value >= 0n && to.value >= 0n && from.value >= to.value
  );
}

const trees = fc.letrec<{ expr: Expr; call: Expr; star: Expr; over: Over; replacement: SelectItem; item: SelectItem }>(
  (tie) => {
    const expr = tie('expr');
    const few = (arbitrary: fc.Arbitrary<Expr>) => fc.array(arbitrary, { minLength: 1, maxLength: 3 });
    const list = few(expr);
    const set = fc.oneof(
      column,
      tie('call'),
      fc.record({ kind: fc.constant('array' as const), items: list, span: fc.constant(span) }),
    );
    // biome-ignore lint/suspicious/noThenProperty: a piece of the syntax tree, never awaited
    const when = fc.record({ when: expr, then: expr });
    return {
      expr: fc.oneof(
        { depthSize: 'small', maxDepth: 6 },
        column,
        literal,
        fc.constant<Expr>({ kind: 'null', span }),
        tie('call'),
        fc.record({
          kind: fc.constant('unary' as const),
          op: fc.constantFrom('-' as const, 'NOT' as const),
          operand: expr,
          span: fc.constant(span),
        }),
        fc.record({
          kind: fc.constant('binary' as const),
          op: fc.constantFrom('+', '-', '*', '/', '%', '&', '|', '^', '=', '!=', '<', '<=', '>', '>=', 'AND', 'OR'),
          left: expr,
          right: expr,
          span: fc.constant(span),
        }),
        fc.record({
          kind: fc.constant('isNull' as const),
          operand: expr,
          negated: fc.boolean(),
          span: fc.constant(span),
        }),
        fc.record({
          kind: fc.constant('between' as const),
          operand: expr,
          low: expr,
          high: expr,
          negated: fc.boolean(),
          span: fc.constant(span),
        }),
        fc.tuple(expr, list, set, fc.boolean(), fc.boolean()).map(([operand, items, values, isList, negated]): Expr => {
          return { kind: 'in', operand, list: isList ? items : null, set: isList ? null : values, negated, span };
        }),
        fc.record({
          kind: fc.constant('like' as const),
          operand: expr,
          pattern: expr,
          negated: fc.boolean(),
          span: fc.constant(span),
        }),
        fc
          .record({
            kind: fc.constant('case' as const),
            operand: maybe(expr),
            whens: fc.array(when, { minLength: 1, maxLength: 3 }),
            otherwise: maybe(expr),
            span: fc.constant(span),
          })
          .filter(({ operand, whens }) => operand !== null || whens.every((branch) => isCondition(branch.when))),
        fc.record({
          kind: fc.constant('member' as const),
          object: expr,
          name,
          arrow: fc.boolean(),
          span: fc.constant(span),
        }),
        fc.record({ kind: fc.constant('index' as const), object: expr, index: expr, span: fc.constant(span) }),
        fc
          .record({
            kind: fc.constant('slice' as const),
            object: expr,
            from: maybe(expr),
            to: maybe(expr),
            span: fc.constant(span),
          })
          .filter(({ from, to }) => !isEmptySlice(from, to)),
        fc.record({
          kind: fc.constant('array' as const),
          items: fc.array(expr, { maxLength: 3 }),
          span: fc.constant(span),
        }),
      ),
      call: fc.record({
        kind: fc.constant('call' as const),
        name,
        args: fc.array(fc.oneof(expr, tie('star')), { maxLength: 3 }),
        filter: maybe(expr),
        over: maybe(tie('over')),
        span: fc.constant(span),
      }),
      star: fc.record({
        kind: fc.constant('star' as const),
        qualifier: maybe(name),
        except: fc.array(name, { maxLength: 2 }),
        replace: fc.array(tie('replacement'), { maxLength: 2 }),
        span: fc.constant(span),
      }),
      over: fc
        .record({
          partitionBy: fc.array(expr, { maxLength: 2 }),
          orderBy: fc.array(fc.record({ expr, descending: fc.boolean() }), { maxLength: 2 }),
          when: maybe(expr),
        })
        .filter((over) => over.partitionBy.length > 0 || over.orderBy.length > 0 || over.when !== null),
      replacement: fc.record({ expr, alias: name, invisible: fc.boolean() }),
      item: fc.oneof(
        fc.record({ expr, alias: maybe(name), invisible: fc.boolean() }),
        fc.record({ expr: tie('star'), alias: fc.constant(null), invisible: fc.constant(false) }),
      ),
    };
  },
);

export const exprs: fc.Arbitrary<Expr> = trees.expr;

const count = fc.integer({ min: 1, max: 100_000 });
const unit = fc.constantFrom('DD' as const, 'HH' as const, 'MI' as const, 'SS' as const, 'MS' as const);
const timed = (
  kind: 'tumbling' | 'hopping' | 'sliding' | 'session',
  args: number[],
  timeUnit: WindowClause['unit'],
) => ({
  kind,
  args,
  unit: timeUnit,
  conditions: [] as Expr[],
});
const windowCall = fc.oneof(
  fc.tuple(count, unit).map(([n, u]) => timed('tumbling', [n], u)),
  fc.tuple(count, count, unit).map(([n, m, u]) => timed('hopping', [n, m], u)),
  fc.tuple(count, count, unit).map(([n, m, u]) => timed('session', [n, m], u)),
  fc.tuple(fc.array(fc.nat(1000), { minLength: 1, maxLength: 2 }), unit).map(([args, u]) => timed('sliding', args, u)),
  fc.tuple(count, fc.boolean()).map(([n, isHopping]) => ({
    kind: 'count' as const,
    args: isHopping ? [n, 1] : [n],
    unit: null,
    conditions: [] as Expr[],
  })),
  fc.array(exprs, { minLength: 1, maxLength: 2 }).map((conditions) => ({
    kind: 'state' as const,
    args: [] as number[],
    unit: null,
    conditions,
  })),
);
const windows: fc.Arbitrary<WindowClause> = fc
  .tuple(windowCall, maybe(exprs), maybe(trees.over))
  .map(([call, filter, over]) => ({ ...call, filter, over, span }));

const tables = fc.record({ name, alias: maybe(name), query: fc.constant(null), span: fc.constant(span) });
const joins: fc.Arbitrary<Join> = fc
  .record({ kind: fc.constantFrom('INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS'), table: tables, on: maybe(exprs) })
  .map((join) => (join.kind === 'CROSS' ? { ...join, on: null } : join));

const derived = (query: fc.Arbitrary<Query>): fc.Arbitrary<TableRef> =>
  fc.record({ name, alias: fc.constant(null), query, span: fc.constant(span) });
const selectOver = (from: fc.Arbitrary<TableRef>): fc.Arbitrary<Select> =>
  fc.record({
    kind: fc.constant('select' as const),
    distinct: fc.boolean(),
    items: fc.array(trees.item, { minLength: 1, maxLength: 3 }),
    from,
    joins: fc.array(joins, { maxLength: 2 }),
    where: maybe(exprs),
    groupBy: fc.array(exprs, { maxLength: 2 }),
    window: maybe(windows),
    having: maybe(exprs),
    orderBy: fc.array(fc.record({ expr: exprs, descending: fc.boolean() }), { maxLength: 2 }),
    limit: maybe(fc.nat()),
    qualify: maybe(exprs),
  });
const plainSelects = selectOver(tables);
const unions = fc
  .array(plainSelects, { minLength: 2, maxLength: 3 })
  .map((selects): Query => ({ kind: 'union', selects: selects.map((one) => ({ ...one, orderBy: [], limit: null })) }));

export const selects = fc.oneof(plainSelects, selectOver(derived(fc.oneof(plainSelects, unions))));

const columns = fc.letrec<{ fieldType: FieldType; field: FieldDef }>((tie) => ({
  fieldType: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.constantFrom('bigint', 'float', 'string', 'datetime', 'boolean', 'bytea').map((type): FieldType => ({ type })),
    tie('fieldType').map((element): FieldType => ({ type: 'array', element })),
    fc.array(tie('field'), { maxLength: 3 }).map((fields): FieldType => ({ type: 'struct', fields })),
  ),
  field: fc.record({ name, fieldType: tie('fieldType'), default: maybe(literal) }),
}));

const creates: fc.Arbitrary<CreateSource> = fc.record({
  kind: fc.constant('create' as const),
  target: fc.constantFrom('stream' as const, 'table' as const),
  name,
  fields: maybe(fc.array(columns.field, { maxLength: 3 })),
  options: fc.dictionary(fc.stringMatching(/^[A-Z][A-Z_]{0,9}$/), fc.string({ unit: 'binary' }), {
    noNullPrototype: true,
  }),
});

export const statements: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 4, arbitrary: selects },
  { weight: 1, arbitrary: unions },
  { weight: 2, arbitrary: creates },
  fc.record({ kind: fc.constant('show' as const), target: fc.constantFrom('streams' as const, 'tables' as const) }),
  fc.record({
    kind: fc.constantFrom('describe' as const, 'explain' as const, 'drop' as const),
    target: fc.constantFrom('stream' as const, 'table' as const),
    name,
  }),
);
