import { defineRoutes } from '../route/route.js';

export const scripts = defineRoutes(
  {
    method: 'POST',
    path: '/udf/javascript',
    doc: 'Registers a JavaScript function',
    status: 201,
    handle: (request, { scripts }) => scripts.create(request.object()),
  },
  { method: 'GET', path: '/udf/javascript', doc: 'Names', handle: (_request, { scripts }) => scripts.names() },
  {
    method: 'GET',
    path: '/udf/javascript/:id',
    doc: 'Script and description',
    handle: (request, { scripts }) => scripts.describe(request.id()),
  },
  {
    method: 'PUT',
    path: '/udf/javascript/:id',
    doc: 'Replaces a JavaScript function, or creates it',
    handle: (request, { scripts }) => scripts.put(request.id(), request.object()),
  },
  {
    method: 'DELETE',
    path: '/udf/javascript/:id',
    doc: 'Deletes a JavaScript function',
    handle: (request, { scripts }) => scripts.delete(request.id()),
  },
);
