/** Refuses names in MATCH_RECOGNIZE that mean nothing there, before anything is made of them. */
import type { Expr } from '../../sql/ast.js';
import { walk } from '../../sql/visit.js';
import type { Scope } from '../bind/scope.js';
import { patternErrors } from '../errors/pattern.js';
import type { Variables } from './variables.js';

type Column = Extract<Expr, { kind: 'column' }>;

/** Functions without arguments, whose name alone would be that of a column. */
const called = /^(CLASSIFIER|MATCH_NUMBER)$/i;

/** Checks the names of a measure or a condition. */
export function checkNames(expr: Expr, clause: string, variables: Variables, scope: Scope): void {
  walk(expr, (one) => {
    // Its argument is a variable.
    if (one.kind === 'call' && one.name.toUpperCase() === 'CLASSIFIER') return false;
    if (one.kind === 'star' && one.qualifier !== null) {
      const { qualifier, span } = one;
      const isKnown = variables.named(qualifier) !== undefined || scope.sourceNamed(qualifier) !== undefined;
      if (!isKnown) throw patternErrors.notInPattern(qualifier, clause, variables.meantBy(qualifier), span);
    }
    if (one.kind === 'column') checkColumn(one, clause, variables, scope);
    return undefined;
  });
}

function checkColumn({ qualifier, name, span }: Column, clause: string, variables: Variables, scope: Scope): void {
  if (qualifier === null) {
    if (isDeclared(name, scope)) return;
    if (variables.named(name) !== undefined && !isOpen(scope)) throw patternErrors.variableAlone(name, span);
    if (called.test(name) && (!isOpen(scope) || name === name.toUpperCase())) {
      throw patternErrors.notCalled(name.toUpperCase(), span);
    }
    return;
  }
  if (variables.named(qualifier) !== undefined || scope.sourceNamed(qualifier) !== undefined) return;
  if (isDeclared(qualifier, scope)) return;
  const meant = variables.meantBy(qualifier);
  // Without a schema it may be a member of a column, unless the case alone is another one.
  if (isOpen(scope) && meant?.toUpperCase() !== qualifier.toUpperCase()) return;
  throw patternErrors.notInPattern(qualifier, clause, meant, span);
}

/** Refuses variables before the columns of a clause that is of rows as they come. */
export function refuseVariables(expr: Expr, clause: string, variables: Variables, scope: Scope): void {
  walk(expr, (one) => {
    if (one.kind !== 'column' || one.qualifier === null) return undefined;
    const { qualifier, name, span } = one;
    const isVariable = variables.named(qualifier) !== undefined && scope.sourceNamed(qualifier) === undefined;
    if (isVariable && !isDeclared(qualifier, scope)) {
      throw patternErrors.variableBefore(clause, qualifier, name, span);
    }
    return undefined;
  });
}

function isDeclared(name: string, { sources }: Scope): boolean {
  return sources.some(({ declared }) => declared?.includes(name) === true);
}

/** True where nobody knows the columns before the rows are there. */
function isOpen({ sources }: Scope): boolean {
  return sources.some(({ declared }) => declared === null);
}
