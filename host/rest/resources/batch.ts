import { defineRoutes } from '../route/route.js';

export const batch = defineRoutes({
  method: 'POST',
  path: '/batch/req',
  doc: 'Several requests in one',
  // The parts pass the gate themselves.
  gate: 'none',
  handle: (request, { batch }) => batch.run(request.json()),
});
