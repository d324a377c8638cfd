/** Bounds waits for a server. */
import { errors } from '@nats-io/transport-node';
import { timeLimit } from '../../base/time/time-limit.js';
import { type NatsConnection, natsReason } from '../../clients/nats/client.js';
import { natsErrors } from './errors.js';

/** Resolves as the promise does; rejects when that takes longer. */
export function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  return timeLimit(promise, ms, () => natsErrors.connection(`the server did not answer within ${ms} ms`));
}

/**
 * As `withTimeout`, for what a connection is opened with: it rejects as well when the connection ends. The library
 * leaves what was asked on it without an answer.
 */
export function whileOpen<T>(connection: NatsConnection, promise: Promise<T>, ms: number): Promise<T> {
  const ended = connection.closed().then((error) => {
    throw natsErrors.connection(error ? natsReason(error) : 'connection closed');
  });
  return withTimeout(Promise.race([promise, ended]), ms);
}

/**
 * Asks until there is an answer. While servers elect a leader nobody answers, and nobody keeps the question for the one
 * that is elected: the library's time limit is that of one question.
 */
export async function askedAgain<T>(ask: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof errors.TimeoutError) || isOver()) throw error;
    }
  }
}
