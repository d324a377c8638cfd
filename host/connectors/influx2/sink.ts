/** Points for InfluxDB 2, and for servers that understand its requests. */
import { type InfluxConf, PointSink } from '../../clients/influx/sink.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

interface Conf extends InfluxConf, TlsConf {
  addr: string;
  org: string;
  bucket: string;
  token: string;
}

export function makeSink(conf: Conf, context: SinkContext): PointSink {
  const { addr, org, bucket, token, precision } = conf;
  const query = new URLSearchParams({ org, bucket, precision });
  return new PointSink(
    conf,
    {
      addr,
      write: `/api/v2/write?${query}`,
      headers: token === '' ? {} : { Authorization: `Token ${token}` },
      tls: () => tlsOptions('influx2', conf, context.paths),
    },
    context,
  );
}
