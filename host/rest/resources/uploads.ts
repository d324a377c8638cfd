import { defineRoutes } from '../route/route.js';

export const uploads = defineRoutes(
  {
    method: 'POST',
    path: '/config/uploads',
    doc: 'Stores a file: from a form, a text or a URL',
    status: 201,
    handle: (request, { uploads }) =>
      request.isForm ? uploads.fromForm(request.form()) : uploads.fromObject(request.object()),
  },
  {
    method: 'GET',
    path: '/config/uploads',
    doc: 'Paths of the uploaded files',
    handle: (_request, { uploads }) => uploads.list(),
  },
  {
    method: 'DELETE',
    path: '/config/uploads/:fileName',
    doc: 'Deletes an uploaded file',
    handle: (request, { uploads }) => uploads.delete(request.params.fileName ?? ''),
  },
);
