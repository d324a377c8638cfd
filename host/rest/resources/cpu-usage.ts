import { defineRoutes } from '../route/route.js';

export const cpuUsage = defineRoutes({
  method: 'GET',
  path: '/rules/usage/cpu',
  doc: 'CPU time of each running rule in the last 30 s, ms',
  handle: (_request, { cpuUsage }) => cpuUsage.usage(),
});
