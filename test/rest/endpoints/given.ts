/** Requests that many cases begin with. */
import type { Given } from './run.js';

export const streamSql = 'CREATE STREAM s (a BIGINT, b STRING) WITH (DATASOURCE="t", TYPE="memory")';
export const stream: Given = ['POST /streams', { sql: streamSql }];

export const tableSql = 'CREATE TABLE t (a BIGINT) WITH (DATASOURCE="u", TYPE="memory", KIND="scan")';
export const table: Given = ['POST /tables', { sql: tableSql }];

/** A rule over the stream that does nothing with its results. */
export function rule(id: string, more: object = {}): Record<string, unknown> {
  return { id, sql: 'SELECT a FROM s', actions: [{ nop: {} }], ...more };
}

export const runningRule: readonly Given[] = [stream, ['POST /rules', rule('r')]];
export const stoppedRule: readonly Given[] = [stream, ['POST /rules', rule('r', { triggered: false })]];
/** The rule and the stream it reads. */
export const versionedRule: readonly Given[] = [stream, ['POST /rules', rule('r', { version: '2', tags: ['x', 'y'] })]];

/** An id in a path that no resource can have. */
export const badId = 'a%20b';
/** What is said of it. */
export const badIdReason = "id 'a b' contains invalid characters";
