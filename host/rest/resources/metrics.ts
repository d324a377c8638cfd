/** Routes of metrics. */
import { Readable } from 'node:stream';
import type { MetricsService } from '../../services/observe/metrics.js';
import { done, gives, text } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

/** Type of the text format of Prometheus. */
const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

export const metrics = defineResource<{ readonly metrics: MetricsService }>({
  routes: [
    {
      method: 'GET',
      path: '/metrics',
      doc: 'Figures of the server and all rules for Prometheus',
      contract: gives(text),
      handle: async (_request, { metrics }) =>
        new Reply(Readable.from((await metrics.document()).pieces()), 200, prometheusType),
    },
    {
      method: 'GET',
      path: '/metrics/dump/check',
      doc: 'Tells whether metrics are kept in files',
      contract: done,
      handle: (_request, { metrics }) => (metrics.isCopying ? 'enabled' : 'disabled'),
    },
    {
      method: 'GET',
      path: '/metrics/dump',
      doc: 'Metrics kept between startTime and endTime (seconds), by default of the last hour, compressed by gzip',
      contract: {
        answers: { 200: 'application/gzip' },
        errors: [400],
        query: { startTime: 'seconds since the epoch', endTime: 'seconds since the epoch' },
      },
      handle: async ({ query }, { metrics }) =>
        new Reply(await metrics.copies(query.startTime, query.endTime), 200, 'application/gzip', {
          'Content-Disposition': 'attachment; filename="metrics.txt.gz"',
        }),
    },
  ],
});
