/** Refusals of names and operators in expressions. */
import { planErrors } from './table.js';

export const expressionErrors = planErrors('expression', {
  starInExpression: (clause: string) => `* cannot be part of an expression in ${clause}`,
  tableJoinedLater: (clause: string, qualifier: string) =>
    `${clause} cannot use the table ${qualifier}, which is joined later`,
  unknownStreamOr: (qualifier: string, meant: string) => `unknown stream ${qualifier}, did you mean ${meant}?`,
  inNeedsList: 'IN needs a list or an array',
  inNeedsParentheses: 'IN needs a list in parentheses or an array, not a single value',
  unknownStream: (qualifier: string) => `unknown stream ${qualifier}`,
  ambiguousStream: (qualifier: string, named: string | undefined, other: string) =>
    `${qualifier} may be ${named} or ${other}, use the alias of the stream`,
  unknownField: (name: string) => `unknown field ${name}`,
  ambiguousColumn: (name: string, owner: string, second: string) =>
    `the column ${name} may be of stream ${owner} or ${second}, qualify it`,
  wrongSide: (which: string, reason: string) => `${which} ${reason}`,
  wrongCondition: (clause: string, reason: string) => `the condition of ${clause} ${reason}`,
  likePattern: 'the pattern of LIKE must be a text',
});
