/** Points for InfluxDB 1.x. */
import { type InfluxConf, PointSink } from '../../clients/influx/sink.js';
import type { SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

interface Conf extends InfluxConf, TlsConf {
  addr: string;
  database: string;
  username: string;
  password: string;
}

/** The server has names of its own for two units. */
const precisions = { s: 's', ms: 'ms', us: 'u', ns: 'n' } as const;

export function makeSink(conf: Conf, context: SinkContext): PointSink {
  const { addr, database, username, password, precision } = conf;
  const query = new URLSearchParams({ db: database, precision: precisions[precision] });
  const login = Buffer.from(`${username}:${password}`).toString('base64');
  return new PointSink(
    conf,
    {
      addr,
      write: `/write?${query}`,
      headers: username === '' ? {} : { Authorization: `Basic ${login}` },
      tls: () => tlsOptions('influx', conf, context.paths),
    },
    context,
  );
}
