/** Bounds waits for a server. */
import { timeLimit } from '../../base/time/time-limit.js';
import { natsErrors } from './errors.js';

/** Resolves as the promise does; rejects when that takes longer. */
export function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  return timeLimit(promise, ms, () => natsErrors.connection(`the server did not answer within ${ms} ms`));
}
