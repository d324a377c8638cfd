import { defineRoutes, Reply } from '../route/route.js';

export const scanTables = defineRoutes({
  method: 'GET',
  path: '/rules/:id/scantables',
  doc: 'Rows that the scan tables of a running rule hold',
  handle: async (request, { scanTables }) =>
    new Reply(await scanTables.rows(request.id()), 200, 'application/json; charset=utf-8'),
});
