/** What the errors of brokers mean. */
import { protocolErrors, protocolErrorsCodesById } from '@platformatic/kafka';
import { reasonOf } from '../../base/errors.js';

export const codes = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  coordinatorLoads: 14,
  noCoordinator: 15,
  notCoordinator: 16,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalance: 27,
  duplicateSequence: 46,
  transactionTimeout: 50,
  concurrentTransactions: 51,
  memberIdRequired: 79,
  noTransactionalId: 105,
} as const;

/** The same request may succeed later, maybe at another broker. */
const transient = new Set([3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 56, 72, 74, 75, 78, 88, 89]);
/** The broker never takes these messages; others may pass. */
const refusedMessages = new Set([10, 18, 32, 87]);
/** Another producer has taken over, or the transaction is gone. */
const fenced = new Set([45, 47, 48, 49, 53, 59, 67, 90]);

export function isTransient(code: number | undefined): boolean {
  return code !== undefined && transient.has(code);
}

/** The broker does not coordinate the group yet, or not any more; it has done nothing of what it was asked. */
export function isComingUp(code: number | undefined): boolean {
  return code === codes.coordinatorLoads || code === codes.noCoordinator || code === codes.notCoordinator;
}

export function isRefusal(code: number): boolean {
  return refusedMessages.has(code);
}

export function isFenced(code: number | undefined): boolean {
  return code !== undefined && fenced.has(code);
}

/** Code that a broker has answered with; undefined when the error is none of a broker. */
export function codeOf(error: unknown): number | undefined {
  return found(error, (one) => (typeof one.apiCode === 'number' ? one.apiCode : undefined));
}

/** The answer that the library has read before it refused it. */
export function answerOf<T>(error: unknown): T | undefined {
  return found(error, (one) => one.response as T | undefined);
}

/** A sentence for a code of a broker. */
export function codeReason(code: number): string {
  const id = protocolErrorsCodesById[code as keyof typeof protocolErrorsCodesById];
  const message = id === undefined ? undefined : protocolErrors[id as keyof typeof protocolErrors]?.message;
  if (message === undefined) return `the broker answers with error ${code}`;
  return `${message.replace(/\.$/, '')} (${id})`;
}

/** The innermost reason of an error of the library, which wraps them. */
export function kafkaReason(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined) return codeReason(code);
  const inner = innermost(error);
  return inner === error ? reasonOf(error) : `${reasonOf(inner)}`;
}

interface LibraryError {
  readonly apiCode?: unknown;
  readonly response?: unknown;
  readonly errors?: readonly unknown[];
  readonly cause?: unknown;
}

function found<T>(error: unknown, look: (error: LibraryError) => T | undefined): T | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const one = error as LibraryError;
  const here = look(one);
  if (here !== undefined) return here;
  for (const inner of [...(one.errors ?? []), one.cause]) {
    const value = found(inner, look);
    if (value !== undefined) return value;
  }
  return undefined;
}

function innermost(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const { errors, cause } = error as LibraryError;
  const inner = errors?.[0] ?? cause;
  return inner === undefined ? error : innermost(inner);
}
