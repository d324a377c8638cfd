/** What the routes of metrics take and give. */
import { defineContracts, done, gives, text } from '../route/contract.js';

export const metrics = defineContracts({
  'GET /metrics': gives(text),
  'GET /metrics/dump': {
    answers: { 200: 'application/gzip' },
    errors: [400],
    query: { startTime: 'seconds since the epoch', endTime: 'seconds since the epoch' },
  },
  'GET /metrics/dump/check': done,
});
