import { defineRoutes } from '../route.js';

export const ruleStates = defineRoutes(
  {
    method: 'GET',
    path: '/rules/:id/scantables',
    doc: 'Rows that the scan tables of a running rule hold',
    handle: (request, { ruleStates }) => ruleStates.scanTables(request.id()),
  },
  {
    method: 'PUT',
    path: '/rules/:id/reset_state',
    doc: 'Moves a source of a running rule to another position',
    handle: (request, { ruleStates }) => ruleStates.reset(request.id(), request.object()),
  },
);
