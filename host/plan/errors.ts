/** Refusals of the planner: each names what is wrong and, where it comes from a statement, the place. */
import { HaumeaError } from '../base/errors.js';
import type { Span } from '../sql/ast.js';

/** The statement or a property is wrong. */
export function refuse(reason: string, span?: Span): HaumeaError {
  return new HaumeaError('plan', span === undefined ? reason : `${reason} (line ${span.line}, column ${span.column})`);
}

/** What is asked for belongs to the language but cannot run yet. */
export function notSupported(what: string, span?: Span): HaumeaError {
  return refuse(`${what} is not supported yet`, span);
}
