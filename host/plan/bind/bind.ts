/** Resolves the names of an expression, and replaces operators and functions by the values that compute them. */

import { aggregates, ops } from '../../../kernels/gen/ops.js';
import type { AnalyticName } from '../../../kernels/plan/ir.js';
import { HaumeaError } from '../../base/errors.js';
import { isUtc } from '../../functions/calendar/time-zone.js';
import type { FunctionDefinition } from '../../functions/define.js';
import { findFunction, hostNumber, resolveFunction } from '../../functions/registry.js';
import { isWaiting, type UserFunction } from '../../plugins/define.js';
import type { BinaryOp, Expr, Span } from '../../sql/ast.js';
import { expressionErrors } from '../errors/expression.js';
import { functionErrors } from '../errors/function.js';
import { askedCall } from '../logical/call.js';
import { missing } from '../values/joined-row.js';
import { noteResult } from '../values/types.js';
import type { OpValue, Value, Values } from '../values/value.js';
import { inList } from './in-list.js';
import { leadOf } from './lead.js';
import { literalOf } from './literal.js';
import { lookingBack } from './looking-back.js';
import { replacedName } from './replaced.js';
import { isRowMaker, type Place, type Scope } from './scope.js';
import { bindSpecial, type SpecialContext } from './specials.js';
import { checkArgument, checkCondition, checkPattern, checkSides, remarkOfMember } from './type-checks.js';
import { calledByWasmRun } from './wasm-run.js';

const binaryOps = {
  '+': 'arith.add',
  '-': 'arith.sub',
  '*': 'arith.mul',
  '/': 'arith.div',
  '%': 'arith.mod',
  '&': 'arith.bitAnd',
  '|': 'arith.bitOr',
  '^': 'arith.bitXor',
  '=': 'compare.eq',
  '!=': 'compare.ne',
  '<': 'compare.lt',
  '<=': 'compare.le',
  '>': 'compare.gt',
  '>=': 'compare.ge',
  AND: 'logic.and',
  OR: 'logic.or',
} as const satisfies Record<BinaryOp, string>;

/** A clause, and the functions that it allows. */
export interface Clause {
  /** Name of the clause in errors. */
  name: string;
  place: Place;
  /** Aggregates may stand here. */
  hasAggregates: boolean;
  /** Functions that look back may stand here. */
  hasAnalytics: boolean;
}

/** Functions that may take values between a row that begins and one that resets. */
const accumulations: ReadonlySet<AnalyticName> = new Set(['accSum', 'accAvg', 'accMax', 'accMin', 'accCount']);

/** Functions that take in the rows of the result, beside those of `present`. */
const ofResult: ReadonlySet<AnalyticName> = new Set(['incCollect', 'incMergeAgg']);

export class Binder {
  constructor(
    private readonly values: Values,
    private readonly scope: Scope,
    private readonly context: Omit<SpecialContext, 'place' | 'clause'>,
  ) {}

  bind(expr: Expr, clause: Clause): Value {
    const { values } = this;
    const bind = (inner: Expr) => this.bind(inner, clause);
    switch (expr.kind) {
      case 'null':
        return values.null();
      case 'boolean':
        return values.constant({ tag: 'bool', value: expr.value });
      case 'integer':
        return values.constant({ tag: 'i64', value: expr.value });
      case 'number':
        return values.constant({ tag: 'f64', value: expr.value });
      case 'string':
        return values.text(expr.value);
      case 'column':
        return this.bindColumn(expr, clause);
      case 'star':
        throw expressionErrors.starInExpression(clause.name, expr.span);
      case 'unary':
        return this.operator(expr.op === '-' ? 'arith.neg' : 'logic.not', expr.op, [expr.operand], clause);
      case 'binary':
        return this.operator(binaryOps[expr.op], expr.op, [expr.left, expr.right], clause);
      case 'isNull':
        return values.op(expr.negated ? 'logic.isNotNull' : 'logic.isNull', [bind(expr.operand)]);
      case 'between': {
        const [operand, low, high] = [bind(expr.operand), bind(expr.low), bind(expr.high)];
        checkSides('compare.ge', 'BETWEEN', [expr.operand, operand], [expr.low, low]);
        checkSides('compare.le', 'BETWEEN', [expr.operand, operand], [expr.high, high]);
        return values.op(expr.negated ? 'compare.notBetween' : 'compare.between', [operand, low, high]);
      }
      case 'in':
        return this.bindIn(expr, clause);
      case 'like':
        checkPattern(expr.pattern);
        return this.operator(
          expr.negated ? 'compare.notLike' : 'compare.like',
          'LIKE',
          [expr.operand, expr.pattern],
          clause,
        );
      case 'case':
        return this.bindCase(expr, clause);
      case 'member': {
        const object = bind(expr.object);
        checkSides('nested.member', expr.arrow ? '->' : '.', [expr.object, object]);
        return this.member(object, expr.name, expr.object);
      }
      case 'index':
        return this.operator('nested.index', '[ ]', [expr.object, expr.index], clause);
      case 'slice':
        return values.op('nested.slice', [
          bind(expr.object),
          expr.from === null ? null : bind(expr.from),
          expr.to === null ? null : bind(expr.to),
        ]);
      case 'array':
        return values.op('nested.arrayOf', [], expr.items.map(bind));
      case 'call':
        return this.bindCall(expr, clause);
      default:
        return expr satisfies never;
    }
  }

  /** A condition of a clause, which rows or groups meet. */
  condition(expr: Expr, clause: Clause): Value {
    const value = this.bind(expr, clause);
    checkCondition(clause.name, [expr, value]);
    return value;
  }

  /** An operator with one side or two; one that no value of a side could be given to is refused. */
  private operator(op: OpValue['op'], symbol: string, sides: readonly [Expr, Expr?], clause: Clause): Value {
    const [left, right] = sides;
    const first = this.bind(left, clause);
    if (right === undefined) {
      checkSides(op, symbol, [left, first]);
      return this.values.op(op, [first]);
    }
    const second = this.bind(right, clause);
    checkSides(op, symbol, [left, first], [right, second]);
    return this.values.op(op, [first, second]);
  }

  private bindColumn(expr: Extract<Expr, { kind: 'column' }>, clause: Clause): Value {
    const { qualifier, name, span } = expr;
    const bindItem = (item: { expr: Expr }) => this.bind(item.expr, clause);
    if (qualifier === null) return this.scope.resolve(name, clause.place, span, bindItem);
    const source = this.scope.sourceNamed(qualifier);
    if (source !== undefined) {
      if (clause.place !== 'single') return source.column(name, span);
      if (source.isTable) throw expressionErrors.tableJoinedLater(clause.name, qualifier, span);
      // Before the join a name means the row's own column, whichever stream it is of.
      return this.scope.ownColumn(name, span);
    }
    this.#tellMistyped(qualifier, name, span);
    const object = this.scope.resolve(qualifier, clause.place, span, bindItem);
    return this.member(object, name, { ...expr, qualifier: null, name: qualifier });
  }

  /** A member of an object; that a declaration does not have is null, as in the recorded engine. */
  private member(object: Value, name: string, expr: Expr): Value {
    const remark = remarkOfMember(object, name, expr);
    if (remark !== undefined) this.context.remark?.(remark);
    return this.values.op('nested.member', [object, this.values.text(name)]);
  }

  /**
   * Reports a qualifier that resembles the name of a stream: a remark when it is a column, otherwise an error is
   * thrown.
   */
  #tellMistyped(qualifier: string, name: string, span: Span): void {
    const meant = this.scope.meantBy(qualifier);
    if (meant === undefined) return;
    if (!this.scope.sources.some((source) => source.has(qualifier))) {
      throw expressionErrors.unknownStreamOr(qualifier, meant, span);
    }
    this.context.remark?.(
      `no stream is called ${qualifier}: ${qualifier}.${name} is the member ${name} of a column, did you mean ` +
        `${meant}.${name}?`,
    );
  }

  private bindIn(expr: Extract<Expr, { kind: 'in' }>, clause: Clause): Value {
    const operand = this.bind(expr.operand, clause);
    if (expr.list !== null) {
      const list = expr.list.map((item) => this.bind(item, clause));
      const [item] = expr.list;
      const [first] = list;
      // Only the first comparison is made in every row.
      if (item !== undefined && first !== undefined)
        checkSides('compare.eq', 'IN', [expr.operand, operand], [item, first]);
      return inList(this.values, operand, list, expr.negated);
    }
    if (expr.set === null) throw expressionErrors.inNeedsList(expr.span);
    if (literalOf(expr.set) !== undefined && expr.set.kind !== 'null') {
      throw expressionErrors.inNeedsParentheses(expr.set.span);
    }
    return this.values.op(expr.negated ? 'compare.notInArray' : 'compare.inArray', [
      operand,
      this.bind(expr.set, clause),
    ]);
  }

  private bindCase(expr: Extract<Expr, { kind: 'case' }>, clause: Clause): Value {
    const operand = expr.operand === null ? null : this.bind(expr.operand, clause);
    const args: Value[] = [];
    for (const branch of expr.whens) {
      const when = this.bind(branch.when, clause);
      // The first comparison is made in every row.
      if (expr.operand !== null && operand !== null && args.length === 0) {
        checkSides('compare.eq', 'CASE … WHEN', [expr.operand, operand], [branch.when, when]);
      }
      args.push(operand === null ? when : this.values.op('compare.eq', [operand, when]));
      args.push(this.bind(branch.then, clause));
    }
    args.push(expr.otherwise === null ? this.values.null() : this.bind(expr.otherwise, clause));
    return this.values.op('logic.case', [], args);
  }

  /** List or object from which a call makes rows; null for any other expression. */
  rowsOf(expr: Expr, clause: Clause): { list: Value; of: 'elements' | 'members' } | null {
    if (expr.kind !== 'call' || !isRowMaker(expr)) return null;
    const { name, implementation } = this.resolve(expr);
    if (expr.over !== null) throw functionErrors.overNoAnalytic(name, expr.span);
    if (expr.filter !== null) throw functionErrors.filterNoAggregate(name, expr.span);
    const [arg] = expr.args;
    if (arg === undefined || !('rows' in implementation)) throw new Error(`${name} makes no rows`);
    return { list: this.bindArgument(arg, clause), of: implementation.rows };
  }

  /** The function that is called; a wrong call is refused with its place. */
  private resolve({ name, args, span }: Extract<Expr, { kind: 'call' }>): FunctionDefinition {
    try {
      return resolveFunction(name, args.map(literalOf), this.context.brought);
    } catch (error) {
      throw error instanceof HaumeaError && error.kind === 'plan'
        ? functionErrors.wrongCall(error.message, span)
        : error;
    }
  }

  private bindCall(expr: Extract<Expr, { kind: 'call' }>, clause: Clause): Value {
    const definition = this.resolve(expr);
    const value = this.bindFunction(expr, definition, clause);
    if (value.kind !== 'column') noteResult(value, definition.returns);
    return value;
  }

  private bindFunction(expr: Extract<Expr, { kind: 'call' }>, definition: FunctionDefinition, clause: Clause): Value {
    const { span } = expr;
    const { implementation } = definition;
    if ('special' in implementation && implementation.special === 'lead') return this.bind(leadOf(expr), clause);
    if ('special' in implementation && implementation.special === 'wasmRun') {
      return this.bindCall(calledByWasmRun(expr, this.context.brought), clause);
    }
    if ('analytic' in implementation) {
      const { analytic, present } = implementation;
      return present
        ? this.bindPresent(expr, analytic, clause)
        : this.bindAnalytic(expr, analytic, clause, ofResult.has(analytic));
    }
    if ('user' in implementation && implementation.user.state === 'analytic') {
      const { number, name, code } = implementation.user;
      if (isWaiting(code)) this.values.waiting.add(number);
      this.values.brought.set(number, name);
      return this.bindAnalytic(expr, 'user', clause, false, (args) => args, number);
    }
    if (expr.over !== null) throw functionErrors.overNoAnalytic(definition.name, span);
    if ('aggregate' in implementation) {
      return this.bindAggregate(expr, implementation.aggregate, clause, 0, definition);
    }
    const isUserAggregate = 'user' in implementation && implementation.user.isAggregate;
    if (expr.filter !== null && !isUserAggregate) throw functionErrors.filterNoAggregate(definition.name, span);
    if ('rows' in implementation) {
      throw functionErrors.makesRows(definition.name, span);
    }
    if ('special' in implementation) {
      return bindSpecial(
        implementation.special,
        expr,
        { ...this.context, place: clause.place, clause: clause.name },
        (arg) => {
          const value = this.bind(arg, clause);
          const place = expr.args.indexOf(arg);
          if (place >= 0) checkArgument(definition, expr.name, place, [arg, value]);
          return value;
        },
      );
    }
    if ('user' in implementation) return this.bindUser(expr, implementation.user, clause);
    const args = this.bindArguments(expr, definition, clause);
    const isVolatile = definition.isVolatile ?? false;
    if ('call' in implementation) {
      const { zone } = this.context;
      if (definition.isZoned && !isUtc(zone)) {
        while (args.length < definition.args.length) args.push(this.values.null());
        args.push(this.values.text(zone));
      }
      return this.values.op('call.host', [], args, hostNumber(definition), isVolatile);
    }
    return this.bindOp(implementation.op, args, implementation.imm ?? 0, isVolatile);
  }

  /** Gives the arguments to the operands that the operation declares, in order; what is left over goes to `args`. */
  private bindOp(op: OpValue['op'], args: Value[], imm: number, isVolatile: boolean): Value {
    const slots = (ops[op].operands as readonly string[]).filter((operand) => operand !== 'args').length;
    return this.values.op(op, args.slice(0, slots), args.slice(slots), imm, isVolatile);
  }

  private bindAggregate(
    expr: Extract<Expr, { kind: 'call' }>,
    fn: Parameters<Values['aggregate']>[0],
    clause: Clause,
    call = 0,
    definition?: FunctionDefinition,
  ): Value {
    const name = expr.name.toLowerCase();
    const { hasAnalytics } = clause;
    if (!clause.hasAggregates) throw functionErrors.aggregateNotAllowed(name, clause.name, expr.span);
    const inner: Clause = { name: `the aggregate ${name}`, place: 'row', hasAggregates: false, hasAnalytics };
    const filter =
      expr.filter === null
        ? null
        : this.condition(expr.filter, {
            name: `the FILTER of ${name}`,
            place: 'row',
            hasAggregates: false,
            hasAnalytics,
          });
    const { ofRows, takesRow } = aggregates[fn];
    if (ofRows !== undefined && expr.args[0]?.kind === 'star') return this.values.aggregate(ofRows, [], filter);
    const args = this.bindArguments(expr, definition, inner);
    if (takesRow) args.push(this.rowOf(null, expr, inner));
    return this.values.aggregate(fn, args, filter, call);
  }

  /** A function of a user. Nobody knows what it keeps from one call to the next: each call stays by itself. */
  private bindUser(expr: Extract<Expr, { kind: 'call' }>, user: UserFunction, clause: Clause): Value {
    this.values.brought.set(user.number, user.name);
    if (user.isAggregate && user.state !== undefined) {
      const state = this.bindAggregate(expr, user.state === 'joined' ? 'foldJoined' : 'fold', clause, user.number);
      return this.values.op('call.host', [], [state], user.number, true);
    }
    const args = user.isAggregate
      ? expr.args.map((arg) => this.bindAggregate({ ...expr, args: [arg] }, 'collect', clause))
      : expr.args.map((arg) => this.bindArgument(arg, clause));
    if (!isWaiting(user.code)) return this.values.op('call.host', [], args, user.number, true);
    this.values.waiting.add(user.number);
    return askedCall(user, args, this.values);
  }

  /** Arguments of changed_cols: prefix of the names, whether nulls are no change, the values. */
  bindChanged(
    expr: Extract<Expr, { kind: 'call' }>,
    clause: Clause,
  ): { prefix: string; ignoreNull: Value; values: Expr[] } {
    const { span } = expr;
    this.resolve(expr);
    if (!clause.hasAnalytics) throw functionErrors.looksBack('changed_cols', clause.name, span);
    if (expr.over !== null) throw functionErrors.overSeveralColumns(span);
    if (expr.filter !== null) throw functionErrors.filterChangedCols(span);
    const [first, second, ...values] = expr.args;
    const prefix = first === undefined ? undefined : literalOf(first);
    if (typeof prefix !== 'string') throw functionErrors.prefixNoText(span);
    const ignoreNull = second === undefined ? this.values.null() : this.bind(second, clause);
    return { prefix, ignoreNull, values };
  }

  /** An accumulation that is null in rows without a value; sums and averages read numbers in texts. */
  private bindPresent(expr: Extract<Expr, { kind: 'call' }>, fn: AnalyticName, clause: Clause): Value {
    const { values } = this;
    const isSum = fn === 'accSum' || fn === 'accAvg';
    const isExtreme = fn === 'accMaxBy' || fn === 'accMinBy';
    let isAbsent: Value = values.null();
    const accumulated = this.bindAnalytic(expr, fn, clause, true, ([value = values.null()]) => {
      isAbsent = values.op('logic.isNull', [value]);
      if (isExtreme) return [value, value];
      return [isSum ? values.op('cast.toFloat', [value]) : value];
    });
    return values.op('logic.case', [], [isAbsent, values.null(), accumulated]);
  }

  /**
   * @param isOfResult it takes in the rows that the result is made of
   * @param argsOf what the function gets for the arguments of the call
   * @param number of a function of a user
   */
  private bindAnalytic(
    expr: Extract<Expr, { kind: 'call' }>,
    fn: AnalyticName,
    clause: Clause,
    isOfResult: boolean,
    argsOf: (args: readonly Value[]) => readonly Value[] = (args) => args,
    number = 0,
  ): Value {
    const { values, scope } = this;
    const name = expr.name.toLowerCase();
    const { span, over } = expr;
    if (!clause.hasAnalytics) throw functionErrors.looksBack(name, clause.name, span);
    if (expr.filter !== null) throw functionErrors.filterAnalytic(name, span);
    if (fn === 'changedItem') throw functionErrors.severalColumns(name, span);
    const isNumber = fn === 'rowNumber';
    if (isNumber && clause.place !== 'window') throw functionErrors.numbersRows(name, clause.name, span);
    const order = over?.orderBy ?? [];
    if (!isNumber && order.length > 0) throw functionErrors.noOrderBy(name, span);
    if (isNumber && over?.when) throw functionErrors.noWhen(name, span);
    const inner: Clause = { ...clause, name: `the arguments of ${name}` };
    const partition = over?.partitionBy.map((key) => this.bind(key, inner)) ?? [];
    const when = over?.when ? this.condition(over.when, { ...inner, name: 'OVER (WHEN …)' }) : null;
    const keys = order.map(({ expr: key, descending }) => ({ value: this.bind(key, inner), descending }));
    const make = (args: readonly Value[], size = number, own: AnalyticName = fn) =>
      lookingBack(
        { fn: own, args, size, partition, when, order: keys, isOfResult },
        { scope, values, place: clause.place, name, span },
      );
    const [first, second] = expr.args;
    if (fn === 'accCount' && first?.kind === 'star') {
      const one = values.constant({ tag: 'bool', value: true });
      return make([one, ...expr.args.slice(1).map((arg) => this.bind(arg, inner))]);
    }
    if (fn === 'hadChanged' && expr.args.some(({ kind }) => kind === 'star')) return this.anyChanged(expr, inner, make);
    // Rows that WHEN leaves out, and those before the one that begins, are not looked at.
    const isEach = !over?.when;
    const begins = accumulations.has(fn) && expr.args.length > 1;
    const args = this.bindArguments(expr, isEach ? findFunction(expr.name) : undefined, inner, begins ? 1 : 0);
    if (fn === 'latest') return make([...args, ...(args.length < 2 ? [values.null()] : [])]);
    if (fn === 'accMapAgg') return make([values.op('cast.toString', [args[0] ?? values.null()]), ...args.slice(1)]);
    if (fn !== 'lag') return make(argsOf(args));
    const offset = second === undefined ? 1n : literalOf(second);
    if (typeof offset !== 'bigint') throw functionErrors.lagOffset(second?.span ?? span);
    const [
      value = values.null(),
      ,
      otherwise = values.null(),
      ignoreNull = values.constant({ tag: 'bool', value: true }),
    ] = args;
    return make([value, otherwise, ignoreNull], Number(offset));
  }

  /** had_changed over all columns: some member of the row changed, or another of the values. */
  private anyChanged(
    expr: Extract<Expr, { kind: 'call' }>,
    inner: Clause,
    make: (args: readonly Value[], size: number, fn: AnalyticName) => Value,
  ): Value {
    const { values } = this;
    const [ignoreNull = values.null(), ...args] = expr.args.map((arg) => this.bindArgument(arg, inner));
    const isRow = (i: number) => expr.args[i + 1]?.kind === 'star';
    const parts: Value[] = args.filter((_arg, i) => isRow(i)).map((row) => make([ignoreNull, row], 0, 'rowChanged'));
    const others = args.filter((_arg, i) => !isRow(i));
    if (others.length > 0) parts.push(make([ignoreNull, ...others], 0, 'hadChanged'));
    return parts.reduce((all, one) => values.op('logic.or', [all, one]));
  }

  /** The arguments of a call; one that the function could take in no row is refused, from the place `from` on. */
  private bindArguments(
    { args, name }: Extract<Expr, { kind: 'call' }>,
    definition: FunctionDefinition | undefined,
    clause: Clause,
    from = 0,
  ): Value[] {
    return args.map((arg, i) => {
      const value = this.bindArgument(arg, clause);
      if (definition !== undefined && i >= from) checkArgument(definition, name, i, [arg, value]);
      return value;
    });
  }

  /** An argument of a function, which may be `*` for the whole row. */
  bindArgument(arg: Expr, clause: Clause): Value {
    if (arg.kind !== 'star') return this.bind(arg, clause);
    const row = this.rowOf(arg.qualifier, arg, clause);
    const replaced = arg.replace.map((item) => [this.values.text(replacedName(item)), this.bind(item.expr, clause)]);
    const removed = arg.except.map((name) => [this.values.text(name), missing(this.values)]);
    const changes = [...removed, ...replaced].flat();
    return changes.length === 0 ? row : this.values.op('nested.merge', [row], changes);
  }

  /** The whole row of a stream, of all streams when none is named. */
  private rowOf(qualifier: string | null, expr: Expr, { place }: Clause): Value {
    if (qualifier === null) return this.scope.wholeRow(place);
    const source = this.scope.sourceNamed(qualifier);
    if (source === undefined) throw expressionErrors.unknownStream(qualifier, expr.span);
    return source.row();
  }
}
