/** The ports of REST and of the metrics document. */
import type { Server } from 'node:http';
import type Koa from 'koa';
import type { Config } from '../base/config/config.js';
import type { Logger } from '../base/log/log.js';
import { closeHttp, createHttpServer, type HttpLimits, listen, tlsOf } from '../base/net/http-server.js';
import type { MetricsService } from '../services/observe/metrics.js';
import type { AccessControl } from './guard/access.js';

export interface PortOptions {
  readonly config: Config['basic'];
  /** Other limits on REST connections than the usual ones. */
  readonly limits: Partial<HttpLimits> | undefined;
  readonly guard: AccessControl['guard'];
  readonly log: Logger;
}

export interface OpenPorts {
  /** Address of REST. */
  readonly url: string;
  readonly ports: readonly Server[];
}

/** Opens the port of REST and that of the metrics, when it has one of its own; both or none. */
export async function openPorts(
  app: Koa,
  metrics: MetricsService,
  { config, limits, guard, log }: PortOptions,
): Promise<OpenPorts> {
  const { restIp, restPort, restTls, prometheus, prometheusPort } = config;
  const tls = await tlsOf(restTls, 'basic.restTls', log);
  const http = createHttpServer(guard(app.callback()), { tls, limits });
  const url = await listen(http, restIp, restPort, 'REST', 'basic.restPort');
  if (!prometheus || prometheusPort === restPort) return { url, ports: [http] };
  const { createMetricsServer } = await import('./metrics-server.js');
  const own = createMetricsServer(metrics, guard);
  try {
    const metricsUrl = await listen(own, restIp, prometheusPort, 'the metrics server', 'basic.prometheusPort');
    log.info(`metrics at ${metricsUrl}/metrics`);
  } catch (error) {
    await closeHttp(http, 0);
    throw error;
  }
  return { url, ports: [http, own] };
}
