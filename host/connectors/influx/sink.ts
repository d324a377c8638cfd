/** Points for InfluxDB 1.x. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { type InfluxConf, type InfluxServer, PointSink, pingInflux } from '../../clients/influx/sink.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

interface ServerConf extends TlsConf, Pick<InfluxConf, 'precision' | 'timeout'> {
  addr: string;
  database: string;
  username: string;
  password: string;
}

/** The server has names of its own for two units. */
const precisions = { s: 's', ms: 'ms', us: 'u', ns: 'n' } as const;

export function makeSink(conf: InfluxConf & ServerConf, context: SinkContext): PointSink {
  return new PointSink(conf, (now) => serverOf(now as typeof conf, context.paths), context);
}

/** Connects once; throws the reason when the server would take no points. */
export async function ping(conf: Omit<ServerConf, 'precision'>): Promise<void> {
  await pingInflux(serverOf({ ...conf, precision: 'ms' }, AllowedPaths.any()), conf.timeout);
}

function serverOf(conf: ServerConf, paths: AllowedPaths): InfluxServer {
  const { addr, database, username, password, precision } = conf;
  const query = new URLSearchParams({ db: database, precision: precisions[precision] });
  const login = Buffer.from(`${username}:${password}`).toString('base64');
  return {
    addr,
    write: `/write?${query}`,
    headers: username === '' ? {} : { Authorization: `Basic ${login}` },
    tls: () => tlsOptions('influx', conf, paths),
  };
}
