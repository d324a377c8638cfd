import { defineRoutes } from '../route/route.js';

export const system = defineRoutes(
  { method: 'GET', path: '/', doc: 'Version and machine', handle: (_request, { system }) => system.information() },
  { method: 'POST', path: '/', doc: 'As GET', handle: (_request, { system }) => system.information() },
  { method: 'GET', path: '/ping', doc: 'Answers when the server is alive', handle: () => undefined },
  {
    method: 'POST',
    path: '/stop',
    doc: 'Ends the server gracefully',
    gate: 'none',
    handle: (_request, { system }) => system.stop(),
  },
  {
    method: 'PATCH',
    path: '/configs',
    doc: 'Changes settings of the running server',
    status: 204,
    gate: 'none',
    handle: (request, { configs }) => configs.change(request.object()),
  },
  {
    method: 'GET',
    path: '/stop',
    doc: 'As POST',
    isOrder: true,
    handle: (_request, { system }) => system.stop(),
  },
);
