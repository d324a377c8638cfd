/**
 * Inserts rows by statements over HTTP. A statement has as many rows as there are, unless the server makes their times:
 * two rows with one time would be one.
 */
import { Instant, type Value } from '../../../kernels/values/value.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { writeExactJson } from '../../base/text/exact-json.js';
import { type Row, RowSink } from '../../clients/rows/row-sink.js';
import type { BatchOptions, BatchOutcome } from '../../http/batch-sender.js';
import type { HttpAnswer } from '../../http/client.js';
import { outcomeOf } from '../../http/outcome.js';
import { pingWith } from '../../http/ping.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import { tdengineErrors } from './errors.js';

interface ServerConf extends TlsConf {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  timeout: number;
  ssl: boolean;
}

interface Conf extends ServerConf {
  table: string;
  sTable: string;
  tagFields: string[];
  fields: string[];
  provideTs: boolean;
  tsFieldName: string;
}

/** Longest statement of a server with its usual settings, bytes. */
const maxStatement = 1 << 20;
const maxRows = 1000;
const insert = Buffer.from('INSERT INTO');
/** No such right, database or table: they may be made, and nothing is wrong with the rows. */
const laterStatus = new Set([401, 403, 404]);
/** Codes of the server: it is not reachable itself, is full, or has no memory. */
const laterCodes = new Set([0x000b, 0x0012, 0x0102, 0x0133, 0x0217, 0x0218, 0x0338]);

export function makeSink(conf: Conf, context: SinkContext): RowSink {
  const encode = (row: Row, values: Readonly<Record<string, unknown>>) => {
    const { table, sTable } = { ...conf, ...values };
    return Buffer.from(rowText(row, conf, table, sTable));
  };
  const optionsOf = (now: object) => requestsOf(now as Conf, context.paths, conf.provideTs ? maxRows : 1);
  return new RowSink(`tdengine ${conf.host}:${conf.port}`, encode, optionsOf, conf, context);
}

/** Asks the server how it is; throws the reason when it does not say that it is well. */
export async function ping(conf: ServerConf): Promise<void> {
  const { probe, tls, timeoutMs } = requestsOf(conf, AllowedPaths.any(), 1);
  await pingWith(probe, { tls: await tls(), timeoutMs }, outcome);
}

function requestsOf(conf: ServerConf, paths: AllowedPaths, maxMessages: number): BatchOptions {
  const { host, port, user, password, database, timeout: timeoutMs, ssl } = conf;
  const base = `${ssl ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const url = `${base}/rest/sql/${encodeURIComponent(database)}`;
  const headers = {
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    'Content-Type': 'text/plain; charset=utf-8',
  };
  return {
    timeoutMs,
    batchSize: 0,
    lingerMs: 0,
    maxMessages,
    maxBytes: maxStatement - insert.length,
    tls: () => tlsOptions('tdengine3', conf, paths),
    probe: { method: 'post', url: `${base}/rest/sql`, headers, body: Buffer.from('SELECT SERVER_STATUS()') },
    request: (bytes) => ({ method: 'post', url, headers, body: Buffer.concat([insert, bytes]) }),
    outcome,
  };
}

/** The part of a statement that inserts the row. */
export function rowText(row: Row, conf: Pick<Conf, RowProps>, table: string, sTable: string): string {
  const { provideTs, tsFieldName, fields, tagFields } = conf;
  const time = provideTs ? row[tsFieldName] : undefined;
  if (provideTs && (time === undefined || time === null)) throw tdengineErrors.noTime(tsFieldName);
  const names = fields.length > 0 ? fields : Object.keys(row);
  const columns = names.filter((name) => name !== tsFieldName && !tagFields.includes(name));
  const missing = columns.find((name) => row[name] === undefined);
  if (missing !== undefined) throw tdengineErrors.noField(missing);
  if (columns.length === 0) throw tdengineErrors.noColumns();
  const using = sTable === '' ? '' : ` USING ${sTable}`;
  const tags = tagFields.length === 0 ? '' : ` TAGS(${tagFields.map((name) => literal(row[name])).join(',')})`;
  const values = [provideTs ? literal(time) : 'now', ...columns.map((name) => literal(row[name]))];
  const head = [tsFieldName, ...columns].map(columnName).join(',');
  return ` ${table} (${head})${using}${tags} values (${values.join(',')})`;
}

type RowProps = 'provideTs' | 'tsFieldName' | 'fields' | 'tagFields';

function columnName(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  if (name.includes('`')) throw tdengineErrors.column(name);
  return `\`${name}\``;
}

function literal(value: Value): string {
  if (value === undefined || value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Instant) return quoted(new Date(Number(value.nanos / 1_000_000n)).toISOString());
  if (value instanceof Uint8Array) return quoted(Buffer.from(value).toString('base64'));
  return quoted(typeof value === 'string' ? value : writeExactJson(value));
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`;
}

/** The status is 200 for most failures: what has failed stands in the answer. */
function outcome(answer: HttpAnswer): BatchOutcome {
  const found = outcomeOf(answer, 'code');
  if (laterStatus.has(answer.status) && found.is === 'refused')
    return { is: 'later', reason: found.reason, afterMs: 0 };
  if (found.is !== 'taken') return found;
  const { code, desc } = answerOf(answer.body);
  if (code === 0) return found;
  const reason = `code ${code}: ${desc}`;
  return laterCodes.has(code) ? { is: 'later', reason, afterMs: 0 } : { is: 'refused', reason };
}

function answerOf(body: Buffer): { code: number; desc: string } {
  try {
    const { code = 0, desc = '' } = JSON.parse(body.toString()) as { code?: number; desc?: string };
    return { code, desc: String(desc).slice(0, 200) };
  } catch {
    return { code: -1, desc: 'the answer is no JSON' };
  }
}
