import { defineRoutes } from '../route/route.js';

export const tables = defineRoutes(
  {
    method: 'POST',
    path: '/tables',
    doc: 'Runs a stream or table statement',
    status: 201,
    handle: (request, { sources }) => sources.execute('table', request.text('sql')),
  },
  {
    method: 'GET',
    path: '/tables',
    doc: 'Names',
    handle: (request, { sources }) => sources.names('table', request.query.kind),
  },
  {
    method: 'GET',
    path: '/tabledetails',
    doc: 'Names, types, formats',
    handle: (request, { sources }) => sources.details('table', request.query.kind),
  },
  {
    method: 'GET',
    path: '/tables/:id',
    doc: 'Columns and options',
    handle: (request, { sources }) => sources.describe('table', request.id()),
  },
  {
    method: 'GET',
    path: '/tables/:id/schema',
    doc: 'Columns by name',
    handle: (request, { sources }) => sources.schema('table', request.id()),
  },
  {
    method: 'PUT',
    path: '/tables/:id',
    doc: 'Replaces the table, or creates it',
    handle: (request, { sources }) => sources.replace('table', request.id(), request.text('sql')),
  },
  {
    method: 'DELETE',
    path: '/tables/:id',
    doc: 'Drops the table',
    handle: (request, { sources }) => sources.drop('table', request.id(), request.flag('force')),
  },
);
