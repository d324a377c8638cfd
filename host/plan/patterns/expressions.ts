/**
 * Expressions of MEASURES and DEFINE. Whatever looks at rows of the match becomes a column of the batch in which the
 * expression is evaluated (looks.ts); the rest is bound as in any other clause.
 */

import type { Expr, Span } from '../../sql/ast.js';
import { mapChildren, walk } from '../../sql/visit.js';
import type { Binder, Clause } from '../bind/bind.js';
import { type Place, Scope } from '../bind/scope.js';
import { expressionErrors } from '../errors/expression.js';
import { patternErrors } from '../errors/pattern.js';
import type { Value, Values } from '../values/value.js';
import type { Looks } from './looks.js';
import { checkNames } from './names.js';
import type { Variables } from './variables.js';

type Call = Extract<Expr, { kind: 'call' }>;

/** Clause of an expression of a match. */
export interface MatchClause {
  readonly name: string;
  readonly isDefine: boolean;
}

/** The names of expressions in which values have taken the place of what they look at; `isOfRows`: and of columns. */
export class LookScope extends Scope {
  readonly found: Value[] = [];
  isOfRows = false;

  protected override columnNamed(name: string, span: Span, place: Place): Value {
    const value = name.startsWith(mark) ? this.found[Number(name.slice(mark.length))] : undefined;
    if (value !== undefined) return value;
    if (this.isOfRows) return super.columnNamed(name, span, place);
    throw expressionErrors.unknownField(name, span);
  }
}

const mark = '\0';

interface Tools {
  readonly values: Values;
  readonly variables: Variables;
  readonly looks: Looks;
  /** Binds expressions over one row. */
  readonly ofRow: Binder;
  readonly scope: LookScope;
  readonly rowScope: LookScope;
  /** Binds expressions over looks. */
  readonly ofMatch: Binder;
  isAggregate(call: Call): boolean;
}

export class MatchExpressions {
  constructor(private readonly tools: Tools) {}

  bind(expr: Expr, clause: MatchClause): Value {
    const { ofMatch, variables, rowScope } = this.tools;
    checkNames(expr, clause.name, variables, rowScope);
    return this.#ofCurrent(ofMatch.bind(this.#replaced(expr, clause, false), rowClause(clause.name)));
  }

  condition(expr: Expr, clause: MatchClause): Value {
    const { ofMatch, variables, rowScope } = this.tools;
    checkNames(expr, clause.name, variables, rowScope);
    return this.#ofCurrent(ofMatch.condition(this.#replaced(expr, clause, false), rowClause(clause.name)));
  }

  /** What functions tell of a row, as event_time() and meta() do, is that of the current one. */
  #ofCurrent(value: Value): Value {
    const { looks, values, variables } = this.tools;
    return values.rewrite(value, (one) => {
      if (one.kind !== 'column' || looks.planOf(one) !== undefined) return one;
      return looks.column({ kind: 'row', column: looks.keep(one), variables: variables.all, ...current }, one);
    });
  }

  #replaced(expr: Expr, clause: MatchClause, isFinal: boolean): Expr {
    if (expr.kind === 'column') return this.#standing(this.#look(expr, 'a column', { isFinal }), expr);
    if (expr.kind === 'star') throw patternErrors.starInMatch(expr.span);
    if (expr.kind === 'call') {
      const found = this.#call(expr, clause, isFinal);
      if (found !== null) return this.#standing(found, expr);
    }
    return mapChildren(expr, (child) => this.#replaced(child, clause, isFinal));
  }

  /** A name that the scope knows as the value. */
  #standing(value: Value, { span }: Expr): Expr {
    const { found } = this.tools.scope;
    const at = found.push(value) - 1;
    return { kind: 'column', qualifier: null, name: mark + at, span };
  }

  /** The value of a call that looks at the match; null for any other call. */
  #call(call: Call, clause: MatchClause, isFinal: boolean): Value | null {
    const name = call.name.toUpperCase();
    switch (name) {
      case 'RUNNING':
      case 'FINAL': {
        const [inner] = call.args;
        if (inner?.kind !== 'call' || !this.#isSemantic(inner)) throw patternErrors.semanticsOf(name, call.span);
        if (name === 'FINAL' && clause.isDefine) throw patternErrors.finalInDefine(call.span);
        return this.#call(inner, clause, name === 'FINAL');
      }
      case 'FIRST':
      case 'LAST':
      case 'PREV':
      case 'NEXT':
        return this.#navigation(call, clause, isFinal);
      case 'CLASSIFIER':
        return this.#look(call, name, { isFinal });
      case 'MATCH_NUMBER':
        if (call.args.length > 0) throw patternErrors.matchNumberArgument(call.span);
        return this.tools.looks.column({ kind: 'matchNumber' }, null);
      default:
        return this.tools.isAggregate(call) ? this.#aggregate(call, clause, isFinal) : null;
    }
  }

  #isSemantic(call: Call): boolean {
    const name = call.name.toUpperCase();
    return name === 'FIRST' || name === 'LAST' || name === 'CLASSIFIER' || this.tools.isAggregate(call);
  }

  #navigation(call: Call, clause: MatchClause, isFinal: boolean): Value {
    const name = call.name.toUpperCase();
    const [arg] = call.args;
    const far = this.#rowsOf(call);
    if (arg === undefined) throw patternErrors.lookArguments(name, call.span);
    if (name === 'FIRST' || name === 'LAST') {
      refuseNested(name, arg, navigations);
      return this.#look(arg, name, { isFirst: name === 'FIRST', offset: far ?? 0, isFinal });
    }
    const shift = (name === 'PREV' ? -1 : 1) * (far ?? 1);
    let inner = arg;
    let ofWhole = isFinal;
    if (inner.kind === 'call' && /^(RUNNING|FINAL)$/i.test(inner.name) && inner.args[0]?.kind === 'call') {
      ofWhole = inner.name.toUpperCase() === 'FINAL';
      if (ofWhole && clause.isDefine) throw patternErrors.finalInDefine(inner.span);
      inner = inner.args[0];
    }
    const edge = inner.kind === 'call' ? inner.name.toUpperCase() : '';
    if (inner.kind === 'call' && (edge === 'FIRST' || edge === 'LAST')) {
      const [at] = inner.args;
      if (at === undefined) throw patternErrors.lookArguments(edge, inner.span);
      refuseNested(edge, at, navigations);
      const offset = this.#rowsOf(inner) ?? 0;
      return this.#look(at, name, { isFirst: edge === 'FIRST', offset, shift, isFinal: ofWhole });
    }
    refuseNested(name, inner, navigations);
    return this.#look(inner, name, { shift, isFinal: ofWhole });
  }

  /** The number of rows that a call names; null without one. */
  #rowsOf(call: Call): number | null {
    const name = call.name.toUpperCase();
    const [, rows, other] = call.args;
    if (other !== undefined || call.filter !== null || call.over !== null) {
      throw patternErrors.lookArguments(name, call.span);
    }
    if (rows === undefined) return null;
    if (rows.kind !== 'integer' || rows.value < 0n || rows.value > mostRows) {
      throw patternErrors.lookArguments(name, rows.span);
    }
    return Number(rows.value);
  }

  /** The value of an expression over one row of the match, or beside it. */
  #look(
    expr: Expr,
    name: string,
    {
      isFirst = false,
      offset = 0,
      shift = 0,
      isFinal = false,
    }: Partial<Record<'offset' | 'shift', number>> & Partial<Record<'isFirst' | 'isFinal', boolean>>,
  ): Value {
    const { looks, variables, ofRow, values } = this.tools;
    const where = { offset, shift, isFirst, isFinal };
    if (expr.kind === 'call' && expr.name.toUpperCase() === 'CLASSIFIER') {
      const [of, other] = expr.args;
      if (other !== undefined || (of !== undefined && (of.kind !== 'column' || of.qualifier !== null))) {
        throw patternErrors.classifierArgument(expr.span);
      }
      const set = of?.kind === 'column' ? variables.setOf(of.name, 'CLASSIFIER', of.span) : variables.all;
      return looks.column({ kind: 'classifier', variables: set, ...where }, null);
    }
    walk(expr, (one) => {
      if (one.kind === 'call' && this.tools.isAggregate(one)) {
        throw patternErrors.aggregateInLook(name, one.name.toLowerCase(), one.span);
      }
      return undefined;
    });
    const { inner, set } = this.#ofOneVariable(expr, name);
    const value = ofRow.bind(inner, rowClause(name));
    // Constants belong to the program of one node.
    const kept = value.kind === 'const' ? values.op('logic.coalesce', [], [value]) : value;
    return looks.column({ kind: 'row', column: looks.keep(kept), variables: set, ...where }, kept);
  }

  /** The expression without variables before its columns, and the one variable, or subset, that they were of. */
  #ofOneVariable(expr: Expr, name: string): { inner: Expr; set: readonly number[] } {
    const { variables } = this.tools;
    const names = new Set<string>();
    walk(expr, (one) => {
      // The number of the match is that of all its rows.
      if ((one.kind === 'column' || one.kind === 'star') && !this.#isMatchNumber(one)) {
        const isVariable = one.qualifier !== null && variables.named(one.qualifier) !== undefined;
        names.add(isVariable ? one.qualifier! : '');
      }
      return undefined;
    });
    const [first, second] = names;
    if (second !== undefined) throw patternErrors.oneVariable(name, expr.span);
    const set = first === undefined || first === '' ? variables.all : variables.setOf(first, name);
    const stripped = (one: Expr): Expr => {
      if ((one.kind === 'column' || one.kind === 'star') && one.qualifier === first && first !== '') {
        return { ...one, qualifier: null };
      }
      return mapChildren(one, stripped);
    };
    return { inner: stripped(expr), set };
  }

  #isMatchNumber(expr: Expr): boolean {
    const { looks, rowScope } = this.tools;
    if (expr.kind !== 'column' || !expr.name.startsWith(mark)) return false;
    return rowScope.found[Number(expr.name.slice(mark.length))] === looks.matchNumber;
  }

  /** CLASSIFIER and MATCH_NUMBER in an argument of an aggregate: what they are for each row. */
  #ofRow(arg: Expr): Expr {
    const { looks, rowScope, variables } = this.tools;
    const name = arg.kind === 'call' ? arg.name.toUpperCase() : '';
    if (arg.kind !== 'call' || (name !== 'CLASSIFIER' && name !== 'MATCH_NUMBER')) {
      return mapChildren(arg, (child) => this.#ofRow(child));
    }
    const [of, other] = arg.args;
    if (name === 'MATCH_NUMBER' && of !== undefined) throw patternErrors.matchNumberArgument(arg.span);
    if (other !== undefined || (of !== undefined && (of.kind !== 'column' || of.qualifier !== null))) {
      throw patternErrors.classifierArgument(arg.span);
    }
    if (of?.kind === 'column') variables.setOf(of.name, 'CLASSIFIER', of.span);
    const at = rowScope.found.push(name === 'CLASSIFIER' ? looks.classifier : looks.matchNumber) - 1;
    return { kind: 'column', qualifier: of?.kind === 'column' ? of.name : null, name: mark + at, span: arg.span };
  }

  #aggregate(call: Call, { name }: MatchClause, isFinal: boolean): Value {
    const { looks, ofRow, values } = this.tools;
    if (call.over !== null) throw patternErrors.overInMatch(call.name.toLowerCase(), call.span);
    walk(call, (one) => {
      const inner = one.kind === 'call' ? one.name.toUpperCase() : '';
      if (navigations.includes(inner)) throw patternErrors.lookInAggregate(call.name.toLowerCase(), inner, one.span);
      return undefined;
    });
    const marked = mapChildren(call, (arg) => this.#ofRow(arg));
    const { inner, set } = this.#ofOneVariable(marked, call.name.toLowerCase());
    const value = ofRow.bind(inner, { ...rowClause(name), hasAggregates: true });
    return values.rewrite(value, (one) => {
      if (one.kind !== 'aggregate') return one;
      return looks.aggregate(one, set, isFinal);
    });
  }
}

const current = { offset: 0, shift: 0, isFirst: false, isFinal: false };

const navigations = ['FIRST', 'LAST', 'PREV', 'NEXT'];

/** Rows that a look may be away at most. */
const mostRows = 10_000n;

function rowClause(name: string): Clause {
  return { name, place: 'row', hasAggregates: false, hasAnalytics: false };
}

function refuseNested(name: string, expr: Expr, names: readonly string[]): void {
  walk(expr, (one) => {
    const inner = one.kind === 'call' ? one.name.toUpperCase() : '';
    if (names.includes(inner)) throw patternErrors.lookNested(name, inner, one.span);
    return undefined;
  });
}
