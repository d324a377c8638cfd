/** Points for InfluxDB 2, and for servers that understand its requests. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { type InfluxConf, type InfluxServer, PointSink, pingInflux } from '../../clients/influx/sink.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

interface ServerConf extends TlsConf, Pick<InfluxConf, 'precision' | 'timeout'> {
  addr: string;
  org: string;
  bucket: string;
  token: string;
}

export function makeSink(conf: InfluxConf & ServerConf, context: SinkContext): PointSink {
  return new PointSink(conf, (now) => serverOf(now as typeof conf, context.paths), context);
}

/** Connects once; throws the reason when the server would take no points. */
export async function ping(conf: Omit<ServerConf, 'precision'>): Promise<void> {
  await pingInflux(serverOf({ ...conf, precision: 'ms' }, AllowedPaths.any()), conf.timeout);
}

function serverOf(conf: ServerConf, paths: AllowedPaths): InfluxServer {
  const { addr, org, bucket, token, precision } = conf;
  const query = new URLSearchParams({ org, bucket, precision });
  return {
    addr,
    write: `/api/v2/write?${query}`,
    headers: token === '' ? {} : { Authorization: `Token ${token}` },
    tls: () => tlsOptions('influx2', conf, paths),
  };
}
