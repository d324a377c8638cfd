/** Failures of databases. */
import { errorTable } from '../../base/errors.js';

export const sqlClientErrors = errorTable('sqlClient', {
  /** Reasons of the library, the server or the system. */
  connection: ['connection', (reason: string) => reason],
  noPackage: [
    'config',
    (kind: string, name: string) =>
      `databases of the kind ${kind} need the package ${name}, which is not installed: npm install ${name}`,
  ],
  closed: ['connection', 'the connection to the database was closed'],
  late: ['connection', (what: string, ms: number) => `${what} took longer than ${ms / 1000} s`],
  noAnswer: ['connection', (ms: number) => `all connections to the database are in use for ${ms / 1000} s`],
});

/**
 * What a failed statement means: `refused` for good, as a row that breaks a constraint; `refusedAll`: each row would be
 * refused, as by a table that is missing; `later`: the same statement may succeed later; `late`: so it may, but there
 * was no answer in time; `away`: there is no answer. With the last two there is no connection any more.
 */
export type SqlFailure = 'refused' | 'refusedAll' | 'later' | 'late' | 'away';

/** A statement has failed. */
export class SqlError extends Error {
  constructor(
    readonly failure: SqlFailure,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(reason, options);
    this.name = 'SqlError';
  }
}

/** Whether the database has refused a statement for good. */
export function isRefusal(error: unknown): error is SqlError {
  return error instanceof SqlError && (error.failure === 'refused' || error.failure === 'refusedAll');
}

/** Whether nothing is wrong with the statement or the database but the time. */
export function isForLater(error: unknown): boolean {
  return error instanceof SqlError && (error.failure === 'later' || error.failure === 'late');
}
