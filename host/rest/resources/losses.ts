import { defineRoutes } from '../route/route.js';

export const losses = defineRoutes(
  {
    method: 'GET',
    path: '/losses',
    doc: 'What the server has lost and nobody has acknowledged',
    handle: (_request, { losses }) => losses.list(),
  },
  {
    method: 'DELETE',
    path: '/losses/:id',
    doc: 'Acknowledges one loss',
    handle: (request, { losses }) => losses.acknowledge(request.id()),
  },
);
