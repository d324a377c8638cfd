/** Sends samples. A server that gets one again keeps one. */
import { Instant, type Value } from '../../../kernels/values/value.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { type Row, RowSink } from '../../clients/rows/row-sink.js';
import type { BatchOptions } from '../../http/batch-sender.js';
import { outcomeOf } from '../../http/outcome.js';
import { pingWith } from '../../http/ping.js';
import { headerTemplates, type Values } from '../../http/text-template.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';
import { prometheusErrors } from './errors.js';
import { type Labels, nameOf, seriesBytes, snappyOf } from './write-request.js';

interface ServerConf extends TlsConf {
  url: string;
  username: string;
  password: string;
  token: string;
  headers: Record<string, unknown>;
  timeout: number;
}

interface Conf extends ServerConf {
  metric: string;
  labels: Record<string, unknown>;
  fields: string[];
  tsFieldName: string;
}

const maxSamples = 2000;
const maxBytes = 1 << 20;
const laterStatus = new Set([401, 403, 404]);

export function makeSink(conf: Conf, context: SinkContext): RowSink {
  const labels = headerTemplates(conf.labels);
  const encode = (row: Row) => samplesOf(row, conf, labels(row as Values));
  const optionsOf = (now: object) => requestsOf(now as Conf, context.paths);
  return new RowSink(`prometheus ${new URL(conf.url).host}`, encode, optionsOf, conf, context);
}

/** Sends no samples; throws the reason when the server would take none. */
export async function ping(conf: ServerConf): Promise<void> {
  const { probe, tls, timeoutMs } = requestsOf(conf, AllowedPaths.any());
  await pingWith(probe, { tls: await tls(), timeoutMs });
}

function requestsOf(conf: ServerConf, paths: AllowedPaths): BatchOptions {
  const { url, timeout: timeoutMs } = conf;
  const own = Object.fromEntries(Object.entries(conf.headers).map(([name, value]) => [name, String(value)]));
  const headers = {
    ...own,
    ...loginOf(conf),
    'Content-Type': 'application/x-protobuf',
    'Content-Encoding': 'snappy',
    'X-Prometheus-Remote-Write-Version': '0.1.0',
  };
  return {
    timeoutMs,
    batchSize: 0,
    lingerMs: 0,
    maxMessages: maxSamples,
    maxBytes,
    tls: () => tlsOptions('prometheus', conf, paths),
    // A request without samples.
    probe: { method: 'post', url, headers, body: snappyOf(Buffer.alloc(0)) },
    request: (bytes) => ({ method: 'post', url, headers, body: snappyOf(bytes) }),
    outcome: (answer) => {
      const found = outcomeOf(answer, 'code');
      const isLater = found.is === 'refused' && laterStatus.has(answer.status);
      return isLater ? { is: 'later' as const, reason: found.reason, afterMs: 0 } : found;
    },
  };
}

function loginOf({ username, password, token }: ServerConf): Record<string, string> {
  if (token !== '') return { Authorization: `Bearer ${token}` };
  if (username === '') return {};
  return { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

function samplesOf(row: Row, conf: Conf, given: Readonly<Record<string, string>>): Buffer {
  const time = timeOf(row, conf.tsFieldName);
  const own = Object.entries(given).flatMap(([name, text]) =>
    text === '' ? [] : [[nameOf(name, true), text] as const],
  );
  const names = conf.fields.length > 0 ? conf.fields : Object.keys(row);
  const parts = names.flatMap((name) => {
    const value = numberOf(row[name]);
    if (value === undefined || (name === conf.tsFieldName && conf.fields.length === 0)) return [];
    const metric = nameOf(conf.metric === '' ? name : `${conf.metric}_${name}`, false);
    const labels: Labels = [['__name__', metric] as const, ...own].sort(([a], [b]) => (a < b ? -1 : 1));
    return [seriesBytes(labels, value, time)];
  });
  if (parts.length === 0) throw prometheusErrors.noSample();
  return Buffer.concat(parts);
}

function timeOf(row: Row, name: string): number {
  if (name === '') return Date.now();
  const value = row[name];
  if (value instanceof Instant) return Number(value.nanos / 1_000_000n);
  const time = numberOf(value);
  if (time === undefined || typeof value === 'boolean') throw prometheusErrors.noTime(name);
  return time;
}

/** Booleans are 1 and 0. */
function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' || typeof value === 'boolean' ? Number(value) : undefined;
}
