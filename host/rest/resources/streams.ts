import { defineRoutes } from '../route/route.js';

export const streams = defineRoutes(
  {
    method: 'POST',
    path: '/streams',
    doc: 'Runs a stream or table statement',
    status: 201,
    handle: (request, { sources }) => sources.execute('stream', request.text('sql')),
  },
  { method: 'GET', path: '/streams', doc: 'Names', handle: (_request, { sources }) => sources.names('stream') },
  {
    method: 'GET',
    path: '/streamdetails',
    doc: 'Names, types, formats',
    handle: (_request, { sources }) => sources.details('stream'),
  },
  {
    method: 'GET',
    path: '/streams/:id',
    doc: 'Columns and options',
    handle: (request, { sources }) => sources.describe('stream', request.id()),
  },
  {
    method: 'GET',
    path: '/streams/:id/schema',
    doc: 'Columns by name',
    handle: (request, { sources }) => sources.schema('stream', request.id()),
  },
  {
    method: 'PUT',
    path: '/streams/:id',
    doc: 'Replaces the stream, or creates it',
    handle: (request, { sources }) => sources.replace('stream', request.id(), request.text('sql')),
  },
  {
    method: 'DELETE',
    path: '/streams/:id',
    doc: 'Drops the stream',
    handle: (request, { sources }) => sources.drop('stream', request.id(), request.flag('force')),
  },
);
