import { defineRoutes } from '../route.js';

export const scanTables = defineRoutes({
  method: 'GET',
  path: '/rules/:id/scantables',
  doc: 'Rows that the scan tables of a running rule hold',
  handle: (request, { scanTables }) => scanTables.rows(request.id()),
});
